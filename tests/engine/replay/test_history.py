"""Waiting times and the history of a replay, kept compactly."""

from __future__ import annotations

from pathlib import Path

from ksched_cli.engine.replay.records import MAX_GROUPS, OTHERS, PodRecord, UsageRecorder, Waits
from tests.replays import cluster_of, node, pod, state_of


def test_there_are_only_so_many_groups() -> None:
    waits = Waits()
    for number in [*range(MAX_GROUPS + 5), 3]:
        waits.add(PodRecord("a/p", "a", 0, f"a/Job/{number}", 0, "a/p", {}), 7)
    assert len(waits.owner) == MAX_GROUPS + 1
    assert waits.owner[OTHERS].tolist() == [7] * 5
    assert waits.owner["a/Job/3"].tolist() == [7, 7]
    assert waits.namespace["a"].tolist() == [7] * (MAX_GROUPS + 6)


def test_a_moment_at_which_nothing_changes_takes_no_space(tmp_path: Path) -> None:
    cluster = cluster_of(state_of(tmp_path, node("a", "4"), pod("x", nodeName="a")))
    recorder = UsageRecorder(cluster.snapshot)
    for at, pending in ((0, 0), (5, 0), (7, 2), (9, 2)):
        recorder.note(at, cluster.snapshot, pending)
    cluster.remove("default/x")
    recorder.note(11, cluster.snapshot, 2)
    history = recorder.history
    assert history.times.tolist() == [0, 7, 11]
    assert history.pending.tolist() == [0, 2, 2]
    assert history.upto.tolist() == [1, 1, 2]
    assert history.requests.tolist() == [0, ~0]


def test_a_pod_that_was_only_tried_takes_no_space(tmp_path: Path) -> None:
    cluster = cluster_of(state_of(tmp_path, node("a", "4"), pod("x"), pod("y", nodeName="a")))
    recorder = UsageRecorder(cluster.snapshot)
    recorder.note(0, cluster.snapshot, 1)
    (waits,) = cluster.engine.pending()
    for at in (1, 2):
        cluster.snapshot.add(waits, 0)
        cluster.snapshot.remove(waits, 0)
        recorder.note(at, cluster.snapshot, 1)
    assert recorder.history.times.tolist() == [0]
    assert recorder.history.requests.tolist() == [0]
    cluster.remove("default/y")
    recorder.note(3, cluster.snapshot, 1)
    assert recorder.history.times.tolist() == [0, 3], "one that was there before did leave"
