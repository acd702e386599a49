"""Writes docs/feature-gates.md; --check says whether it is new.

python docs/write_gates.py [--check]
"""

from __future__ import annotations

import sys
from pathlib import Path

from ksched_cli.kube.gates import INVISIBLE
from ksched_cli.kube.versions import MINORS, Gate, gates_of, is_followed

PAGE = Path(__file__).with_name("feature-gates.md")
HEAD = """# Feature gates

<!-- written by docs/write_gates.py from ksched_cli/kube/gates*.json and gates.py -->

`--feature-gates A=true,B=false` works as in kube-scheduler. These are the gates that the
scheduler's own code asks for, with their defaults. "Refused" means that ksched implements only the
default, "locked" that kube-scheduler refuses the other value, and "no effect" that the gate changes
no decision. An empty cell is a minor whose scheduler does not ask for the gate.

With InPlacePodVerticalScalingSchedulerPreemption, running pods whose resize is deferred may
preempt. `--min-compatibility-version 1.37` means that no older scheduler runs at the same time;
DRAFractionalCapacityRange of 1.37 is off without it.

"""


def main() -> int:
    text = HEAD + gates_markdown()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    if PAGE.read_text(encoding="utf-8") == text:
        return 0
    print(f"{PAGE.name} out of date: python docs/write_gates.py", file=sys.stderr)
    return 1


def gates_markdown() -> str:
    gates = {minor: gates_of(minor) for minor in MINORS}
    names = sorted({n for each in gates.values() for n, gate in each.items() if gate.schedules})
    lines = [f"| gate | {' | '.join(MINORS)} |", "| --- |" + " --- |" * len(MINORS)]
    for name in names:
        cells = [_cell(minor, name, gates[minor].get(name)) for minor in MINORS]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cell(minor: str, name: str, gate: Gate | None) -> str:
    """Its default, and what becomes of the other value."""
    if gate is None or not gate.schedules:
        return ""
    default = "on" if gate.default else "off"
    if gate.locked:
        return f"{default}, locked"
    if name in INVISIBLE:
        return f"{default}, no effect"
    return default if is_followed(minor, name, gate) else f"{default}, refused"


if __name__ == "__main__":
    sys.exit(main())
