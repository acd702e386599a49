"""What the queue is sorted by."""

from __future__ import annotations

from pathlib import Path

from ksched_cli.engine.replay.queued_pod import QueuedPodInfo, sort_key
from ksched_cli.engine.replay.records import ReplayClock
from ksched_cli.framework.interface import QueuedPod, QueueSortPlugin
from ksched_cli.framework.runtime import Framework
from tests.replays import cluster_of, node, pod, state_of


class ByName(QueueSortPlugin):
    name = "ByName"

    def less(self, a: QueuedPod, b: QueuedPod) -> bool:
        return a.pod.name < b.pod.name


def keys(folder: Path, *, foreign: bool = False) -> tuple[Framework, list[QueuedPodInfo]]:
    cluster = cluster_of(state_of(folder, node("n"), pod("b", priority=3), pod("a"), pod("c")))
    framework = next(iter(cluster.engine.frameworks.values()))
    if foreign:
        framework.queue_sort, framework.sort_key = ByName(None, framework.handle), None
    pending = cluster.engine.pending()
    return framework, [QueuedPodInfo(0, number, pod=info) for number, info in enumerate(pending)]


def test_pods_are_sorted_by_priority_then_time_then_sequence(tmp_path: Path) -> None:
    framework, pods = keys(tmp_path)
    pods[1].timestamp = 5
    ordered = sorted(pods, key=lambda queued: sort_key(queued, framework, ReplayClock()))
    assert [queued.pod.name for queued in ordered] == ["b", "c", "a"]


def test_a_plugin_from_outside_compares_pods_and_the_sequence_decides_ties(tmp_path: Path) -> None:
    framework, pods = keys(tmp_path, foreign=True)
    again = QueuedPodInfo(0, 9, pod=pods[0].pod)
    ordered = sorted([again, *pods], key=lambda queued: sort_key(queued, framework, ReplayClock()))
    assert [(queued.pod.name, queued.sequence) for queued in ordered] == [
        ("a", 1),
        ("b", 0),
        ("b", 9),
        ("c", 2),
    ]
