"""Extenders drop candidates and change victims, one after the other."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.framework.preemption import ExtenderError, Victims
from ksched_cli.plugins.default_preemption.plugin import call_extenders
from ksched_cli.testing import cluster, find, node, simulation
from tests.plugins.default_preemption.manifests import preemption_pod

RUN = simulation(
    cluster(node("a"), node("b"), preemption_pod("v", prio=1, node="a"), preemption_pod())
)
POD, VICTIMS = find(RUN, "p"), Victims((find(RUN, "v"),), 0)
CANDIDATES = {"a": VICTIMS, "b": VICTIMS}
NO_VICTIMS = Victims((), 0)


@dataclass
class Extender:
    """Returns `answer`, or raises where it has none."""

    answer: dict[str, Victims] | None = None
    ignorable: bool = False
    supports_preemption: bool = True
    interested: bool = True
    received: list[list[str]] = field(default_factory=list)
    name: str = "http://extender"

    def is_interested(self, pod: PodInfo) -> bool:
        return self.interested

    def process_preemption(
        self, pod: PodInfo, victims: Mapping[str, Victims], snapshot: Snapshot
    ) -> dict[str, Victims]:
        self.received.append(sorted(victims))
        if self.answer is None:
            raise ExtenderError("no answer")
        return self.answer


def call(*extenders: Extender) -> Mapping[str, Victims]:
    return call_extenders(extenders, POD, CANDIDATES, RUN.snapshot)


def test_each_extender_gets_the_candidates_that_the_one_before_left() -> None:
    first, second = Extender({"b": VICTIMS}), Extender({"b": VICTIMS})
    assert call(first, second) == {"b": VICTIMS}
    assert (first.received, second.received) == ([["a", "b"]], [["b"]])


@pytest.mark.parametrize("skipped", [{"supports_preemption": False}, {"interested": False}])
def test_an_extender_without_preemption_or_interest_in_the_pod_is_not_called(
    skipped: dict[str, Any],
) -> None:
    extender = Extender(**skipped)
    assert call(extender) == CANDIDATES
    assert extender.received == []


def test_no_extender_is_called_without_candidates() -> None:
    second = Extender()
    assert call(Extender({}), second) == {}
    assert second.received == []


def test_a_failure_counts_only_where_the_extender_is_not_ignorable() -> None:
    assert call(Extender(ignorable=True)) == CANDIDATES
    with pytest.raises(ExtenderError, match="no answer"):
        call(Extender())


def test_a_node_without_victims_is_an_error_or_dropped_where_the_extender_is_ignorable() -> None:
    answer = {"a": NO_VICTIMS, "b": VICTIMS}
    assert call(Extender(answer, ignorable=True)) == {"b": VICTIMS}
    with pytest.raises(ExtenderError, match='expected at least one victim pod on node "a"'):
        call(Extender(answer))
