"""Victims of preemption that come again. `low` runs for 100 s from 0 on; `high` evicts it at 40,
which takes 10 s, and runs for 30 s from 50 on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.replays import Plain, node, pod, replay_of, tries

EVENTS: list[Plain] = [
    {"at": 0, "pod": pod("low", terminationGracePeriodSeconds=10), "runsFor": 100},
    {"at": 40, "pod": pod("high", priority=9), "runsFor": 30},
]


@pytest.mark.parametrize(
    ("evicted", "again", "end"),
    [
        ("gone", [], 80),
        # It comes again at 50, and is placed when `high` ends.
        ("restarts", [(50, "low", "unschedulable"), (80, "low", "a")], 180),
        # 50 of its 100 s are done.
        ("resumes", [(50, "low", "unschedulable"), (80, "low", "a")], 130),
    ],
)
def test_a_victim_is_gone_restarts_or_resumes(
    tmp_path: Path, evicted: str, again: list[tuple[float, str, str]], end: int
) -> None:
    run = replay_of(tmp_path, [node("a")], EVENTS, evicted=evicted)
    run.run()
    assert [each for each in tries(run) if each[1] == "low"] == [(0, "low", "a"), *again]
    assert run.clock.now == end * 1_000_000
    assert run.log.counts.evicted == 1
    # From its first creation to its end.
    expected = [40_000_000] + [end * 1_000_000] * bool(again)
    assert sorted(run.log.completions) == expected
