"""Events while pods are being tried."""

from __future__ import annotations

from ksched_cli.engine.replay.scheduling_queue import InFlight, ObjectEvent
from ksched_cli.framework.cluster_events import ASSIGNED_POD_ADD, EVERYTHING


def test_a_pod_gets_the_events_since_its_own_attempt_began() -> None:
    in_flight = InFlight()
    in_flight.note(ObjectEvent(EVERYTHING, None, None))  # nothing is tried: nobody misses it
    in_flight.begin("a")
    in_flight.note(ObjectEvent(EVERYTHING, None, None))
    in_flight.begin("b")
    in_flight.note(ObjectEvent(ASSIGNED_POD_ADD, None, None))
    assert [each.event for each in in_flight.since("a")] == [EVERYTHING, ASSIGNED_POD_ADD]
    assert [each.event for each in in_flight.since("b")] == [ASSIGNED_POD_ADD]
    assert "b" in in_flight


def test_events_are_let_go_with_the_last_attempt() -> None:
    in_flight = InFlight()
    in_flight.begin("a")
    in_flight.begin("b")
    in_flight.note(ObjectEvent(EVERYTHING, None, None))
    in_flight.end("a")
    assert len([*in_flight.since("b")]) == 1
    in_flight.end("b")
    assert "b" not in in_flight
    assert [*in_flight.since("b")] == []
