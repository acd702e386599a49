"""A profile at work: Reserve, Permit, PostFilter, and what ends an attempt."""

from typing import Any

import pytest

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.records import Attempt
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.interface import (
    FilterPlugin,
    PermitPlugin,
    PostFilterPlugin,
    PostFilterResult,
    ReservePlugin,
)
from ksched_cli.framework.node_statuses import NodeStatuses
from ksched_cli.framework.nodes import NodeInfo
from ksched_cli.framework.status import SUCCESS, Code, Status
from ksched_cli.plugins.volume_binding.plugin import VolumeBinding
from ksched_cli.testing import cluster, find, node, pod, run_cycle, simulate, simulation
from tests.framework.toys import Toy, filtering, profile
from tests.narrowing import present

NAMES = ["a", "b", "c"]


def state(*more: dict[str, Any]) -> ClusterState:
    return cluster(*(node(name) for name in NAMES), pod("p"), *more)


def attempt(*plugins: type[Toy]) -> Attempt:
    return run_cycle(state(), profile(*plugins), plugins)


def reserving(name: str, status: Status, log: list[Any]) -> type[Toy]:
    class Reserving(Toy, ReservePlugin):
        def reserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
            log.append(f"+{name} {node.name}")
            return status

        def unreserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> None:
            log.append(f"-{name} {node.name}")

    Reserving.name = name
    return Reserving


def test_a_refusal_in_reserve_takes_the_pod_off_its_node_and_tells_all_in_reverse() -> None:
    log: list[Any] = []
    refusal = Status.unschedulable("no more")
    plugins = [reserving("R1", SUCCESS, log), reserving("R2", refusal, log)]
    plugins.append(reserving("R3", SUCCESS, log))
    run = simulation(state(), profile(*plugins), plugins)
    outcome = run.cycle.attempt(run.frameworks["default-scheduler"], find(run))
    assert log == ["+R1 a", "+R2 a", "-R3 a", "-R2 a", "-R1 a"]
    assert outcome.row is None
    assert (outcome.attempt.node, outcome.attempt.reserve) == ("", refusal.by("R2"))
    assert run.snapshot.pods == [[], [], []]


def test_reserve_is_called_after_skip_unless_an_in_tree_plugin_is_idle_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reserved: list[str] = []

    class Inheriting(VolumeBinding):
        name = "Inheriting"

        def reserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
            reserved.append(self.name)
            return super().reserve(state, pod, node)

    def reserve(self: VolumeBinding, *arguments: Any) -> Status:
        reserved.append("VolumeBinding")
        return SUCCESS

    monkeypatch.setattr(VolumeBinding, "reserve", reserve)
    point = {"enabled": [{"name": "Inheriting"}]}
    config = {"profiles": [{"plugins": {"preFilter": point, "reserve": point}}]}
    assert run_cycle(state(), config, [Inheriting]).node == "a"
    assert reserved == ["Inheriting", "VolumeBinding"]


def permitting(name: str, status: Status, seconds: float = 0.0) -> type[Toy]:
    class Permitting(Toy, PermitPlugin):
        def permit(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> tuple[Status, float]:
            return status, seconds

    Permitting.name = name
    return Permitting


def test_a_pod_that_is_asked_to_wait_keeps_its_node() -> None:
    outcome = attempt(permitting("W", Status(Code.WAIT), 5), permitting("Y", SUCCESS))
    assert outcome.node == "a"
    assert present(outcome.permit).code is Code.WAIT


@pytest.mark.parametrize("first", [SUCCESS, Status(Code.WAIT)])
def test_a_refusal_in_permit_outweighs_waiting(first: Status) -> None:
    outcome = attempt(permitting("W", first, 5), permitting("N", Status.unschedulable("no")))
    assert outcome.node == ""
    assert outcome.permit == Status.unschedulable("no").by("N")


def test_without_a_single_node_there_is_nothing_to_schedule_to() -> None:
    assert run_cycle(cluster(pod("p"))).error == "no nodes available to schedule pods"


def postfiltering(name: str, status: Status) -> type[Toy]:
    class PostFiltering(Toy, PostFilterPlugin):
        def post_filter(
            self, state: CycleState, pod: PodInfo, filtered: NodeStatuses
        ) -> tuple[PostFilterResult | None, Status]:
            return None, status

    PostFiltering.name = name
    return PostFiltering


def test_postfilter_plugins_are_asked_until_one_says_that_nothing_helps() -> None:
    no = filtering("F", dict.fromkeys(NAMES, Status.unschedulable("no")))
    outcome = attempt(
        no,
        postfiltering("A", Status.unschedulable("not me")),
        postfiltering("B", Status.unresolvable("hopeless")),
        postfiltering("C", Status.unschedulable("nor me")),
    )
    assert present(outcome.post_filter).status == Status.unresolvable("hopeless").by("B")
    assert outcome.message == "0/3 nodes are available: 3 no. hopeless"


def test_one_pods_broken_cycle_does_not_stop_the_others() -> None:
    class Choosy(Toy, FilterPlugin):
        name = "F"

        def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
            return Status.error("broken") if pod.name == "p" else SUCCESS

    run = simulate(state(pod("q")), profile(Choosy), [Choosy])
    assert run.placements == {"default/q": "a"}
    assert run.pending == ("default/p",)
