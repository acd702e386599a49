"""Reading the scheduler's events."""

import pytest

from ksched_cli.analysis.audit.decision_log import scheduler_events, seconds
from ksched_cli.cluster.state import ClusterState
from ksched_cli.testing import cluster, pod
from tests.analysis.aftermath import event, moment, preempted, scheduled

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


def test_of_several_refusals_the_last_counts() -> None:
    later, earlier = (event("FailedScheduling", P, "0/3 nodes", number) for number in (9, 2))
    events = scheduler_events(ClusterState(others={"Event": (later, earlier)}))
    assert events.refusals[P.uid].time == pytest.approx(seconds(moment(9)), abs=1e-6)


def test_a_series_counts_with_its_last_time() -> None:
    repeated = event("FailedScheduling", P, "0/3 nodes", 2)
    repeated["series"] = {"count": 2, "lastObservedTime": moment(30)}
    events = scheduler_events(ClusterState(others={"Event": (repeated,)}))
    assert events.refusals[P.uid].time == pytest.approx(seconds(moment(30)), abs=1e-6)


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


@pytest.mark.parametrize("note", ["Successfully assigned", "moved to b", ""])
def test_other_messages_are_passed_over(note: str) -> None:
    events = scheduler_events(ClusterState(others={"Event": (event("Scheduled", P, note, 1),)}))
    assert not events.bindings


@pytest.mark.parametrize("timestamp", [None, "", "yesterday", 3])
def test_what_is_no_time_is_zero(timestamp: object) -> None:
    assert seconds(timestamp) == 0
