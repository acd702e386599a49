"""Pods that Permit has wait: allowed, rejected, out of time; and the clock that jumps."""

from collections.abc import Callable
from typing import Any

import pytest

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.records import Attempt, RunRecord
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import WaitingPod
from ksched_cli.framework.interface import (
    PermitPlugin,
    Plugin,
    PostBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreFilterResult,
    QueuedPod,
    QueueSortPlugin,
    ReservePlugin,
)
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.runtime import MAX_PERMIT_SECONDS
from ksched_cli.framework.status import SUCCESS, Code, Status
from ksched_cli.testing import check, cluster, node, pod, simulate, simulation
from tests.framework.toys import Toy, scoring
from tests.narrowing import present

WAIT = Status(Code.WAIT)


def waiting(name: str, waits: dict[str, Any]) -> type[Toy]:
    """waits: pod name → how long it has to wait; the others need not."""

    class Waiting(Toy, PermitPlugin):
        def permit(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> tuple[Status, float]:
            return (WAIT, waits[pod.name]) if pod.name in waits else (SUCCESS, 0)

    Waiting.name = name
    return Waiting


def deciding(name: str, when: str, decide: Callable[..., Any]) -> type[PermitPlugin]:
    """When the pod `when` comes to Permit, `decide` is called with every waiting pod."""

    class Deciding(PermitPlugin):
        def permit(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> tuple[Status, float]:
            if pod.name == when:
                for waiting_pod in self.handle.waiting:
                    decide(waiting_pod)
            return SUCCESS, 0

    Deciding.name = name
    return Deciding


def recording(events: list[Any]) -> type[Toy]:
    class Recording(Toy, ReservePlugin, PostBindPlugin):
        name = "Recording"

        def reserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
            events.append(f"reserve {pod.name}")
            return SUCCESS

        def unreserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> None:
            events.append(f"unreserve {pod.name}")

        def post_bind(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> None:
            events.append(f"bound {pod.name}")

    return Recording


def attempts_of(record: RunRecord, name: str) -> list[Attempt]:
    return [tried for tried in record.attempts if tried.pod == f"default/{name}"]


def test_a_pod_that_nobody_allows_is_rejected_when_its_time_is_up() -> None:
    events: list[Any] = []
    plugins = [waiting("Slow", {"p": 60}), recording(events)]
    record = simulate(cluster(node("n"), pod("p")), plugins=plugins)
    (attempt,) = record.attempts
    assert attempt.node == ""
    assert attempt.waited == 60
    message = "rejected due to timeout after waiting 1m0s at plugin Slow"
    assert attempt.permit == Status.unschedulable(message).by("Slow")
    assert record.pending == ("default/p",)
    assert events == ["reserve p", "unreserve p"]


def test_the_plugin_whose_time_is_up_first_rejects() -> None:
    plugins = [waiting("Slow", {"p": 60}), waiting("Quick", {"p": 1.5})]
    (attempt,) = simulate(cluster(node("n"), pod("p")), plugins=plugins).attempts
    assert attempt.waited == 1.5
    message = "rejected due to timeout after waiting 1.5s at plugin Quick"
    assert attempt.permit == Status.unschedulable(message).by("Quick")


@pytest.mark.parametrize(("timeout", "waited"), [(10_000, MAX_PERMIT_SECONDS), (-1, 0), (0, 0)])
def test_nobody_waits_longer_than_fifteen_minutes_or_less_than_nothing(
    timeout: int, waited: float
) -> None:
    (attempt,) = simulate(
        cluster(node("n"), pod("p")), plugins=[waiting("Slow", {"p": timeout})]
    ).attempts
    assert attempt.waited == waited


def test_a_pod_is_bound_once_the_last_plugin_has_allowed_it() -> None:
    events: list[Any] = []
    plugins = [
        waiting("One", {"a": 60}),
        waiting("Two", {"a": 60}),
        deciding("Late", "b", lambda waiting_pod: waiting_pod.allow("One")),
        deciding("Later", "c", lambda waiting_pod: waiting_pod.allow("Two")),
        recording(events),
    ]
    record = simulate(cluster(node("n"), pod("a"), pod("b"), pod("c")), plugins=plugins)
    assert set(record.placements) == {"default/a", "default/b", "default/c"}
    assert events[-2:] == ["bound c", "bound a"]
    (attempt,) = attempts_of(record, "a")
    assert (present(attempt.permit).code, attempt.waited, attempt.node) == (Code.WAIT, 0, "n")


def test_a_pod_that_is_rejected_from_anothers_cycle_gives_back_its_room() -> None:
    plugins = [
        waiting("Slow", {"a": 60}),
        deciding("Judge", "b", lambda waiting_pod: waiting_pod.reject("Judge", "no")),
        scoring("Even", {}),
    ]
    state = cluster(node("n", cpu="2"), pod("a", cpu="1"), pod("b", cpu="1"), pod("c", cpu="1"))
    record = simulate(state, plugins=plugins)
    assert set(record.placements) == {"default/b", "default/c"}
    first = attempts_of(record, "a")[0]
    assert first.permit == Status.unschedulable("no").by("Judge")


def test_the_first_decision_counts() -> None:
    def both(waiting_pod: WaitingPod) -> None:
        waiting_pod.reject("Judge", "no")
        waiting_pod.allow("Slow")

    plugins = [waiting("Slow", {"a": 60}), deciding("Judge", "b", both)]
    record = simulate(cluster(node("n"), pod("a"), pod("b")), plugins=plugins)
    assert present(attempts_of(record, "a")[0].permit).reasons == ("no",)


def test_two_plugins_that_wait_for_each_others_pods_end_by_timeout() -> None:
    """First has a wait until b is bound; Second has b wait until a is bound."""

    def until_bound(name: str, own: str, other: str) -> type[PermitPlugin]:
        class Until(PermitPlugin, PostBindPlugin):
            def permit(
                self, state: CycleState, pod: PodInfo, node: NodeInfo
            ) -> tuple[Status, float]:
                return (WAIT, 300.0) if pod.name == own else (SUCCESS, 0)

            def post_bind(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> None:
                for waiting_pod in self.handle.waiting:
                    if pod.name == other and waiting_pod.pod.name == own:
                        waiting_pod.allow(self.name)

        Until.name = name
        return Until

    plugins = [until_bound("First", "a", "b"), until_bound("Second", "b", "a")]
    state = cluster(node("n"), pod("a"), pod("b"), pod("c"))
    record = simulate(state, plugins=plugins)
    assert record.placements == {"default/c": "n"}
    assert [attempts_of(record, name)[-1].waited for name in "ab"] == [300, 300]
    assert len(record.attempts) == 3
    assert record == simulate(state, plugins=plugins)


def test_the_room_that_a_waiting_pod_frees_goes_to_those_that_found_none() -> None:
    state = cluster(node("n", cpu="1"), pod("a", cpu="1"), pod("b", cpu="1"))
    record = simulate(state, plugins=[waiting("Slow", {"a": 60})])
    assert record.placements == {"default/b": "n"}
    assert attempts_of(record, "b")[0].message.startswith("0/1 nodes are available")


@pytest.mark.parametrize(
    ("minor", "status"),
    [
        ("1.35", Status.unschedulable("preempted")),
        ("1.36", Status.error("waiting on permit for pod: preempted")),
    ],
)
def test_a_waiting_pod_is_no_victim_but_sent_back(minor: str, status: Status) -> None:
    """Up to 1.35 the plugin that preempts has rejected it; later none has."""
    state = cluster(
        node("n", cpu="1"),
        pod("low", cpu="1", priority=1, metadata={"creationTimestamp": "2026-01-01T00:00:00Z"}),
        pod("high", cpu="1", priority=2, gates=[]),
    )

    class LowFirst(Toy, QueueSortPlugin):
        name = "LowFirst"

        def less(self, first: QueuedPod, second: QueuedPod) -> bool:
            return first.pod.priority < second.pod.priority

    plugins: list[type[Plugin]] = [LowFirst, waiting("Slow", {"low": 60})]
    record = simulate(state, plugins=plugins, kubernetes_version=minor)
    assert record.placements == {"default/high": "n"}
    assert record.evicted == ()
    first = attempts_of(record, "low")[0]
    assert first.permit == status.by("DefaultPreemption")


def test_pods_that_are_activated_are_tried_again() -> None:
    tries = []

    class Stubborn(PreFilterPlugin, PermitPlugin):
        name = "Stubborn"

        def pre_filter(
            self, state: CycleState, pod: PodInfo, nodes: Nodes
        ) -> tuple[PreFilterResult | None, Status]:
            tries.append(pod.name)
            refused = pod.name == "a" and tries.count("a") == 1
            return None, Status.unresolvable("not yet") if refused else SUCCESS

        def permit(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> tuple[Status, float]:
            if pod.name == "b":
                state.activate("default/a")
                return WAIT, 5.0
            return SUCCESS, 0

    # For pods that look the same, PreFilter may be asked more than once.
    state = cluster(node("n"), pod("a", cpu=1), pod("b"))
    record = simulate(state, plugins=[Stubborn])
    assert tries == ["a", "b", "a"]
    assert set(record.placements) == {"default/a"}


def test_a_plugin_may_ask_to_be_woken() -> None:
    class Pausing(PreFilterPlugin):
        name = "Pausing"

        def pre_filter(
            self, state: CycleState, pod: PodInfo, nodes: Nodes
        ) -> tuple[PreFilterResult | None, Status]:
            clock = self.handle.clock
            if clock.now < 100:
                clock.wake(100)
                return None, Status.unresolvable("not before 100")
            return None, SUCCESS

    run = simulation(cluster(node("n"), pod("p")), plugins=[Pausing])
    assert run.run().placements == {"default/p": "n"}
    assert run.waiting.clock.now == 100
    check(run)


def test_time_begins_with_the_youngest_pod() -> None:
    created = {"creationTimestamp": "1970-01-01T00:01:00Z"}
    run = simulation(
        cluster(node("n"), pod("p", metadata=created)), plugins=[waiting("Slow", {"p": 5})]
    )
    run.run()
    assert run.waiting.clock.now == 65


def test_a_gated_pod_is_asked_about_again_when_something_has_changed() -> None:
    bound: list[Any] = []

    class After(Toy, PreEnqueuePlugin, PostBindPlugin):
        name = "After"

        def pre_enqueue(self, pod: PodInfo) -> Status:
            return SUCCESS if pod.name == "a" or bound else Status.unschedulable("after a")

        def post_bind(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> None:
            bound.append(pod.name)

    record = simulate(cluster(node("n"), pod("a"), pod("b")), plugins=[After])
    assert bound == ["a", "b"]
    assert record.gated == {}
