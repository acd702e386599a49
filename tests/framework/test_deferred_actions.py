"""Actions that wait until the engine carries out what PostFilter decided."""

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.interface import PostFilterPlugin, PostFilterResult
from ksched_cli.framework.node_statuses import NodeStatuses
from ksched_cli.framework.preemption import defer, deferred
from ksched_cli.framework.status import Status
from ksched_cli.testing import cluster, find, node, pod, simulation
from tests.framework.toys import Toy

log: list[str] = []


class Deferring(Toy, PostFilterPlugin):
    name = "Deferring"

    def post_filter(
        self, state: CycleState, pod: PodInfo, statuses: NodeStatuses
    ) -> tuple[PostFilterResult | None, Status]:
        defer(state, lambda: log.append(f"first {pod.name}"))
        defer(state, lambda: log.append(f"second {pod.name}"))
        return None, Status.unschedulable()


def test_they_come_in_the_order_in_which_they_were_deferred() -> None:
    state, calls = CycleState(), list[str]()
    assert deferred(state) == ()
    defer(state, lambda: calls.append("a"))
    defer(state, lambda: calls.append("b"))
    for action in deferred(state):
        action()
    assert calls == ["a", "b"]


def test_an_attempt_only_lists_them_and_a_run_carries_them_out() -> None:
    log.clear()
    run = simulation(cluster(node("n", cpu=1), pod("p", cpu=2)), plugins=[Deferring])
    outcome = run.cycle.attempt(run.frameworks["default-scheduler"], find(run))
    assert (len(outcome.afterwards), log) == (2, [])
    run.run()
    assert log == ["first p", "second p"]
