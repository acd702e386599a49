#!/usr/bin/env python3
"""What ksched is to be worth beside the real scheduler's own loop, measured in one run.

    targets.py [--openb CHECKOUT] [--short] [--name REGEX] [--repeat N]

Prints a table in Markdown: per work the ratio of pods per second, beside the one aimed at. The two
take turns on one state, so that other load on the machine affects both; it should have none. Takes
twenty minutes on two idle cores, --short some five minutes. It runs
kube-scheduler's own workloads with 5,000 nodes and more, and those with claims; with fewer pods,
of which every n-th is taken. --openb: see openb.py
"""

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compare import LOOP, ORACLE, has_oracle, make, median_rate, run_json
from machine import describe
from openb import state_of as openb_state
from perf_workloads import Workload, read_workloads
from scheduler_perf import find_source, measured, state_of

HERE = Path(__file__).parent
ALL = 100
LARGE = 5000
# Workloads that are measured although they have fewer nodes.
OF_CLAIMS = "ResourceClaim"

State = dict[str, Any]
# Writes the state into the folder.
Write = Callable[[Path], Path]


@dataclass(frozen=True)
class Work:
    """Pods to place. target: the ratio aimed at; percentage: of the nodes to score, 0 adaptive"""

    name: str
    target: float
    percentage: int
    write: Write


def generated(kind: str, nodes: int, pods: int) -> Write:
    """A state of make_state.py."""
    return lambda folder: make(kind, nodes, pods, folder)


def written(name: str, state: Callable[[], State]) -> Write:
    def write(folder: Path) -> Path:
        path = folder / f"{name}.json"
        path.write_text(json.dumps(state()))
        return path

    return write


def thinned(state: State, pods: int) -> State:
    """The state with about as many of its pending pods, evenly taken."""
    pending = [item for item in state["items"] if is_pending(item)]
    step = max(1, len(pending) // pods)
    left_out = {id(pod) for i, pod in enumerate(pending) if i % step}
    return {**state, "items": [item for item in state["items"] if id(item) not in left_out]}


def is_pending(item: State) -> bool:
    return item["kind"] == "Pod" and not item["spec"].get("nodeName")


def kinds(short: bool) -> Iterator[Work]:
    """Those of make_state.py."""
    adaptive, scored = (1000, 200) if short else (3000, 3000)
    for kind in ("basic", "spread", "affinity", "mixed", "anti"):
        yield Work(kind, 20, 0, generated(kind, LARGE, adaptive))
        yield Work(kind, 80, ALL, generated(kind, LARGE, scored))
    yield Work("unique", 12, 0, generated("unique", LARGE, adaptive))
    yield Work("unique", 50, ALL, generated("unique", LARGE, scored))
    yield Work("unique, 15,000 nodes", 12, 0, generated("unique", 3 * LARGE, 300))
    yield Work(
        "unique, 15,000 nodes", 60, ALL, generated("unique", 3 * LARGE, 60 if short else 200)
    )
    yield Work("full, a third never fits", 15, 0, generated("full", LARGE, adaptive))
    yield Work("full, a third never fits", 50, ALL, generated("full", LARGE, scored))
    yield Work("preempt", 10, 0, generated("preempt", LARGE, 100 if short else 500))


def workloads(source: Path, short: bool) -> Iterator[Work]:
    """kube-scheduler's own."""
    pods = 300 if short else 1000
    for workload in measured(read_workloads(source), sys.maxsize, 12_000):
        if workload.nodes >= LARGE or OF_CLAIMS in workload.test_case:
            name = workload.test_case + "".join(f", no {each}" for each in workload.left_out)
            yield Work(name, 10, 0, written(workload.test_case, thinned_state(workload, pods)))


def thinned_state(workload: Workload, pods: int) -> Callable[[], State]:
    return lambda: thinned(state_of(workload), pods)


def works(openb: Path | None, short: bool) -> Iterator[Work]:
    if openb is not None:
        checkout = openb
        yield Work("openb", 15, 0, written("openb", lambda: openb_state(checkout)))
    yield from kinds(short)
    yield from workloads(find_source(), short)


def measure(work: Work, state: Path, repeat: int) -> tuple[State, State]:
    """What ksched and Go report, each with the median of the rates."""
    ours, theirs = [], []
    percentage = ["--percentage", str(work.percentage)]
    for _ in range(repeat):
        ours.append(run_json([*LOOP, str(state), *percentage]))
        theirs.append(run_json([str(ORACLE), "bench", "--state", str(state), *percentage]))
    if ours[0]["placed"] != theirs[0]["placed"]:
        placed = f"ksched placed {ours[0]['placed']}, Go {theirs[0]['placed']}"
        print(f"{work.name}: of {ours[0]['pods']} pods {placed}", file=sys.stderr)
    return (
        {**ours[0], "podsPerSecond": median_rate(ours)},
        {**theirs[0], "podsPerSecond": median_rate(theirs)},
    )


def row(work: Work, ours: State, theirs: State) -> str:
    ratio = ours["podsPerSecond"] / theirs["podsPerSecond"]
    cells = (
        work.name,
        f"{ours['nodes']}",
        f"{ours['pods']}",
        "all" if work.percentage == ALL else "adaptive",
        f"{ours['podsPerSecond']:.0f}",
        f"{theirs['podsPerSecond']:.0f}",
        f"{ratio:.1f}" if ratio >= work.target else f"**{ratio:.1f}**",
        f"{work.target:g}",
    )
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--openb", type=Path, metavar="CHECKOUT")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--name", default="", help="only works that the expression matches")
    parser.add_argument("--repeat", type=int, default=1)
    options = parser.parse_args()
    if not has_oracle():
        sys.exit("the real scheduler cannot be built; see tests/oracle/README.md")
    print(f"{describe()} Ratios in bold are below the target.\n")
    print("| work | nodes | pods | nodes scored | ksched pods/s | Go pods/s | ratio | target |")
    print("| --- " * 8 + "|")
    with tempfile.TemporaryDirectory() as folder:
        for work in works(options.openb, options.short):
            if re.search(options.name, work.name):
                state = work.write(Path(folder))
                print(row(work, *measure(work, state, options.repeat)), flush=True)
                state.unlink()


if __name__ == "__main__":
    main()
