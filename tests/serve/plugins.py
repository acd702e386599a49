"""Plugins of the tests."""

from __future__ import annotations

import time
from pathlib import Path

from ksched_cli.api import (
    SUCCESS,
    CycleState,
    FilterPlugin,
    NodeInfo,
    PluginError,
    PodInfo,
    ScorePlugin,
    Status,
)

ODD = Status.unschedulable("node(s) had an odd number")
FORBIDDEN = Status.unresolvable("node(s) were forbidden")
FULL = Status.unschedulable("node(s) had two pods already")


def number(node: NodeInfo) -> int:
    return int(node.name.rpartition("-")[2])


class Even(FilterPlugin, ScorePlugin):
    """Rejects odd nodes, and for good those that are forbidden; prefers high numbers, in steps of
    ten points, as an extender's scores have them."""

    name = "Even"

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        if node.labels.get("forbidden"):
            return FORBIDDEN
        return ODD if number(node) % 2 else SUCCESS

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        return 10 * (number(node) % 11)


class Third(ScorePlugin):
    name = "Third"

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        return 0 if number(node) % 3 else 100


class TwoPods(FilterPlugin):
    """Looks at the pods of a node."""

    name = "TwoPods"

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        return SUCCESS if len(node.pods) < 2 else FULL


class Quiet(FilterPlugin):
    """Looks at the annotations of a node and of its pods."""

    name = "Quiet"

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        annotated = (node.object, *(other.pod for other in node.pods))
        return FULL if any("loud" in each.metadata.annotations for each in annotated) else SUCCESS


class Broken(FilterPlugin, ScorePlugin):
    """Fails for pods with the label `fail`."""

    name = "Broken"

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        if pod.labels.get("fail") == "refuses":
            raise PluginError("the database is down")
        if pod.labels.get("fail") == "hangs":
            while True:
                time.sleep(0.01)
        if "fail" in pod.labels:
            raise KeyError("nothing")
        return SUCCESS

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        return 1000 if "wild" in pod.labels else 0


class Waiting(FilterPlugin):
    """Waits until there is the file that the pod's label `until` names."""

    name = "Waiting"

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        while not Path(pod.labels["until"]).exists():
            time.sleep(0.01)
        return SUCCESS
