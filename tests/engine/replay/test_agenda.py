"""What is due in a replay, and in which order."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ksched_cli.engine.replay.agenda import Agenda, Rank
from ksched_cli.engine.replay.records import ReplayClock


class Diary:
    """An agenda whose acts write a line each."""

    def __init__(self) -> None:
        self.agenda, self.lines = Agenda(ReplayClock()), list[str]()

    def write(self, line: str) -> Callable[[], None]:
        return lambda: self.lines.append(line)

    def schedule(self, rank: Rank, at: int, line: str, subject: str = "") -> None:
        self.agenda.schedule(rank, at, self.write(line), subject)

    def instants(self) -> list[str]:
        """Do everything. Return each turn of an instant as "time: lines"."""
        turns = []
        while (at := self.agenda.next) is not None:
            self.agenda.begin(at)
            while self.agenda.act():
                pass
            turns.append(f"{at}: {' '.join(self.lines)}")
            self.lines.clear()
        return turns


@pytest.fixture
def diary() -> Diary:
    return Diary()


def test_a_subject_is_due_once_at_the_earliest_time_given(diary: Diary) -> None:
    for at in (5, 3, 4):
        diary.schedule(Rank.END, at, f"end-{at}", "pod")
    assert diary.instants() == ["3: end-3"]


def test_subjects_of_one_rank_come_in_the_order_given(diary: Diary) -> None:
    for name in "cab":
        diary.schedule(Rank.END, 1, name, name)
    diary.agenda.cancel(Rank.END, "a")
    assert diary.instants() == ["1: c b"]


def test_ranks_decide_within_an_instant_only(diary: Diary) -> None:
    diary.schedule(Rank.FLUSH, 2, "flush")
    diary.schedule(Rank.EVENT, 2, "event")
    diary.schedule(Rank.PERMIT, 1, "permit")
    diary.schedule(Rank.END, 2, "end", "pod")
    assert diary.instants() == ["1: permit", "2: end event flush"]


def test_what_becomes_due_after_the_turn_of_its_rank_has_the_next_turn(diary: Diary) -> None:
    def event() -> None:
        diary.lines.append("event")
        diary.schedule(Rank.END, 1, "end", "pod")
        diary.schedule(Rank.FLUSH, 1, "flush")

    diary.agenda.schedule(Rank.EVENT, 1, event)
    diary.schedule(Rank.PERMIT, 1, "permit")
    assert diary.instants() == ["1: event flush permit", "1: end"]


def test_a_source_may_move_its_turn_or_have_none(diary: Diary) -> None:
    agenda = diary.agenda
    diary.schedule(Rank.EVENT, 1, "event")
    for at in (2, 4, 3):
        agenda.move(Rank.SCALE, at, diary.write(f"scan-{at}"))
    agenda.move(Rank.ALARM, 2, diary.write("alarm"))
    agenda.move(Rank.ALARM, None, diary.write("alarm"))
    assert diary.instants() == ["1: event", "3: scan-3"]


def test_only_attempts_are_left_once_nothing_else_is_due(diary: Diary) -> None:
    diary.schedule(Rank.FLUSH, 9, "flush")
    diary.schedule(Rank.END, 1, "end", "pod")
    assert not diary.agenda.only_retries
    diary.agenda.cancel(Rank.END, "pod")
    assert diary.agenda.only_retries
