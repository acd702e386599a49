"""Where the pods of the queue are, and classes in place of their members."""

from __future__ import annotations

from pathlib import Path

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.replay.queued_pod import Backoff, EquivalenceClass, QueuedPodInfo, QueuePlace
from ksched_cli.engine.replay.records import ReplayClock
from ksched_cli.engine.replay.sub_queues import SubQueues
from tests.replays import cluster_of, node, pod, state_of

SECOND = 1_000_000
FIT = frozenset({"NodeResourcesFit"})


class Bench:
    """Pods of two kinds, which were rejected in this order: s0 l1 s2 l3 s4 l5."""

    def __init__(self, folder: Path) -> None:
        names = ("s0", "l1", "s2", "l3", "s4", "l5")
        pods = [pod(name, "1" if name < "m" else "2") for name in names]
        cluster = cluster_of(state_of(folder, node("n"), *pods))
        framework = next(iter(cluster.engine.frameworks.values()))
        self.places = SubQueues(framework, Backoff(SECOND, 10 * SECOND, True), ReplayClock())
        self.pods = {}
        for sequence, info in enumerate(cluster.engine.pending(), start=1):
            queued = QueuedPodInfo(
                0, sequence, info, attempts=1, unschedulable_count=1,
                unschedulable_plugins=FIT, repeats=True,
            )  # fmt: skip
            self.pods[info.name] = queued
            self.places.put(queued, QueuePlace.UNSCHEDULABLE)

    def to_backoff(self) -> None:
        for alike in list(self.places.classes()):
            self.places.put(alike, QueuePlace.BACKOFF)

    def rejected(self, *kinds: str) -> list[list[str]]:
        """The names of members of the classes that are rejected, by class."""

        def is_rejected(info: PodInfo) -> bool:
            return info.name[0] in kinds

        classes, _ = self.places.take_rejected(QueuePlace.BACKOFF, is_rejected, 6)
        return [[member.pod.name for member in alike] for alike in classes]


def test_pods_alike_are_taken_from_their_classes_in_the_order_of_all(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    assert len(list(bench.places.classes())) == 2
    bench.to_backoff()
    taken = iter(lambda: bench.places.take(QueuePlace.BACKOFF), None)
    assert [queued.pod.name for queued in taken] == ["s0", "l1", "s2", "l3", "s4", "l5"]
    assert not list(bench.places.classes())


def test_pods_are_rejected_up_to_the_first_that_may_fit(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.to_backoff()
    assert bench.rejected("s") == [["s0"]]
    assert bench.rejected("l", "s") == [["l1", "l3", "l5"], ["s2", "s4"]]


def test_rejected_pods_keep_their_order_behind_all_others(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.to_backoff()
    classes, last = bench.places.take_rejected(QueuePlace.BACKOFF, lambda info: True, 6)
    members = (member for alike in classes for member in alike.by_sequence())
    tried = sorted((sequence, queued.pod.name) for sequence, queued in members)
    assert [name for _, name in tried] == ["s0", "l1", "s2", "l3", "s4", "l5"]
    assert (tried[0][0], tried[-1][0], last) == (7, 12, 12)


def test_a_member_leaves_its_class_to_go_elsewhere(tmp_path: Path) -> None:
    bench, places = Bench(tmp_path), QueuePlace
    bench.to_backoff()
    middle = bench.pods["s2"]
    assert (middle.is_member, bench.places.place_of(middle)) == (True, places.BACKOFF)
    bench.places.put(middle, places.ACTIVE)
    assert (middle.is_member, bench.places.take(places.ACTIVE)) == (False, middle)
    bench.places.put(bench.pods["s0"], QueuePlace.NOWHERE)  # the first: its class has another key
    taken = iter(lambda: bench.places.take(places.BACKOFF), None)
    assert [queued.pod.name for queued in taken] == ["l1", "l3", "s4", "l5"]


def test_dissolved_classes_leave_no_trace(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    for alike in bench.places.classes():
        alike.refresh()
    bench.places.dissolve_classes()
    assert not list(bench.places.classes())
    assert len(bench.places.unschedulable.keys) == 0
    assert not any(isinstance(queued, EquivalenceClass) for queued in bench.places.heaps)
