"""What kube-scheduler's log tells of attempts, and decisions in its order."""

import pytest

from ksched_cli.analysis.audit.decisions import (
    Decision,
    LogEvent,
    LogLine,
    PodEvent,
    PreemptionDecision,
    RecordedPlacement,
    in_order_of_attempts,
    in_order_of_log,
    in_order_of_notices,
    logged_attempts,
)
from ksched_cli.cluster.objects import Pod
from ksched_cli.errors import UsageError
from ksched_cli.testing import cluster, node, pod

PODS: dict[str, Pod] = {
    p.key: p for p in cluster(pod("p"), pod("q"), pod("v", node="a"), pod("w", node="a")).pods
}
P, Q, V, W = PODS
NO_ROOM = "0/1 nodes are available: 1 Insufficient cpu."


def attempt(pod: str) -> LogLine:
    return LogLine(LogEvent.ATTEMPT, pod)


def preemption(pod: str, node: str, victim_count: int) -> list[LogLine]:
    """The lines of an attempt that chooses to evict from the node."""
    return [
        LogLine(LogEvent.PREEMPTION, pod, node),
        LogLine(LogEvent.REFUSAL, pod, message=NO_ROOM),
        LogLine(LogEvent.EVICTION, pod, node, victim_count=victim_count),
    ]


def victim(pod: str, preemptor: str, node: str) -> LogLine:
    return LogLine(LogEvent.VICTIM, pod, node, preemptor)


def ordered(log: list[LogLine], *placed: str) -> list[Decision]:
    placements = [RecordedPlacement(PODS[key], "a", 0.0) for key in placed]
    return in_order_of_log(log, placements, {P: PODS[P], Q: PODS[Q]}, PODS, {}, {})


def test_victims_that_go_later_belong_to_the_attempt_that_chose_their_node() -> None:
    log = [attempt(P), *preemption(P, "a", 2), attempt(Q), victim(V, P, "a"), victim(W, P, "a")]
    first, second = logged_attempts(log, {})
    assert (first.node, first.victims, first.victim_count) == ("a", {V, W}, 2)
    assert (second.node, second.victims) == ("", set())


def test_victims_of_several_attempts_on_a_node_go_to_the_first_that_lacks_some() -> None:
    log = [attempt(P), *preemption(P, "a", 1), attempt(P), *preemption(P, "a", 1)]
    log += [victim(V, P, "a"), victim(W, P, "a")]
    assert [logged.victims for logged in logged_attempts(log, {})] == [{V}, {W}]


def test_a_victim_that_was_leaving_already_belongs_to_the_attempt_that_found_it_so() -> None:
    log = [attempt(P), *preemption(P, "a", 1), attempt(P), LogLine(LogEvent.PREEMPTION, P, "a")]
    log += [LogLine(LogEvent.LEAVING, W, "a", P), victim(V, P, "a")]
    assert [logged.victims for logged in logged_attempts(log, {})] == [{V}, {W}]


def test_a_preemption_stands_before_what_left_while_it_was_decided() -> None:
    log = [attempt(P), LogLine(LogEvent.DEPARTURE, W), *preemption(P, "a", 1), victim(V, P, "a")]
    assert ordered([*log, LogLine(LogEvent.DEPARTURE, V), attempt(P)], P) == [
        PreemptionDecision(PODS[P], "a", (V,), 0.0, NO_ROOM),
        PodEvent(PODS[P], "a", 0.0, LogEvent.EVICTION),
        PodEvent(PODS[V], "a", 0.0, LogEvent.DEPARTURE),
        RecordedPlacement(PODS[P], "a", 0.0),
    ]


def test_what_is_noticed_until_the_node_is_determined_belongs_to_the_preemption() -> None:
    notice = LogLine(LogEvent.NOTICE, Q)
    log = [notice, attempt(P), notice, *preemption(P, "a", 1), notice, attempt(P)]
    (decision,) = (each for each in ordered(log, P) if isinstance(each, PreemptionDecision))
    assert decision.noticed_meanwhile == (PODS[Q],)


def test_a_victim_whose_node_the_log_does_not_tell_belongs_to_an_attempt_on_its_node() -> None:
    log = [attempt(P), *preemption(P, "b", 1), attempt(P), *preemption(P, "a", 1)]
    log += [victim(V, P, ""), victim(W, P, "b")]
    assert [logged.victims for logged in logged_attempts(log, {V: "a"})] == [{W}, {V}]


def test_what_changes_on_a_node_stands_where_it_was_noticed() -> None:
    log = [LogLine(LogEvent.UPDATE, V), attempt(P), LogLine(LogEvent.ADDITION, P)]
    assert ordered(log, P) == [
        PodEvent(PODS[V], "a", 0.0, LogEvent.UPDATE),
        RecordedPlacement(PODS[P], "a", 0.0),
        PodEvent(PODS[P], "a", 0.0, LogEvent.ADDITION),
    ]


@pytest.mark.parametrize("is_preemption", [True, False])
def test_what_is_recorded_late_stands_before_what_left_after_its_outcome_in_the_log(
    is_preemption: bool,
) -> None:
    """W left while P was decided: whether that was noticed, the log does not tell."""
    gone = {key: PodEvent(PODS[key], "a", 0.0, LogEvent.DEPARTURE) for key in (V, W)}
    decided: Decision = RecordedPlacement(PODS[P], "a", 0.0)
    outcome = [LogLine(LogEvent.BINDING, P, "a")]
    if is_preemption:
        decided, outcome = PreemptionDecision(PODS[P], "a", (), 0.0), preemption(P, "a", 1)
    log = [attempt(P), LogLine(LogEvent.DEPARTURE, W), *outcome, LogLine(LogEvent.DEPARTURE, V)]
    decisions = [gone[W], gone[V], decided]
    assert in_order_of_attempts(decisions, log) == (gone[W], decided, gone[V])
    # A log that lacks a part tells nothing of that.
    assert in_order_of_attempts(decisions, log[:-1]) == (*decisions,)


def test_an_attempt_without_a_node_to_evict_from_has_failed() -> None:
    log = [attempt(P), LogLine(LogEvent.REFUSAL, P, message="0/1 nodes are available.")]
    assert ordered(log) == [
        PodEvent(PODS[P], "", 0.0, LogEvent.REFUSAL, "0/1 nodes are available.")
    ]


def test_nodes_and_pods_are_in_the_order_in_which_the_scheduler_noticed_them() -> None:
    state = cluster(node("a"), node("b"), pod("v", node="a"), pod("w", node="a"), pod("p"))
    log = [
        LogLine(LogEvent.NODE, "", "b"),
        LogLine(LogEvent.ADDITION, W),
        LogLine(LogEvent.NODE, "", "a"),
        LogLine(LogEvent.ADDITION, V),
    ]
    noticed = in_order_of_notices(state, log)
    assert noticed.noticed_nodes == ("b", "a")
    assert [p.name for p in noticed.pods if p.node_name] == ["w", "v"]


def test_a_log_without_an_attempt_of_a_placed_pod_is_refused() -> None:
    with pytest.raises(UsageError, match="no attempt to schedule default/q"):
        ordered([attempt(P)], P, Q)
