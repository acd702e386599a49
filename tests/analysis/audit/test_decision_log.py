"""What happened between two states."""

from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from ksched_cli.analysis.audit.decision_log import (
    read_decision_log,
    scheduler_events,
    seconds,
    why_swapped,
)
from ksched_cli.analysis.audit.decisions import (
    DecisionLog,
    LogEvent,
    LogLine,
    OrderSource,
    PodEvent,
    PreemptionDecision,
    RecordedPlacement,
)
from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.state import ClusterState
from ksched_cli.errors import UsageError
from ksched_cli.testing import cluster, node, pod
from tests.analysis.audit.aftermath import bound, event, log_of, moment, preempted, scheduled

PROFILES = frozenset(("default-scheduler",))


def decision_log(before: ClusterState, *pods: Pod, events: tuple[Any, ...] = ()) -> DecisionLog:
    """pods: of the second state"""
    after = replace(before, pods=pods, others={"Event": events})
    return read_decision_log(before, after, PROFILES, log_of(after))


def placed(answer: DecisionLog) -> list[tuple[str, str]]:
    return [(decision.pod.name, decision.node) for decision in answer.decisions]


def test_pods_that_got_a_node_were_placed() -> None:
    waits = pod("p"), pod("o", profile="other"), pod("q")
    before = cluster(node("a"), *waits, pod("r", node="a"))
    p, o, q, r = before.pods
    answer = decision_log(before, bound(p, "a", 7), o, q, r)
    assert placed(answer) == [("p", "a")]
    (placement,) = answer.decisions
    assert placement.pod.node_name == ""
    assert [refusal.pod.name for refusal in answer.refused] == ["q"]


def test_a_pod_that_came_later_is_pending_at_first() -> None:
    before, later = cluster(node("a")), cluster(node("a"), pod("p"))
    answer = decision_log(before, bound(later.pods[0], "a", 3))
    assert placed(answer) == [("p", "a")]
    assert [p.node_name for p in answer.state.pods] == [""]


def test_a_pod_that_had_gates_is_as_it_was_without_them() -> None:
    before = cluster(node("a"), pod("p", gates=("wait",), labels={"old": "yes"}))
    opened = cluster(node("a"), pod("p", labels={"new": "yes"})).pods[0]
    answer = decision_log(before, bound(opened, "a", 3))
    (placement,) = answer.decisions
    assert placement.pod.metadata.labels == {"new": "yes"}
    assert not placement.pod.spec.scheduling_gates


@pytest.mark.parametrize("uid", ["2", "z"])
def test_a_pod_of_a_name_that_was_there_before_is_a_newcomer(uid: str) -> None:
    before = cluster(node("a"), pod("p", node="a"))
    again = structs.replace(
        before.pods[0], metadata=structs.replace(before.pods[0].metadata, uid=uid)
    )
    answer = decision_log(before, bound(again, "a", 3))
    assert [p.uid for p in answer.newcomers] == [uid]
    assert answer.departed == {"default/p": "a"}


def test_evictions_for_one_pod_are_a_decision() -> None:
    before = cluster(
        node("a"), pod("v1", node="a"), pod("v2", node="a"), pod("p", priority=9), pod("q")
    )
    first, second, p, q = before.pods
    events = (
        scheduled(q, "a", 9),
        preempted(second, p, "a", 4),
        preempted(first, p, "a", 5),
        scheduled(p, "a", 7),
    )
    answer = decision_log(before, bound(p, "a", 7), bound(q, "a", 9), events=events)
    preemption, *others = answer.decisions
    placements = [each for each in others if isinstance(each, RecordedPlacement)]
    assert isinstance(preemption, PreemptionDecision)
    assert (preemption.pod.name, preemption.victims) == ("p", ("default/v1", "default/v2"))
    assert [placement.pod.name for placement in placements] == ["p", "q"]
    assert not answer.departed


def test_pods_that_left_are_departed() -> None:
    before = cluster(node("a"), pod("p", node="a"), pod("q", node="a"))
    finished = structs.replace(
        before.pods[1], status=structs.replace(before.pods[1].status, phase="Succeeded")
    )
    assert decision_log(before, finished).departed == {"default/p": "a", "default/q": "a"}


def test_a_pod_that_was_bound_and_is_gone_again_is_placed_where_its_event_says() -> None:
    before = cluster(node("a"), pod("running", node="a"), pod("p"))
    running, p = before.pods
    answer = decision_log(before, running, events=(scheduled(p, "a", 3),))
    assert placed(answer) == [("p", "a")]
    assert answer.departed == {"default/p": "a"}


def test_a_pod_that_waited_and_is_gone_without_an_event_is_unexplained() -> None:
    (unexplained,) = decision_log(cluster(node("a"), pod("p"))).unexplained
    assert unexplained.pod == "default/p"
    assert "no event shows" in unexplained.reason


def test_a_pod_that_only_an_event_tells_of_is_unexplained() -> None:
    ghost = cluster(pod("ghost")).pods[0]
    (unexplained,) = decision_log(
        cluster(node("a")), events=(scheduled(ghost, "a", 1),)
    ).unexplained
    assert unexplained.pod == "default/ghost"
    assert unexplained.reason == "it was created, bound to a and deleted between the two states"


def test_an_eviction_for_a_pod_that_is_not_there_leaves_the_victim_departed() -> None:
    before = cluster(node("a"), pod("v", node="a"))
    ghost, other = cluster(pod("ghost"), pod("other")).pods
    events = preempted(other, ghost, "a", 1), preempted(before.pods[0], ghost, "a", 1)
    after = replace(before, pods=(), others={"Event": events})
    answer = read_decision_log(before, after, PROFILES, ())
    assert answer.departed == {"default/v": "a"}
    assert [each.pod for each in answer.unexplained] == ["default/v"]
    assert "in neither state" in answer.unexplained[0].reason


def test_a_pod_on_a_node_that_is_not_there_is_unexplained() -> None:
    before = cluster(node("a"), pod("p"), pod("q"))
    p, q = before.pods
    answer = decision_log(before, bound(p, "b", 3), bound(q, "a", 4))
    reasons = [(each.pod, each.reason) for each in answer.unexplained]
    assert reasons == [("default/p", "b is not among the nodes of the first state")]
    assert placed(answer) == [("q", "a")]


STATUS = {
    "startTime": "2026-01-01T00:00:04Z",
    "conditions": [
        {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:09Z"},
        {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-01T00:00:03Z"},
    ],
}


@pytest.mark.parametrize(
    ("status", "second"), [(STATUS, 3), ({"startTime": STATUS["startTime"]}, 4), ({}, 2)]
)
def test_a_binding_without_an_event_is_as_old_as_the_pod_tells(
    status: dict[str, Any], second: int
) -> None:
    came = {"creationTimestamp": "2026-01-01T00:00:02Z"}
    after = cluster(node("a"), pod("p", node="a", status=status, metadata=came))
    log = [LogLine(LogEvent.ATTEMPT, "default/p")]
    (placement,) = read_decision_log(cluster(node("a")), after, PROFILES, log).decisions
    assert placement.time == seconds(f"2026-01-01T00:00:0{second}Z")


@pytest.mark.parametrize("is_last", [True, False])
def test_a_refusal_is_current_if_nothing_was_decided_later(is_last: bool) -> None:
    before = cluster(node("a"), pod("p"), pod("q"))
    p, q = before.pods
    refusal = event("FailedScheduling", q, "0/1 nodes are available.", 2)
    events = (scheduled(p, "a", 1 if is_last else 3), refusal)
    (refused,) = decision_log(before, bound(p, "a", 7), q, events=events).refused
    assert refused.current is is_last


def test_pods_of_other_schedulers_are_placed_but_not_judged() -> None:
    before = cluster(node("a"), pod("p", profile="other"))
    (placement,) = decision_log(before, bound(before.pods[0], "a", 3)).decisions
    assert isinstance(placement, RecordedPlacement)
    assert not placement.judged


def test_nodes_that_changed_are_listed_with_what_changed() -> None:
    before = cluster(node("a"), node("b"), node("c"), node("d"))
    after = cluster(
        node("a", taints=["x:NoSchedule"]), node("b", labels={"x": "y"}), node("c"), node("e")
    )
    changed = read_decision_log(before, after, PROFILES, ()).changed_nodes
    assert changed == {
        "a": "its taints",
        "b": "its labels",
        "d": "it is gone",
        "e": "it is new",
    }


def test_claims_that_came_later_are_not_allocated_at_first() -> None:
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c", "namespace": "default"},
        "spec": {},
        "status": {"allocation": {}, "reservedFor": [{"resource": "pods", "name": "p"}]},
    }
    answer = read_decision_log(cluster(node("a")), cluster(node("a"), claim), PROFILES, ())
    assert answer.state.resource_claims["default", "c"].status.allocation is None
    unchanged = read_decision_log(cluster(claim), cluster(claim), PROFILES, ()).state
    assert unchanged.resource_claims["default", "c"].status.allocation is not None


def test_a_log_has_the_order_and_when_pods_left() -> None:
    before = cluster(node("a"), pod("v", node="a"), pod("p", priority=9), pod("q"))
    victim, p, q = before.pods
    events = (scheduled(q, "a", 5), preempted(victim, p, "a", 9), scheduled(p, "a", 6))
    after = replace(before, pods=(bound(p, "a", 6), bound(q, "a", 5)), others={"Event": events})
    log = [
        LogLine(LogEvent.ATTEMPT, "default/p"),
        LogLine(LogEvent.PREEMPTION, "default/p", "a"),
        LogLine(LogEvent.ATTEMPT, "default/q"),
        LogLine(LogEvent.DEPARTURE, "default/v"),
        LogLine(LogEvent.ATTEMPT, "default/p"),
    ]
    answer = read_decision_log(before, after, PROFILES, log)
    assert answer.order is OrderSource.LOG
    assert [(type(decision), decision.pod.name) for decision in answer.decisions] == [
        (PreemptionDecision, "p"),
        (RecordedPlacement, "q"),
        (PodEvent, "v"),
        (RecordedPlacement, "p"),
    ]
    others = [each.event for each in answer.decisions if isinstance(each, PodEvent)]
    assert others == [LogEvent.DEPARTURE]


def test_a_pod_that_left_at_a_time_in_the_log_is_not_departed_nobody_knows_when() -> None:
    before = cluster(node("a"), pod("v", node="a"), pod("p"))
    p = before.pods[1]
    log = [
        LogLine(LogEvent.ATTEMPT, "default/p"),
        LogLine(LogEvent.ATTEMPT, "default/later"),
        LogLine(LogEvent.DEPARTURE, "default/v"),
    ]
    answer = read_decision_log(before, replace(before, pods=(bound(p, "a", 3),)), PROFILES, log)
    assert (answer.departed, answer.unseen) == ({}, ())


def test_a_log_without_an_attempt_of_a_placed_pod_is_refused() -> None:
    before = cluster(node("a"), pod("p"))
    after = replace(before, pods=(bound(before.pods[0], "a", 3),))
    log = [LogLine(LogEvent.ATTEMPT, "default/other")]
    with pytest.raises(UsageError, match="no attempt to schedule default/p, which was placed"):
        read_decision_log(before, after, PROFILES, log)


def test_the_later_of_two_states_is_told_by_what_only_rises() -> None:
    before = cluster(node("a"), pod("p"), pod("q", node="a"))
    p, q = before.pods
    first = replace(before, pods=(p, bound(q, "a", 5)), taken="2026-01-01T00:00:00Z")
    second = replace(before, pods=(bound(p, "a", 9), bound(q, "a", 7)))
    for later in (
        second,
        replace(second, pods=(p, bound(q, "a", 7))),
        replace(first, taken="2026-01-01T00:00:01Z"),
    ):
        assert not why_swapped(first, later)
        assert why_swapped(later, first)
    assert not why_swapped(first, first)
    nodes = [
        cluster(node("a") | {"metadata": {"name": "a", "resourceVersion": text}})
        for text in ("1", "9", "")
    ]
    assert not why_swapped(nodes[0], nodes[1])
    assert not why_swapped(nodes[1], nodes[2])
    assert why_swapped(nodes[1], nodes[0]) == (
        "the resourceVersion of a is higher in --before than in --after"
    )
    assert why_swapped(second, first) == "default/p has a node in --before and none in --after"


def test_the_state_to_begin_with_is_warned_of_as_it_is_with_what_came() -> None:
    nodes = cluster(node("a"))
    after = cluster(node("a"), pod("p", node="a"))
    assert nodes.warnings == ("no Pods in the state: nothing to schedule",)
    assert read_decision_log(nodes, after, PROFILES, log_of(after)).state.warnings == ()


# -- reading the scheduler's events ----------------------------------------------------------------


P, Q = cluster(pod("p"), pod("q")).pods


def test_a_binding_is_told_by_its_message() -> None:
    events = scheduler_events(ClusterState(others={"Event": (scheduled(P, "node-1", 5),)}))
    binding = events.bindings[P.uid]
    assert (binding.pod, binding.node) == ("default/p", "node-1")
    assert binding.time == pytest.approx(seconds(moment(5)), abs=1e-6)


def test_an_eviction_names_the_preemptor() -> None:
    events = scheduler_events(ClusterState(others={"Event": (preempted(P, Q, "node-1", 5),)}))
    eviction = events.evictions[P.uid]
    assert (eviction.pod, eviction.node, eviction.preemptor) == ("default/p", "node-1", Q.uid)


def test_events_of_the_newer_group_are_read_too() -> None:
    newer = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "reason": "Scheduled",
        "regarding": {"kind": "Pod", "namespace": "default", "name": "p", "uid": P.uid},
        "note": "Successfully assigned default/p to b",
        "eventTime": moment(1),
    }
    events = scheduler_events(ClusterState(others={"Event.events.k8s.io": (newer,)}))
    assert events.bindings[P.uid].node == "b"


@pytest.mark.parametrize("field", ["lastTimestamp", "deprecatedLastTimestamp"])
def test_events_of_older_recorders_have_their_time_elsewhere(field: str) -> None:
    older = scheduled(P, "a", 2) | {"eventTime": None, field: moment(7)}
    events = scheduler_events(ClusterState(others={"Event": (older,)}))
    assert events.bindings[P.uid].time == pytest.approx(seconds(moment(7)), abs=1e-6)


@pytest.mark.parametrize("note", ["Successfully assigned", "moved to b", ""])
def test_other_messages_are_passed_over(note: str) -> None:
    events = scheduler_events(ClusterState(others={"Event": (event("Scheduled", P, note, 1),)}))
    assert not events.bindings


@pytest.mark.parametrize("timestamp", [None, "", "yesterday", 3])
def test_what_is_no_time_is_zero(timestamp: object) -> None:
    assert seconds(timestamp) == 0
