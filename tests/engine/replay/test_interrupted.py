"""Replays that are interrupted: what has happened until then is the beginning of the whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import astuple

from ksched_cli.analysis.replay_result import replay_result
from ksched_cli.api import SUCCESS, CycleState, Handle, Nodes, PodInfo, PreFilterPlugin
from ksched_cli.engine.replay.replay import Replay
from tests.replays import Plain, node, pod, replay_of, tries

OBJECTS = [node("a"), node("b", "2"), pod("first", nodeName="a")]
EVENTS: list[Plain] = [
    *({"at": 0, "pod": pod(f"p{i}"), "runsFor": 40} for i in range(5)),
    {"at": 2, "pod": pod("high", "2", priority=9, terminationGracePeriodSeconds=3)},
    {"at": 9, "pod": pod("never", "7")},
    {"at": 20, "put": node("c")},
    {"at": 35, "delete": {"kind": "Node", "name": "a"}},
    {"at": 40, "change": "cordon b"},
]
SCALING = {"nodeGroups": [{"name": "g", "like": "b", "maxSize": 2, "provisioningDelay": 5}]}


class Counting(PreFilterPlugin):
    """Interrupts the replay in an attempt. left: how many times it is asked before"""

    name = "Counting"
    left = -1
    run: Replay

    def __init__(self, args: Any, handle: Handle) -> None:
        pass

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Any:
        if not Counting.left:
            Counting.run.interrupt()
        Counting.left -= 1
        return None, SUCCESS


def interrupted(folder: Path, attempts: int, **options: Any) -> Replay:
    """Interrupted in the attempt after so many; -1: not at all."""
    Counting.run = replay_of(folder, OBJECTS, EVENTS, plugins=[Counting], until=80, **options)
    Counting.left = attempts
    Counting.run.run()
    return Counting.run


@pytest.mark.parametrize("scaling", [pytest.param(None, marks=pytest.mark.slow), SCALING])
def test_an_attempt_is_the_last_and_those_before_are_as_they_were(
    tmp_path: Path, scaling: Plain | None
) -> None:
    whole = interrupted(tmp_path, -1, autoscaler=scaling)
    total = -1 - Counting.left
    assert total > 8
    for count in range(total):
        run = interrupted(tmp_path, count, autoscaler=scaling)
        assert run.is_interrupted
        attempts = [*map(astuple, run.log.attempts)]
        if count < 3:
            assert (len(attempts), Counting.left) == (count + 1, -1)
        assert attempts == [*map(astuple, whole.log.attempts)][: len(attempts)]
        assert run.clock.now <= whole.clock.now
        result = replay_result(run, "t")
        assert result.summary.placed == sum(each[2] == "scheduled" for each in attempts)
        assert len(run.log.records) >= len(run.pending())


def test_it_is_interrupted_between_the_events_of_an_instant(tmp_path: Path) -> None:
    run = replay_of(tmp_path, [node("a", "9")], EVENTS[:5])
    real, seen = run.events, []

    def events() -> Any:
        for event in real:
            seen.append(event)
            if len(seen) == 4:  # one is read ahead
                run.interrupt()
            yield event

    run.events = events()
    run.run()
    assert (run.log.counts.events, tries(run)) == (3, [])
    assert run.pending() == ["default/p0", "default/p1", "default/p2"]


def test_it_is_interrupted_between_the_ends_of_an_instant(tmp_path: Path) -> None:
    run = replay_of(tmp_path, [node("a", "9")], EVENTS[:5])
    real, ended = run.scheduler.end, []

    def end(key: str, outcome: Any) -> None:
        real(key, outcome)
        ended.append(key)
        if len(ended) == 2:
            run.interrupt()

    run.scheduler.end = end  # type: ignore[method-assign]
    run.run()
    assert (run.log.counts.ended, run.clock.now) == (2, 40_000_000)
    assert len(run.cluster.bound) == 3


def test_the_time_until_its_end_is_not_waited_for(tmp_path: Path) -> None:
    run = interrupted(tmp_path, 0)
    assert run.clock.now == 0
