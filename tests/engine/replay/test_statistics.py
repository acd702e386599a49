"""Waiting times and usage, in bounded space."""

from __future__ import annotations

from pathlib import Path

import pytest

from ksched_cli.engine.replay.statistics import (
    MAX_GROUPS,
    MAX_SAMPLES,
    OTHERS,
    UsageCurve,
    WaitingGroups,
    WaitingTimes,
    sample,
)
from tests.replays import cluster_of, node, pod, state_of


def test_percentiles_are_of_the_times_to_three_digits() -> None:
    times = WaitingTimes()
    for waited in range(1, 1001):
        times.add(waited * 1000)
    assert (times.count, times.mean, times.longest) == (1000, 500_500, 1_000_000)
    assert times.percentiles((0.5, 0.9, 1.0)) == [500_000, 900_000, 1_000_000]
    times = WaitingTimes()
    times.add(123_456)
    assert times.percentiles((0.5,)) == [123_000]
    assert WaitingTimes().percentiles((0.5,)) == [0]


def test_there_are_only_so_many_groups() -> None:
    groups = WaitingGroups()
    for number in range(MAX_GROUPS + 5):
        groups.add(str(number), 1)
    groups.add("3", 1)
    assert len(groups.groups) == MAX_GROUPS + 1
    assert groups.groups[OTHERS].count == 5
    assert groups.groups["3"].count == 2


def test_a_sample_says_how_full_nodes_are_and_what_is_stranded(tmp_path: Path) -> None:
    state = state_of(
        tmp_path, node("a", "4"), node("b", "4"), pod("x", "3", nodeName="a"), pod("y", "1")
    )
    usage = sample(7, cluster_of(state).snapshot, 1)
    assert (usage.at, usage.nodes, usage.pods, usage.pending) == (7, 2, 1, 1)
    assert usage.utilization["cpu"] == 3 / 8
    # A pod of three cores has room on b alone, where four of five free cores are.
    assert usage.fragmentation["cpu"] == pytest.approx(1 / 5)


def test_a_long_curve_is_thinned_out(tmp_path: Path) -> None:
    snapshot = cluster_of(state_of(tmp_path, node("a"))).snapshot
    curve = UsageCurve(interval=1)
    for at in range(5 * MAX_SAMPLES):
        curve.note(at, snapshot, 0)
    assert len(curve.samples) <= MAX_SAMPLES + 1
    curve.finish(5 * MAX_SAMPLES, snapshot, 3)
    assert curve.samples[-1].pending == 3
