"""What bears on a pending pod besides what is in its way."""

from typing import Any

import pytest

from ksched_cli.analysis.diagnosis import Diagnosis, pending_report
from ksched_cli.testing import cluster, explanation, node, pod, simulation
from tests.analysis.test_causes_in_short import of
from tests.narrowing import present

FULL = "requests cpu 3; the only node it may use, n1, has 1 free"
OLD_MESSAGE = "0/9 nodes are available: 9 Too many pods."


def test_pods_that_are_being_deleted_still_count() -> None:
    gone = {"deletionTimestamp": "2026-05-01T10:00:00Z"}
    answer = of(node("n1"), pod("old", cpu=3, node="n1", metadata=gone), pod("p", cpu=3))
    assert answer.cause == FULL
    assert answer.notes == ("default/old on n1 is being deleted and still counts there",)


def test_a_deferred_resize_counts_from_when_it_is_asked_for() -> None:
    resized = {"name": "c", "allocatedResources": {"cpu": "1"}, "resources": {}}
    status = {
        "phase": "Running",
        "conditions": [{"type": "PodResizePending", "status": "True", "reason": "Deferred"}],
        "containerStatuses": [resized],
    }
    answer = of(node("n1"), pod("big", cpu=3, node="n1", status=status), pod("p", cpu=3))
    assert answer.notes == (
        "default/big on n1 counts with its resize, which is deferred (cpu 3 instead of 1)",
    )


@pytest.mark.parametrize(
    ("nominated", "note"),
    [
        ("n1", "it is nominated for n1"),
        ("gone", "it is nominated for gone, which is not in the state"),
    ],
)
def test_a_nomination_is_told(nominated: str, note: str) -> None:
    status = {"nominatedNodeName": nominated}
    assert of(node("n1"), pod("p", cpu=9, status=status)).notes == (note,)


def test_pods_that_are_nominated_before_it_count() -> None:
    high = pod("high", cpu=3, priority=9, status={"nominatedNodeName": "n1"})
    answer = of(node("n1"), high, pod("p", cpu=8))
    assert answer.notes == ("default/high for n1 is nominated and counts there",)


WAITING = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "absent"}}]}


def after_run(*objects: dict[str, Any]) -> Diagnosis:
    """The diagnosis of the pod p once every pod has been tried."""
    groups = pending_report(simulation(cluster(*objects))).groups
    return next(present(group.diagnosis) for group in groups if "default/p" in group.pods)


@pytest.mark.parametrize(
    ("nominated", "own", "cause"),
    [
        (
            {"cpu": 3},
            {"cpu": 2},
            "requests cpu 2; the only node it may use, n1, has 1 free, as default/high is nominated"
            " to n1",
        ),
        (
            {"ports": [80]},
            {"ports": [80]},
            "n1 would take it but for a host port that is taken, as default/high is nominated to"
            " n1",
        ),
        (
            {"cpu": 3},
            {"cpu": 9},
            "requests cpu 9; the only node it may use, n1, has 4",
        ),
    ],
)
def test_room_that_only_a_nomination_takes_is_nominated_in_the_cause(
    nominated: dict[str, Any], own: dict[str, Any], cause: str
) -> None:
    status = {"nominatedNodeName": "n1"}
    high = pod("high", priority=9, status=status, spec=WAITING, **nominated)
    answer = after_run(node("n1"), high, pod("p", **own))
    assert answer.cause == cause
    assert ("default/high for n1 is nominated" in "".join(answer.notes)) == ("high" not in cause)


def test_of_several_nodes_those_are_named_whose_room_is_nominated() -> None:
    high = pod("high", cpu=3, priority=9, status={"nominatedNodeName": "n1"}, spec=WAITING)
    old = pod("old", cpu=3, node="n2")
    answer = after_run(node("n1"), node("n2"), old, high, pod("p", cpu=2))
    assert answer.cause == (
        "requests cpu 2; the 2 nodes it may use have at most 1 free (n1), as default/high is"
        " nominated to n1"
    )


def left(message: str, reason: str = "Unschedulable") -> dict[str, Any]:
    """The status that the cluster's scheduler left on a pod."""
    condition = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}
    return {"conditions": [{**condition, "lastTransitionTime": "2026-05-01T10:00:00Z"}]}


def test_the_scheduler_s_own_message_is_told_where_it_differs() -> None:
    later = pod("other", metadata={"creationTimestamp": "2026-05-01T13:10:00Z"}, node="n1")
    state = cluster(node("n1"), later, pod("p", cpu=9, status=left(OLD_MESSAGE)))
    answer = explanation(state, pod="p")
    assert answer.notes == (f"the scheduler's message of 3 h ago: {OLD_MESSAGE}",)
    again = cluster(node("n1"), pod("p", cpu=9, status=left(answer.message)))
    assert explanation(again, pod="p").notes == ()


def test_a_pod_that_fits_now_is_told_what_the_scheduler_said() -> None:
    answer = explanation(cluster(node("n1"), pod("p", status=left(OLD_MESSAGE))), pod="p")
    assert answer.node == "n1"
    assert answer.notes == (f"the scheduler's message: {OLD_MESSAGE}",)
    gated = cluster(node("n1"), pod("p", status=left("by a gate", "SchedulingGated")))
    assert explanation(gated, pod="p").notes == ()
