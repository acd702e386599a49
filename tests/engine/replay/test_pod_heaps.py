"""The heaps of the queue."""

from __future__ import annotations

from ksched_cli.cluster.objects import ObjectMeta, Pod, PodSpec
from ksched_cli.cluster.pod_info import PodCatalog
from ksched_cli.engine.replay.queued_pod import QueuedPodInfo, QueuePlace
from ksched_cli.engine.replay.sub_queues import PodHeaps

CATALOG = PodCatalog()
SPEC = PodSpec()


def queued(name: str) -> QueuedPodInfo:
    return QueuedPodInfo(0, 0, pod=CATALOG.info(Pod(ObjectMeta(name, "default", uid=name), SPEC)))


def filled(*pods: QueuedPodInfo) -> PodHeaps:
    heaps = PodHeaps((QueuePlace.ACTIVE, QueuePlace.BACKOFF))
    for pod in pods:
        pod.place = QueuePlace.ACTIVE
        heaps.push(QueuePlace.ACTIVE, (pod.pod.name, 0), pod)
    return heaps


def test_pods_are_taken_in_order_of_their_keys() -> None:
    second, first = queued("b"), queued("a")
    heaps = filled(second, first)
    assert heaps.peek(QueuePlace.ACTIVE) is first
    assert [heaps.take(QueuePlace.ACTIVE), heaps.take(QueuePlace.ACTIVE)] == [first, second]
    assert heaps.take(QueuePlace.ACTIVE) is None
    assert heaps.peek(QueuePlace.BACKOFF) is None
    assert first.place is QueuePlace.NOWHERE


def test_a_pod_that_has_moved_is_passed_over() -> None:
    moved, other = queued("a"), queued("b")
    heaps = filled(moved, other)
    moved.entry += 1
    assert list(heaps) == [other]
    assert heaps.take(QueuePlace.ACTIVE) is other


def test_keys_may_be_equal() -> None:
    heaps = filled(queued("a"), queued("a"))
    assert heaps.take(QueuePlace.ACTIVE) is not heaps.take(QueuePlace.ACTIVE)


def test_the_first_are_taken_as_long_as_they_are_accepted() -> None:
    first, second, third = queued("a"), queued("b"), queued("c")
    heaps = filled(third, second, first)
    taken, limit = heaps.take_while(QueuePlace.ACTIVE, lambda pod: pod is not third)
    assert ([pod for _, pod in taken], limit) == ([first, second], ("c", 0))
    assert heaps.take_while(QueuePlace.ACTIVE, lambda pod: True) == ([(("c", 0), third)], None)
