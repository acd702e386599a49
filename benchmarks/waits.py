#!/usr/bin/env python3
"""What people wait for: whole commands, by processor time and memory, in two checkouts in turns.

    waits.py [--baseline CHECKOUT] [--rows NAME …] [--repeat N]

Prints a table in Markdown, with the least of the repeats. Without --baseline only this checkout
runs. States are made once, in a folder that goes afterwards.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from machine import describe

HERE = Path(__file__).parent
MIB = 1024


@dataclass(frozen=True)
class Wait:
    """A command. make: writes the state; arguments: of ksched, with the state's path; timeline:
    pods of one, whose path comes last"""

    make: Callable[[Path], None]
    arguments: Sequence[str]
    timeline: int = 0


def printed(path: Path, script: str, *arguments: str) -> None:
    with path.open("w") as file:
        subprocess.run([sys.executable, str(HERE / script), *arguments], stdout=file, check=True)


def state(*arguments: str) -> Callable[[Path], None]:
    return lambda path: printed(path, "make_state.py", *arguments)


def dump(path: Path) -> None:
    printed(path, "make_dump.py", "--pods", "48000")  # 1.1 GB


def packed_dump(path: Path) -> None:
    dump(path)
    subprocess.run(["gzip", "-1", str(path)], check=True)
    path.with_name(path.name + ".gz").rename(path)


def small_dump(path: Path) -> None:
    printed(path, "make_dump.py", "--nodes", "200", "--pods", "2000")


def too_large(path: Path) -> None:
    """300 pending pods, no two alike, each larger than any node."""
    state("unique", "1000", "300", "--bound", "3000")(path)
    objects = json.loads(path.read_text())
    for number, item in enumerate(objects["items"]):
        if item["kind"] == "Pod" and not item["spec"].get("nodeName"):
            item["metadata"]["labels"]["number"] = str(number)
            item["spec"]["containers"][0]["resources"]["requests"]["cpu"] = f"{20_000 + number}m"
    path.write_text(json.dumps(objects))


def as_yaml(path: Path) -> None:
    small_dump(source := path.with_suffix(".json"))
    # In a process of its own: what this one takes would count as its subprocesses' peak.
    convert = [sys.executable, str(HERE / "loading.py"), "--convert", str(source), str(path)]
    subprocess.run(convert, check=True)


BUSY = state("mixed", "5000", "0", "--bound", "30000")
WAITS = {
    "a dump of 1.1 GB": Wait(dump, ("schedule",)),
    "the same, gzipped": Wait(packed_dump, ("schedule",)),
    "a dump of 46 MB": Wait(small_dump, ("schedule",)),
    "the same as YAML": Wait(as_yaml, ("schedule",)),
    "drift, 5,000 nodes, 30,000 pods": Wait(BUSY, ("drift",)),
    "explain a pod, 5,000 nodes, 30,000 pods": Wait(BUSY, ("explain", "b000000")),
    "explain --pending, 300 pods": Wait(too_large, ("explain", "--pending")),
    "replay, 100,000 pods, 5,000 nodes": Wait(
        state("basic", "5000", "0", "--bound", "0"), ("replay", "--summary"), timeline=100_000
    ),
    "reschedule --all, 150,000 pods": Wait(
        state("mixed", "5000", "0", "--bound", "150000"),
        ("schedule", "--change", "reschedule --all"),
    ),
    "schedule, 3 nodes": Wait(state("mixed", "3", "3"), ("schedule",)),
}


def measure(checkout: Path, arguments: Sequence[str], bytecode: Path) -> tuple[float, float]:
    """Seconds of processor time and the most MiB of a command in a checkout. bytecode: where that
    of the modules is kept, as that of an installed ksched is; the first run makes it"""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(bytecode)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, "-m", "ksched_cli", *arguments]
    nowhere = subprocess.DEVNULL
    # The folder in which Python's -m runs comes first among those where it looks for modules.
    with subprocess.Popen(
        command, cwd=checkout, env=environment, stdout=nowhere, stderr=nowhere
    ) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command)}: exit code {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / MIB


def row(wait: Wait, checkouts: Sequence[Path], path: Path, repeat: int) -> Iterator[str]:
    arguments = [*wait.arguments, "--state", str(path), "-o", "json"]
    if wait.timeline:
        timeline = path.with_suffix(".jsonl")
        printed(timeline, "make_timeline.py", str(wait.timeline))
        arguments.append(str(timeline))
    figures: dict[Path, list[tuple[float, float]]] = {each: [] for each in checkouts}
    for _ in range(repeat):
        for checkout in checkouts:
            figures[checkout].append(measure(checkout, arguments, path.parent / "bytecode"))
    for each in figures.values():
        yield f"{min(seconds for seconds, _ in each):.2f}"
        yield f"{min(memory for _, memory in each):,.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--baseline", type=Path)
    parser.add_argument("--rows", nargs="+", choices=list(WAITS), default=list(WAITS))
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    checkouts = [each.resolve() for each in (options.baseline, HERE.parent) if each is not None]
    print(f"{describe()}\n")
    titles = ("before s", "MiB", "s", "MiB")[-2 * len(checkouts) :]
    print(f"| wait | {' | '.join(titles)} |")
    print("| --- " * (1 + len(titles)) + "|")
    for name in options.rows:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "state")
            WAITS[name].make(path)
            cells = row(WAITS[name], checkouts, path, options.repeat)
            print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
