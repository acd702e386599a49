#!/usr/bin/env python3
"""What a sweep costs beside its runs, and what a second worker gains.

    sweeps.py [--runs N] [--nodes N] [--pods N] [--workers N...]

For each number of workers (0: one run after the other): seconds from the first row to the last,
runs per second, and the overhead per run, which is the workers' time that no run took. There are
two states: one whose runs take some milliseconds, where the overhead shows, and one of the size
asked for. The numbers mean something only on a machine with nothing else to do.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from time import perf_counter

from ksched_cli.run.run import Run
from ksched_cli.sweep.execution import Execution, open_executor
from ksched_cli.sweep.outcome import RowsFile
from ksched_cli.sweep.preparation import prepare
from ksched_cli.sweep.run_process import ExecutorOptions
from ksched_cli.sweep.sweep_file import read_sweep

MAKE_STATE = Path(__file__).with_name("make_state.py")


def write_sweep(folder: Path, nodes: int, pods: int, runs: int) -> Path:
    state = folder / "state.json"
    command = [sys.executable, str(MAKE_STATE), "mixed", str(nodes), str(pods)]
    state.write_bytes(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    path = folder / "sweep.json"
    document = {"apiVersion": "ksched/v1", "kind": "Sweep", "states": ["state.json"]}
    path.write_text(json.dumps({**document, "seeds": runs}))
    return path


def measure(path: Path, workers: int) -> tuple[float, float, int]:
    """Seconds from the first row to the last, mean seconds of a run, and rows in between."""
    file = read_sweep(str(path), Run())
    shared = prepare(file.document, [file.plan], ()).shared
    times: list[float] = []
    with (
        RowsFile() as rows,
        open_executor(shared, ExecutorOptions(workers=workers)) as (executor, _),
    ):
        execution = Execution.of(file.plan, shared, rows)
        execution.execute(executor, lambda done, total: times.append(perf_counter()))
        seconds = [row["seconds"] for row in execution.all_rows()]
    # The first runs of each process load modules.
    skipped = max(workers, 1) * 4
    mean = sum(seconds[skipped:]) / len(seconds[skipped:])
    return times[-1] - times[skipped - 1], mean, len(times) - skipped


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--nodes", type=int, default=200)
    parser.add_argument("--pods", type=int, default=400)
    parser.add_argument("--workers", type=int, nargs="*", default=[0, 1, 2])
    args = parser.parse_args()
    for nodes, pods in ((4, 4), (args.nodes, args.pods)):
        print(f"{nodes} nodes, {pods} pods, {args.runs} runs")
        rates = []
        with tempfile.TemporaryDirectory() as folder:
            path = write_sweep(Path(folder), nodes, pods, args.runs)
            for workers in args.workers:
                took, mean, runs = measure(path, workers)
                rates.append(runs / took)
                overhead = took * max(workers, 1) / runs - mean
                print(
                    f"  workers {workers}: {took:.2f} s, {rates[-1]:.1f} runs/s, a run takes"
                    f" {mean * 1000:.1f} ms, overhead {overhead * 1000:.2f} ms"
                )
        for (before, after), (slow, fast) in zip(
            pairwise(args.workers), pairwise(rates), strict=True
        ):
            print(f"  {before} -> {after} workers: {fast / slow:.2f} times as many runs")


if __name__ == "__main__":
    main()
