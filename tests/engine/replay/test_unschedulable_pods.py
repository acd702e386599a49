"""Unschedulable pods: their groups, and when they are flushed."""

from __future__ import annotations

import pytest

from ksched_cli.cluster.objects import ObjectMeta, Pod, PodSpec
from ksched_cli.cluster.pod_info import PodCatalog
from ksched_cli.engine.replay.queued_pod import EquivalenceClass, QueuedPodInfo, QueuePlace
from ksched_cli.engine.replay.sub_queues import UnschedulablePods
from ksched_cli.kube.versions import release_of

CATALOG = PodCatalog()
SPEC = PodSpec()
SECOND = 1_000_000


def queued(name: str, timestamp: int = 0) -> QueuedPodInfo:
    pod = CATALOG.info(Pod(ObjectMeta(name, "default", uid=name), SPEC))
    return QueuedPodInfo(timestamp, ord(name), pod=pod, place=QueuePlace.UNSCHEDULABLE)


def test_pods_alike_are_in_one_group() -> None:
    pods, first, second, other = UnschedulablePods(), queued("a"), queued("b"), queued("c")
    other.unschedulable_plugins = frozenset({"NodePorts"})
    for pod in (first, second, other):
        pods.add(pod)
    assert [sorted(map(str, group)) for group in pods.groups()] == [["a", "b"], ["c"]]
    pods.remove(first)
    other.unschedulable_plugins = frozenset()  # leaves the group that it came into
    pods.remove(other)
    assert list(pods) == [second]


def test_pods_rejected_together_are_one_class_when_their_backoff_is_as_long() -> None:
    pods = UnschedulablePods(longest_after=3, forms_classes=True)
    waiting = [queued(name) for name in "abcdef"]
    for pod, rejections in zip(waiting, (1, 1, 2, 3, 4, 5), strict=True):
        pod.repeats, pod.unschedulable_count = True, rejections
    waiting[5].repeats = False
    for pod in waiting:
        pods.add(pod)
    sizes = [len(each) if isinstance(each, EquivalenceClass) else 1 for each in pods]
    assert (sorted(sizes), len(pods.keys)) == ([1, 1, 2, 2], 4)  # a b, c, d e, f
    assert len(pods.take_overdue(330 * SECOND)) == 4


def test_a_class_takes_in_the_pod_and_the_class_that_are_there() -> None:
    pods = UnschedulablePods(forms_classes=True)
    single, first, second = queued("a"), queued("b"), queued("c")
    for pod in (single, first, second):
        pod.repeats = True
    pods.add(single)
    pods.add(EquivalenceClass.of(second, None))
    pods.add(EquivalenceClass.of(first, None))
    (alike,) = pods
    assert isinstance(alike, EquivalenceClass)
    assert [pod.pod.name for pod in alike] == ["a", "b", "c"]


def test_a_pod_is_flushed_at_the_first_tick_after_more_than_five_minutes() -> None:
    pods = UnschedulablePods()
    pod = queued("a")
    pods.add(pod)
    assert pods.next_flush() == 330 * SECOND
    assert pods.take_overdue(300 * SECOND) == []
    assert pods.take_overdue(330 * SECOND) == [pod]
    assert pods.next_flush() is None


def test_a_pod_that_has_moved_or_is_gated_is_not_flushed() -> None:
    pods, pod, gated = (
        UnschedulablePods(rules=release_of("1.36").rules),
        queued("a", 1),
        queued("b"),
    )
    gated.gating_plugin = "SchedulingGates"
    pods.add(pod)
    pods.add(gated)
    assert pods.next_flush() == 330 * SECOND
    pod.entry += 1
    assert pods.next_flush() is None


@pytest.mark.parametrize(("release", "again"), [("1.35.8", 360), ("1.36.4", 660), ("1.37", 660)])
def test_a_gated_pod_is_flushed_again(release: str, again: int) -> None:
    pods, gated = UnschedulablePods(rules=release_of(release).rules), queued("a")
    gated.gating_plugin = "SchedulingGates"
    pods.add(gated)
    assert pods.take_overdue(330 * SECOND) == [gated]
    pods.remove(gated)
    pods.add(gated)
    assert pods.next_flush() == again * SECOND
