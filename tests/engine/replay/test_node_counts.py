"""How many nodes there were over time."""

from __future__ import annotations

from ksched_cli.engine.replay.records import NodeCountSeries


def test_the_time_of_each_node_is_summed() -> None:
    counts = NodeCountSeries()
    for at, count in ((0, 2), (5, 2), (10, 5), (12, 1)):
        counts.note(at, count)
    assert (counts.first, counts.most, counts.last) == (2, 5, 1)
    assert counts.steps == [(0, 2), (10, 5), (12, 1)]
    assert counts.node_time_until(20) == 10 * 2 + 2 * 5 + 8 * 1


def test_of_one_instant_the_last_number_counts() -> None:
    counts = NodeCountSeries()
    for at, count in ((0, 1), (4, 9), (4, 2)):
        counts.note(at, count)
    assert counts.steps == [(0, 1), (4, 2)]
    assert counts.node_time_until(5) == 4 * 1 + 1 * 2


def test_without_nodes_there_is_no_time() -> None:
    counts = NodeCountSeries()
    assert (counts.first, counts.most, counts.last) == (0, 0, 0)
    assert counts.node_time_until(9) == 0
