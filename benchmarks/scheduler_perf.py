#!/usr/bin/env python3
"""kube-scheduler's own benchmark, test/integration/scheduler_perf, on ksched and on the Go loop.

    scheduler_perf.py [--name REGEX] [--nodes N] [--pods N] [--repeat N] [--percentages P …]
    scheduler_perf.py --write FOLDER    the states only, as JSON

Reads the workloads from the Go module of Kubernetes that the oracle is built of, or from --source.
For every test case that upstream measures (label `performance`), it runs the workload with the
most nodes up to --nodes, and among these the one with the most pods up to --pods. A
workload that cannot be a state is named with the reason on standard error.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from compare import Table, has_oracle
from machine import describe
from perf_workloads import Manifest, StateBuilder, Workload, read_workloads

from ksched_cli.testing import cluster, simulate

MODULE = "k8s.io/kubernetes"
ORACLE_FOLDER = Path(__file__).parent.parent / "tests" / "oracle"


def find_source() -> Path:
    """The folder scheduler_perf in the module of the oracle's go.mod."""
    command = ["go", "list", "-m", "-f", "{{.Dir}}", MODULE]
    listing = subprocess.run(
        command, cwd=ORACLE_FOLDER, capture_output=True, text=True, check=False
    )
    if listing.returncode:
        sys.exit(f"{' '.join(command)}: {listing.stderr.strip()}. Name the folder with --source.")
    return Path(listing.stdout.strip()) / "test" / "integration" / "scheduler_perf"


def measured(workloads: Iterator[Workload], most_nodes: int, most_pods: int) -> Iterator[Workload]:
    """One per test case: of the most nodes that are allowed, the most pods."""
    by_test_case: dict[str, list[Workload]] = {}
    for workload in workloads:
        if "performance" not in workload.labels:
            continue
        if obstacle := workload.obstacle():
            print(f"{workload.test_case}/{workload.name}: {obstacle}", file=sys.stderr)
            continue
        by_test_case.setdefault(workload.test_case, []).append(workload)
    for candidates in by_test_case.values():
        allowed = [each for each in candidates if each.nodes <= most_nodes] or candidates
        nodes = max(each.nodes for each in allowed)
        largest = sorted((each for each in allowed if each.nodes == nodes), key=pods_of)
        yield [each for each in largest if each.pods <= most_pods or each is largest[0]][-1]


def pods_of(workload: Workload) -> int:
    return workload.pods


def state_of(workload: Workload) -> Manifest:
    builder = StateBuilder(workload)
    builder.build()
    highest = max((pod["spec"]["priority"] for pod in builder.pods), default=0)
    lower = [pod for pod in builder.pods if pod["spec"]["priority"] < highest]
    if lower:
        place(builder, lower)
    return builder.state()


def place(builder: StateBuilder, pods: list[Manifest]) -> None:
    """Has ksched place the pods, so that they run in the state."""
    placements = simulate(cluster(*builder.objects, *builder.nodes, *pods)).placements
    for pod in pods:
        metadata = pod["metadata"]
        pod["spec"]["nodeName"] = placements[f"{metadata['namespace']}/{metadata['name']}"]
        pod["status"] = {"phase": "Running", "startTime": "2026-01-01T00:00:00Z"}


def write(workload: Workload, folder: Path) -> Path:
    path = folder / f"{workload.test_case}-{workload.name.replace('/', '-')}.json"
    with path.open("w") as file:
        json.dump(state_of(workload), file)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--source", type=Path, help="the folder scheduler_perf")
    parser.add_argument("--name", default="", help="of TEST_CASE/WORKLOAD, a regular expression")
    parser.add_argument("--nodes", type=int, default=sys.maxsize)
    parser.add_argument("--pods", type=int, default=12_000)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--percentages", type=int, nargs="+", default=[0])
    parser.add_argument("--write", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    workloads = [
        workload
        for workload in measured(
            read_workloads(options.source or find_source()), options.nodes, options.pods
        )
        if re.search(options.name, f"{workload.test_case}/{workload.name}")
    ]
    if options.write:
        options.write.mkdir(parents=True, exist_ok=True)
        for workload in workloads:
            print(write(workload, options.write))
        return
    print(f"{describe()}\n")
    table = Table(options.repeat, has_oracle())
    with tempfile.TemporaryDirectory() as folder:
        for workload in workloads:
            state = write(workload, Path(folder))
            name = workload.test_case + "".join(f", no {each}" for each in workload.left_out)
            for percentage in options.percentages:
                table.add(name, state, percentage)
            state.unlink()
    table.print_slowest()


if __name__ == "__main__":
    main()
