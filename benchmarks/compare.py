#!/usr/bin/env python3
"""ksched and the real scheduler's own loop side by side, on the same states, in one run.

    compare.py [--nodes N …] [--kinds K …] [--pods N] [--repeat N] [--percentages P …]

Prints a table in Markdown. The two take turns, --repeat times; the ratio is of the medians, so that
other load on the machine affects both. Without Go, ksched runs alone.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from machine import describe

HERE = Path(__file__).parent
ORACLE = HERE.parent / "tests" / "oracle" / "oracle"
KINDS = ("basic", "spread", "affinity", "mixed", "anti", "unique")
PREEMPTORS = 500
# Of make_dra_state.py, and only where asked for: the scheduler takes long.
DEVICES = "devices"


def make(kind: str, nodes: int, pods: int, folder: Path) -> Path:
    path = folder / f"{kind}-{nodes}-{pods}.json"
    with path.open("w") as file:
        maker = ["make_dra_state.py"] if kind == DEVICES else ["make_state.py", kind]
        command = [sys.executable, str(HERE / maker[0]), *maker[1:], str(nodes), str(pods)]
        subprocess.run(command, stdout=file, check=True)
    return path


def run_json(command: list[str]) -> dict[str, Any]:
    """Runs the command and parses its output."""
    process = subprocess.run(command, capture_output=True, text=True, check=True)
    output: dict[str, Any] = json.loads(process.stdout)
    return output


def whole_process(state: Path) -> float:
    """Seconds to read the state, schedule and write JSON."""
    command = [sys.executable, "-m", "ksched_cli", "schedule", "--state", str(state), "-o", "json"]
    start = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    return time.perf_counter() - start


def has_oracle() -> bool:
    build = [sys.executable, str(HERE.parent / "tests" / "oracle" / "oracle.py")]
    return subprocess.run(build, capture_output=True, check=False).returncode == 0


def compare(state: Path, percentage: int, repeat: int, oracle: bool) -> str:
    """One row of the table."""
    ours, theirs = [], []
    for _ in range(repeat):
        run = [sys.executable, str(HERE / "run.py"), str(state), "--percentage", str(percentage)]
        ours.append(run_json(run))
        if oracle:
            bench = [str(ORACLE), "bench", "--state", str(state), "--percentage", str(percentage)]
            theirs.append(run_json(bench))
    our_rate = statistics.median(result["podsPerSecond"] for result in ours)
    their_rate = statistics.median(result["podsPerSecond"] for result in theirs) if theirs else None
    ratio = f"{our_rate / their_rate:.1f}" if their_rate else ""
    return " | ".join(
        (
            f"{ours[0]['nodes']}",
            f"{ours[0]['pods']}",
            "all" if percentage == 100 else "adaptive",
            f"{our_rate:.0f}",
            f"{their_rate:.0f}" if their_rate else "",
            ratio,
            f"{whole_process(state):.2f}",
            f"{ours[0]['peakMiB']}",
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, nargs="+", default=[1000, 5000, 15000])
    parser.add_argument("--kinds", nargs="+", default=[*KINDS, "preempt"])
    parser.add_argument("--pods", type=int, default=3000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--percentages", type=int, nargs="+", default=[0, 100])
    options = parser.parse_args()
    oracle = has_oracle()
    print(f"{describe()}\n")
    print("| state | nodes | pods | nodes scored | ksched pods/s | Go pods/s | ratio | s | MiB |")
    print("| --- " * 9 + "|")
    with tempfile.TemporaryDirectory() as name:
        for nodes in options.nodes:
            for kind in options.kinds:
                pods = min(options.pods, PREEMPTORS) if kind == "preempt" else options.pods
                state = make(kind, nodes, pods, Path(name))
                for percentage in options.percentages:
                    row = compare(state, percentage, options.repeat, oracle)
                    print(f"| {kind} | {row} |", flush=True)
                state.unlink()


if __name__ == "__main__":
    main()
