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
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from machine import describe

HERE = Path(__file__).parent
ORACLE = HERE.parent / "tests" / "oracle" / "oracle"
MINOR = ("--kubernetes-version", "1.34")  # the oracle's
LOOP = (sys.executable, str(HERE / "run.py"), *MINOR)
KINDS = ("basic", "spread", "affinity", "mixed", "anti", "unique")
PREEMPTORS = 500
# States of make_dra_state.py, only on request: the scheduler takes long.
DEVICES = "devices"


def make(kind: str, nodes: int, pods: int, folder: Path) -> Path:
    path = folder / f"{kind}-{nodes}-{pods}.json"
    with path.open("w") as file:
        maker = ["make_dra_state.py"] if kind == DEVICES else ["make_state.py", kind]
        command = [sys.executable, str(HERE / maker[0]), *maker[1:], str(nodes), str(pods)]
        subprocess.run(command, stdout=file, check=True)
    return path


def run_json(command: Sequence[str]) -> dict[str, Any]:
    """Runs the command and parses its output."""
    process = subprocess.run(command, capture_output=True, text=True, check=True)
    output: dict[str, Any] = json.loads(process.stdout)
    return output


def whole_process(state: Path) -> float:
    """Seconds to read the state, schedule and write JSON."""
    question = ("schedule", "--state", str(state), "-o", "json", *MINOR)
    command = [sys.executable, "-m", "ksched_cli", *question]
    start = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    return time.perf_counter() - start


def has_oracle() -> bool:
    build = [sys.executable, str(HERE.parent / "tests" / "oracle" / "oracle.py")]
    return subprocess.run(build, capture_output=True, check=False).returncode == 0


@dataclass(frozen=True)
class Measurement:
    """Rates are in pods per second, seconds those of the whole process."""

    state: str
    nodes: int
    pods: int
    percentage: int
    rate: float
    oracle_rate: float | None
    seconds: float
    peak_mib: int

    @property
    def ratio(self) -> float | None:
        return self.rate / self.oracle_rate if self.oracle_rate else None

    def row(self) -> str:
        cells = (
            self.state,
            f"{self.nodes}",
            f"{self.pods}",
            "all" if self.percentage == 100 else "adaptive",
            f"{self.rate:.0f}",
            f"{self.oracle_rate:.0f}" if self.oracle_rate else "",
            f"{self.ratio:.1f}" if self.ratio else "",
            f"{self.seconds:.2f}",
            f"{self.peak_mib}",
        )
        return f"| {' | '.join(cells)} |"


def measure(name: str, state: Path, percentage: int, repeat: int, oracle: bool) -> Measurement:
    ours, theirs = [], []
    for _ in range(repeat):
        ours.append(run_json([*LOOP, str(state), "--percentage", str(percentage)]))
        if oracle:
            bench = [str(ORACLE), "bench", "--state", str(state), "--percentage", str(percentage)]
            theirs.append(run_json(bench))
    if theirs and theirs[0]["placed"] != ours[0]["placed"]:
        placed = f"ksched placed {ours[0]['placed']}, Go {theirs[0]['placed']}"
        print(f"{name}: of {ours[0]['pods']} pods {placed}", file=sys.stderr)
    return Measurement(
        state=name,
        nodes=ours[0]["nodes"],
        pods=ours[0]["pods"],
        percentage=percentage,
        rate=median_rate(ours),
        oracle_rate=median_rate(theirs) if theirs else None,
        seconds=whole_process(state),
        peak_mib=ours[0]["peakMiB"],
    )


def median_rate(results: list[dict[str, Any]]) -> float:
    return statistics.median(result["podsPerSecond"] for result in results)


class Table:
    """Rows of measurements in Markdown, each printed as soon as it is there."""

    def __init__(self, repeat: int, oracle: bool) -> None:
        self.repeat = repeat
        self.oracle = oracle
        self.measurements: list[Measurement] = []
        print(
            "| state | nodes | pods | nodes scored | ksched pods/s | Go pods/s | ratio | s | MiB |"
        )
        print("| --- " * 9 + "|")

    def add(self, name: str, state: Path, percentage: int) -> None:
        measurement = measure(name, state, percentage, self.repeat, self.oracle)
        self.measurements.append(measurement)
        print(measurement.row(), flush=True)

    def print_slowest(self) -> None:
        """Names the three with the lowest ratio, or the lowest rate where nothing was compared."""
        slowest = sorted(self.measurements, key=lambda each: each.ratio or each.rate)[:3]
        names = [f"{each.state} ({each.ratio or each.rate:.1f})" for each in slowest]
        print(f"\nSlowest: {', '.join(names)}.")


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
    table = Table(options.repeat, oracle)
    with tempfile.TemporaryDirectory() as name:
        for nodes in options.nodes:
            for kind in options.kinds:
                pods = min(options.pods, PREEMPTORS) if kind == "preempt" else options.pods
                state = make(kind, nodes, pods, Path(name))
                for percentage in options.percentages:
                    table.add(kind, state, percentage)
                state.unlink()
    table.print_slowest()


if __name__ == "__main__":
    main()
