#!/usr/bin/env python3
"""The remedies of `ksched fix` against kube-scheduler: after the change it places the pod, too.

    remedies.py [--count N] [--seed S]

Random clusters of some families; the first pod of each that waits. The remedies' changes are made
by ksched, and the oracle is given the state that comes of them. Exit status 0 when every pod is
placed where ksched places it, 1 otherwise, 2 when the oracle cannot be built.
"""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import subject
from generate import Case
from generate import case as random_case

from oracle import Oracle, UnavailableError

FAMILIES = (
    "resources",
    "taints",
    "node_affinity",
    "inter_pod",
    "spread",
    "ports_images",
    "preempt",
    "everything",
)


def changed_state(path: Path, lines: list[str]) -> str:
    """The state after the changes, as manifests."""
    from ksched_cli.cluster.loading.kinds import KINDS
    from ksched_cli.run.open import Opener
    from ksched_cli.run.run import ChangeSource, Run
    from ksched_cli.scenario.objects import objects_of, plain_object

    run = Run(
        states=(str(path),),
        kubernetes_version="1.34",
        changes=tuple(ChangeSource(line=line) for line in lines),
    )
    state = Opener((run,)).state(run)
    items: list[Any] = [
        plain_object(kind, obj)
        for kind in KINDS.values()
        for obj in objects_of(state, kind).values()
    ]
    for item in items:  # the API takes no empty times
        item["metadata"] = {key: value for key, value in item["metadata"].items() if value != ""}
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


def differences(oracle: Oracle, case: Case) -> Counter[str]:
    """How many remedies agree and differ, by kind of the change."""
    outcomes: Counter[str] = Counter()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "state.json"
        path.write_text(case.state)
        options = ["--state", str(path), "--kubernetes-version", "1.34", "-o", "json"]
        if case.config is not None:
            (Path(folder) / "config.yaml").write_text(case.config)
            options += ["--config", str(Path(folder) / "config.yaml")]
        waiting = subject.call("schedule", *options).get("pending") or []
        for pod in list(waiting)[:1]:
            answer = subject.call("fix", pod, "--max-runs", "25", *options)
            for remedy in answer.get("remedies", ()):
                decided = oracle.run(changed_state(path, remedy["changes"]), case.config)
                if "result" not in decided:
                    outcomes["refused"] += 1
                    continue
                node = (decided["result"].get("placements") or {}).get(pod)
                agrees = node == remedy["node"]
                outcomes["agree" if agrees else "differ"] += 1
                if not agrees:
                    print(f"{pod}: {remedy['changes']}: {node}, not {remedy['node']}", flush=True)
    return outcomes


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=8, help="cases of each family")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    try:
        oracle = Oracle()
    except UnavailableError as error:
        print(error, file=sys.stderr)
        return 2
    outcomes: Counter[str] = Counter()
    with oracle:
        for family in FAMILIES:
            for number in range(options.seed, options.seed + options.count):
                outcomes += differences(oracle, random_case(family, number))
    print(", ".join(f"{count} {outcome}" for outcome, count in outcomes.items()))
    return 1 if outcomes["differ"] or not outcomes["agree"] else 0


if __name__ == "__main__":
    sys.exit(main())
