"""Plugins from outside that place pod groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pytest
from fullest_rack import RACK, FullestRack

from ksched_cli.api import (
    SUCCESS,
    Code,
    GroupKey,
    GroupRoom,
    Placement,
    PlacementFeasiblePlugin,
    PlacementGeneratePlugin,
    PlacementProgress,
    PlacementScorePlugin,
    PodGroup,
    PodGroupPostFilterPlugin,
    PodInfo,
    RejectedGroup,
    Status,
)
from ksched_cli.engine.records import RunRecord
from ksched_cli.framework.interface import Plugin
from ksched_cli.testing import cluster, node, pod, simulate, simulation
from tests.engine.test_pod_group_entity_cycle import group, member

GATES = "GenericWorkload=true,TopologyAwareWorkloadScheduling=true"
# Two racks and a node without one; rack b is the fuller one.
NODES = [
    node("a0", cpu=4, labels={RACK: "a"}),
    node("a1", cpu=4, labels={RACK: "a"}),
    node("b0", cpu=4, labels={RACK: "b"}),
    node("b1", cpu=4, labels={RACK: "b"}),
    node("bare", cpu=8),
    pod("running", cpu=1, node="b1"),
]
GROUP = [group(2), member("p"), member("q")]


def run(
    *plugins: type[Plugin], objects: Sequence[dict[str, Any]] = GROUP, minor: str = "1.38"
) -> RunRecord:
    state = cluster(*NODES, *objects)
    return simulate(state, None, plugins, kubernetes_version=minor, feature_gates=GATES)


def places(record: RunRecord) -> dict[str, str]:
    return {key.partition("/")[2]: node for key, node in record.placements.items()}


def test_a_group_goes_to_the_fullest_rack_that_it_fits_in() -> None:
    assert set(places(run(FullestRack)).values()) <= {"b0", "b1"}
    large = [group(3), *(member(name, cpu="3") for name in "pqr")]
    assert places(run(FullestRack, objects=large)) == {}
    assert len(places(run(objects=large))) == 3
    four = [group(2), member("p", cpu="4"), member("q", cpu="4")]
    assert set(places(run(FullestRack, objects=four)).values()) == {"a0", "a1"}


class OddNodes(PlacementGeneratePlugin):
    """The second node of each rack, as one placement."""

    name = "OddNodes"

    def generate_placements(
        self, key: GroupKey, parent: Placement
    ) -> tuple[Sequence[Placement], Status]:
        assert self.handle.pod_groups is not None
        assert self.handle.pod_groups.groups[key].min_count is not None
        names = self.handle.snapshot.names
        rows = [row for row in parent.rows.tolist() if names[row].endswith("1")]
        return [Placement("odd", np.array(rows))], SUCCESS


class Whole(PlacementGeneratePlugin):
    """Divides nothing."""

    name = "Whole"

    def generate_placements(
        self, key: GroupKey, parent: Placement
    ) -> tuple[Sequence[Placement], Status]:
        return [parent], SUCCESS


def test_the_placements_of_several_plugins_are_combined_in_1_38() -> None:
    small = [group(2), member("p", cpu="1"), member("q", cpu="1")]
    assert set(places(run(FullestRack, OddNodes, objects=small)).values()) == {"b1"}
    assert set(places(run(OddNodes, Whole)).values()) <= {"a1", "b1"}


class SinglePod(PlacementFeasiblePlugin):
    """Refuses every group of which a second pod would be placed."""

    name = "SinglePod"
    progresses: ClassVar[list[PlacementProgress]] = []

    def placement_feasible(self, group: PodGroup, progress: PlacementProgress) -> Status:
        self.progresses.append(progress)
        if progress.scheduled > 1:
            return Status.unschedulable(f"{group.name} is too large")
        return Status(Code.WAIT) if progress.remaining else SUCCESS


def test_each_plugin_has_to_find_the_group_feasible_from_1_38_on() -> None:
    SinglePod.progresses.clear()
    assert places(run(SinglePod)) == {}
    assert SinglePod.progresses[:3] == [(0, 2, 0), (1, 1, 0), (2, 0, 0)]
    assert len(places(run(SinglePod, minor="1.37"))) == 2


class EvictsLargest(PodGroupPostFilterPlugin):
    """Evicts one pod: the largest without which the group fits."""

    name = "EvictsLargest"
    left: ClassVar[list[int]] = []

    def pod_group_post_filter(self, rejected: RejectedGroup) -> tuple[Status, GroupRoom]:
        placed = [(pod, row) for row, pods in enumerate(self.handle.snapshot.pods) for pod in pods]
        placed.sort(key=lambda pair: -pair[0].resources.requests.get("cpu", 0))
        names = self.handle.snapshot.names
        for victim, row in placed:
            with rejected.branch():
                rejected.remove(victim, row)
                status, assignments = rejected.try_group()
            if status.is_success:
                nominations = {each.pod.uid: names[each.row] for each in assignments}
                return SUCCESS, GroupRoom(((victim, row),), nominations)
        self.left.append(sum(map(len, self.handle.snapshot.pods)))
        return Status.unschedulable("no single pod helps"), GroupRoom()


CROWD = [
    node("n0", cpu=4),
    node("n1", cpu=4),
    pod("small", cpu=1, node="n0", priority=9),
    pod("large", cpu=3, node="n0", priority=9),
    pod("half", cpu=2, node="n1", priority=9),
]


def crowd(plugin: type[Plugin], *members: dict[str, Any]) -> RunRecord:
    config = {
        "profiles": [{"plugins": {"podGroupPostFilter": {"enabled": [{"name": plugin.name}]}}}]
    }
    state = cluster(*CROWD, *members)
    run = simulation(state, config, [plugin], kubernetes_version="1.38", feature_gates=GATES)
    record = run.run()
    crowd_defects[:] = [*run.caller.defects.values()]
    return record


crowd_defects: list[Any] = []


def test_a_plugin_makes_room_for_a_group_with_what_it_tries_out() -> None:
    record = crowd(EvictsLargest, *GROUP)
    assert [eviction.pod for eviction in record.evicted] == ["default/large"]
    assert set(places(record)) == {"p", "q"}
    assert not crowd_defects


def test_what_a_plugin_tries_out_is_taken_back() -> None:
    EvictsLargest.left.clear()
    record = crowd(EvictsLargest, group(2), member("p", cpu="4"), member("q", cpu="4"))
    assert set(EvictsLargest.left) == {3}
    assert places(record) == {}
    assert not record.evicted


class Forgets(EvictsLargest):
    """Removes everything, and forgets it."""

    name = "Forgets"

    def pod_group_post_filter(self, rejected: RejectedGroup) -> tuple[Status, GroupRoom]:
        for row, pods in enumerate(self.handle.snapshot.pods):
            for each in tuple(pods):
                rejected.remove(each, row)
        return Status.unschedulable("nothing"), GroupRoom()


def test_what_a_plugin_forgets_to_take_back_is_taken_back_too() -> None:
    assert places(crowd(Forgets, group(2), member("p", cpu="4"), member("q", cpu="4"))) == {}


class Foreign(Whole):
    """Returns nodes that are not its parent's, or worse."""

    name = "Foreign"
    answer: ClassVar[Any] = None

    def generate_placements(self, key: GroupKey, parent: Placement) -> Any:
        return self.answer


class BadScores(PlacementScorePlugin):
    name = "BadScores"

    def score_placement(self, key: GroupKey, placement: Placement, pods: Sequence[PodInfo]) -> int:
        half: Any = 0.5
        return half


class BadVictims(EvictsLargest):
    name = "BadVictims"

    def pod_group_post_filter(self, rejected: RejectedGroup) -> tuple[Status, GroupRoom]:
        return SUCCESS, GroupRoom(((rejected.pods[0], 0),))


def problem(*plugins: type[Plugin]) -> str:
    state = cluster(*NODES, *GROUP)
    run = simulation(state, None, plugins, kubernetes_version="1.38", feature_gates=GATES)
    run.run()
    (defect,) = run.caller.defects.values()
    return f"{defect.plugin}: {defect.problem}"


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (None, "Foreign: generate_placements returned NoneType, expected tuple"),
        (([Placement("x", np.array([99]))], SUCCESS), "Foreign: generate_placements returned rows"),
        ((["x"], SUCCESS), "Foreign: generate_placements with a placement that returned str"),
    ],
)
def test_a_wrong_placement_is_a_failure_of_the_plugin(answer: Any, text: str) -> None:
    Foreign.answer = answer
    assert problem(Foreign).startswith(text)


def test_wrong_scores_and_victims_are_failures_of_the_plugin() -> None:
    expected = "BadScores: score_placement returned float, expected int"
    assert problem(FullestRack, BadScores) == expected
    crowd(BadVictims, group(2), member("p", cpu="4"), member("q", cpu="4"))
    (defect,) = crowd_defects
    assert defect.problem.startswith("pod_group_post_filter's victim")
    assert set(defect.pods) == {"default/p", "default/q"}
