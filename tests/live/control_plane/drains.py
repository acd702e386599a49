"""`ksched drain`, and then kubectl's drain of a real cluster: it ends as was said.

    python -m tests.live.control_plane.drains [--kubernetes-version MINOR] [--count N] [--seed S]

One or two nodes of a random cluster are asked about, and drained with the printed command; where
the answer is no, with all of kubectl's flags, for a while. A yes is kept if the command ends, and
no pod more waits afterwards than before. A no is kept if either is not so. Exit code 1 when one is
not kept.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.live.control_plane.build import MINORS, binaries
from tests.live.control_plane.cluster import ControlPlane
from tests.live.control_plane.remedies import Trials, cluster, full_cluster, ksched

DRAINS_PER_CLUSTER = 4
EVERY_FLAG = "--ignore-daemonsets --delete-emptydir-data --force --timeout=15s"


def drain(trials: Trials, names: list[str]) -> tuple[bool, bool, str]:
    """Whether it is said to be possible, whether it was, and what went wrong."""
    plane, state = trials.plane, trials.folder / "state.json"
    ksched("snapshot", str(state), "--kubeconfig", str(plane.kubeconfig))
    answer = json.loads(ksched("drain", *names, "--state", str(state), "-o", "json"))
    command = f"{answer['command']} --timeout=60s"
    if not answer["possible"]:
        command = f"kubectl drain {' '.join(names)} {EVERY_FLAG}"
    before, problem = trials.pending(), ""
    try:
        trials.shell(command)
    except RuntimeError as error:
        problem = str(error)
    trials.settle()
    more = trials.pending() - before
    problem = problem or (f"more wait: {dict(more)}" if more else "")
    trials.shell(f"kubectl uncordon {' '.join(names)}")
    trials.settle()
    return answer["possible"], not problem, problem


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kubernetes-version", default="1.37", choices=MINORS)
    parser.add_argument("--count", type=int, default=32, help="drains")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    # The control plane ends with this program.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    start, ends = time.monotonic(), Counter[tuple[bool, bool]]()
    with (
        tempfile.TemporaryDirectory(prefix="ksched-live-") as folder,
        ControlPlane(binaries(options.kubernetes_version), Path(folder)) as plane,
    ):
        trials = Trials(plane, Path(folder), options.seed)
        trials.start()
        for number in range(options.count):
            if number % DRAINS_PER_CLUSTER == 0:
                trials.renew(trials.draw.choice([cluster, full_cluster]))
            nodes = [
                each["metadata"]["name"] for each in plane.api.call("GET", "api/v1/nodes")["items"]
            ]
            names = trials.draw.sample(nodes, trials.draw.choice([1, 1, 2]))
            promise, outcome, problem = drain(trials, names)
            ends[promise, outcome] += 1
            verdict = "as said" if promise == outcome else "DIFFERENT"
            print(
                f"{number + 1:>4} {verdict:<10}{', '.join(names)}: {problem or 'drained'}",
                flush=True,
            )
    count = ends[True, True] + ends[False, False]
    print(
        f"{count} of {options.count} ended as said, {ends[True, True]} of them drained"
        f" ({time.monotonic() - start:.0f} s)"
    )
    return 0 if count == options.count else 1


if __name__ == "__main__":
    sys.exit(main())
