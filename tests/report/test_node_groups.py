"""How many nodes there were, in words and numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from ksched_cli.analysis.replay_result import (
    GroupSize,
    NodeRange,
    replay_result,
    scaling_of,
    sizes_at,
)
from ksched_cli.answers import plain
from ksched_cli.engine.replay.records import NodeCountSeries
from ksched_cli.report.replay import hours_text, range_text
from tests.replays import node, pod, replay
from tests.report.schemas import shown

HOUR = 3_600_000_000


@pytest.mark.parametrize(
    ("steps", "text", "hours"),
    [
        ([(0, 3)], "3", "6"),
        ([(0, 1), (HOUR, 1200)], "1 → 1,200 → 1,200", "1,201"),
        ([(0, 5), (HOUR, 1)], "5 → 5 → 1", "6"),
        ([], "0", "0"),
    ],
)
def test_numbers_of_nodes_and_their_hours(
    steps: list[tuple[int, int]], text: str, hours: str
) -> None:
    counts = NodeCountSeries()
    for at, count in steps:
        counts.note(at, count)
    nodes = NodeRange.of(counts, 2 * HOUR)
    assert range_text(nodes) == text
    assert hours_text(counts.node_time_until(2 * HOUR) / HOUR) == hours


def test_a_few_minutes_are_not_no_hours() -> None:
    # One node for 150 s: 150 / 3,600 = 0.0417 hours.
    assert hours_text(150 / 3_600) == "0.042"
    assert (hours_text(0), hours_text(1), hours_text(1_234)) == ("0", "1", "1,234")


def test_sizes_hold_until_the_next_step() -> None:
    counts = NodeCountSeries([(5, 2), (9, 4)])
    assert sizes_at(counts, [0, 5, 8, 9, 100]) == [0, 2, 2, 4, 4]


def test_a_replay_without_an_autoscaler_has_its_nodes_alone(tmp_path: Path) -> None:
    run = replay(tmp_path, [node("n")], [{"at": 1800, "put": node("m")}], until=3600)
    assert NodeRange.of(run.nodes, run.clock.now) == NodeRange(1, 2, 2, 1.5)
    lines = shown(replay_result(run, "t"))
    assert lines[1] == "nodes 1 → 2 → 2, 1.5 node-hours"
    assert scaling_of(run) is None
    assert "Node groups" not in lines


def test_groups_have_their_sizes_and_what_was_added_and_removed(tmp_path: Path) -> None:
    events = [{"at": at, "pod": pod(f"p{at}"), "runsFor": 200} for at in range(2)]
    group = {"name": "g", "like": "n", "maxSize": 2}
    run = replay(tmp_path, [node("n")], events, autoscaler={"nodeGroups": [group]})
    scaling = scaling_of(run)
    assert scaling is not None
    assert scaling.groups[0].sizes == (
        GroupSize(0, 0),
        GroupSize(130, 1),
        GroupSize(930, 0),
    )
    assert plain(scaling.events[0]) == {
        "at": 10,
        "type": "ScaleUp",
        "group": "g",
        "reason": "pending pods",
        "nodes": ("g-1",),
        "pods": ("default/p1",),
    }
    assert "g 0 → 1 → 0 0.22 1 1" in shown(replay_result(run, "t"))
