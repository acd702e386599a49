#!/usr/bin/env python3
"""`ksched capacity` against kube-scheduler: so many copies of a pod fit, and not one more.

    capacity.py [--count N] [--seed S]

Random clusters of some families, and one pending pod of each alone; the oracle is given as many
copies as ksched counts, and one more. Exit status 0 when nothing differs, 1 otherwise, 2 when the
oracle cannot be built.
"""

import argparse
import json
import sys
from collections import Counter
from copy import deepcopy
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
    "spread_defaults",
    "ports_images",
)
MAXIMUM = 40


def question(case: Case) -> tuple[list[dict[str, Any]], dict[str, Any]] | None:
    """The objects without what is pending, and the pod to copy; None where no pod is pending. The
    copies evict nobody."""
    pods = [item for item in case.objects if item["kind"] == "Pod"]
    pending = [
        pod
        for pod in pods
        if not pod["spec"].get("nodeName")
        and not pod["spec"].get("schedulingGates")
        and not pod["metadata"].get("deletionTimestamp")
        and pod["spec"].get("schedulerName", "default-scheduler") == "default-scheduler"
        and pod.get("status", {}).get("phase", "Pending") == "Pending"
    ]
    if not pending:
        return None
    model = deepcopy(pending[0])
    model["spec"]["preemptionPolicy"] = "Never"
    model["status"] = {}
    rest = [item for item in case.objects if item["kind"] != "Pod" or item["spec"].get("nodeName")]
    return rest, model


def copies(model: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """With names in their order, created at once."""
    answer = []
    for number in range(count):
        pod = deepcopy(model)
        pod["metadata"]["name"] = f"copy-{number:03}"
        pod["metadata"].pop("uid", None)
        answer.append(pod)
    return answer


def state_of(objects: list[dict[str, Any]]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})


def difference(oracle: Oracle, case: Case) -> str | None:
    """What differs, "" for nothing; None where the case asks nothing."""
    subject_of_case = question(case)
    if subject_of_case is None:
        return None
    objects, model = subject_of_case
    name = model["metadata"]["name"]
    namespace = model["metadata"].get("namespace", "default")
    with subject.files(state=state_of([*objects, model]), config=case.config) as paths:
        options = ["--state", paths["state"], "--kubernetes-version", "1.34", "-o", "json"]
        options += ["--config", paths["config"]] if case.config is not None else []
        answer = subject.call(
            "capacity", f"{namespace}/{name}", "--max", str(MAXIMUM), "--alone", *options
        )
    if "count" not in answer:
        return None
    count, stopped = answer["count"], answer["stoppedAt"] is not None
    decided = oracle.run(state_of([*objects, *copies(model, count + 1)]), case.config)
    if "result" not in decided:
        return None
    result = decided["result"]
    placements = result.get("placements") or {}
    placed = dict(Counter(placements.values()))
    expected = count + 1 if stopped and not result.get("pending") else count
    if len(placements) != expected:
        return f"ksched counts {count}, kube-scheduler places {len(result['placements'])}"
    if not stopped and placed != answer["nodes"]:
        return f"ksched has {answer['nodes']}, kube-scheduler {placed}"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=20, help="cases of each family")
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
                text = difference(oracle, random_case(family, number))
                outcomes["none" if text is None else "differs" if text else "agrees"] += 1
                if text:
                    print(f"{family} {number}: {text}", flush=True)
    print(
        f"{outcomes['agrees']} agree, {outcomes['differs']} differ, {outcomes['none']} ask nothing"
    )
    return 1 if outcomes["differs"] or not outcomes["agrees"] else 0


if __name__ == "__main__":
    sys.exit(main())
