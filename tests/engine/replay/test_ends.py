"""Ends of pods."""

from __future__ import annotations

from ksched_cli.engine.replay.records import PodOutcome
from ksched_cli.engine.replay.replay_scheduler import End, Ends


def end(at: int, key: str = "a") -> End:
    return End(at, key, PodOutcome.ENDED)


def test_the_earlier_of_two_ends_counts() -> None:
    ends = Ends()
    ends.schedule("a", end(5))
    ends.schedule("a", End(3, "a", PodOutcome.EVICTED))
    ends.schedule("a", end(4))
    assert ends.next == 3
    assert ends.pop() == End(3, "a", PodOutcome.EVICTED)
    assert ends.next is None
    assert len(ends) == 0


def test_ends_of_one_time_come_in_the_order_given() -> None:
    ends = Ends()
    for key in "cab":
        ends.schedule(key, end(1, key))
    ends.cancel("a")
    assert [ends.pop().key, ends.pop().key] == ["c", "b"]
    assert ends.next is None
