"""Pods that wait alike, as one."""

from __future__ import annotations

from ksched_cli.cluster.objects import ObjectMeta, Pod, PodSpec
from ksched_cli.cluster.pod_info import PodCatalog
from ksched_cli.engine.replay.queued_pod import EquivalenceClass, QueuedPodInfo, QueuePlace

CATALOG = PodCatalog()
SPEC = PodSpec()
FIT, PORTS = frozenset({"NodeResourcesFit"}), frozenset({"NodePorts"})
NO_PLUGIN: frozenset[str] = frozenset()


def queued(name: str, sequence: int) -> QueuedPodInfo:
    pod = CATALOG.info(Pod(ObjectMeta(name, "default", name), SPEC))
    return QueuedPodInfo(0, sequence, pod=pod, attempts=1, unschedulable_count=1, repeats=True)


def class_of(*pods: QueuedPodInfo) -> EquivalenceClass:
    alike = EquivalenceClass.of(pods[0], None)
    for pod in pods[1:]:
        alike.add(pod)
    return alike


def names(alike: EquivalenceClass) -> list[str]:
    return [member.pod.name for member in alike]


def test_members_are_in_order_of_their_sequences_whenever_they_came() -> None:
    alike = class_of(queued("b", 2), queued("c", 5), queued("a", 1))
    assert (len(alike), names(alike)) == (3, ["a", "b", "c"])
    alike.begin_with_first()
    assert (alike.pod.name, alike.sequence, alike.last_sequence) == ("a", 1, 5)


def test_what_happened_to_all_is_written_into_a_member_that_leaves() -> None:
    notes: list[tuple[str, int, str]] = []
    pods = queued("a", 1), queued("b", 2)
    alike = EquivalenceClass.of(pods[0], lambda *note: notes.append(note))
    alike.reject(5, PORTS, NO_PLUGIN, "no port")
    alike.add(pods[1])  # came after the first rejection
    alike.reject(9, FIT, NO_PLUGIN, "no room")
    alike.move_behind(10)
    first, second = alike.take(), alike.take()
    assert (first.attempts, first.unschedulable_count, first.sequence) == (3, 3, 11)
    assert (second.attempts, second.unschedulable_count, second.sequence) == (2, 2, 12)
    assert (first.timestamp, first.unschedulable_plugins, first.message) == (9, FIT, "no room")
    assert (first.is_member, first.place, len(alike)) == (False, QueuePlace.NOWHERE, 0)
    assert notes == [("default/a", 2, "no room"), ("default/b", 1, "no room")]


def test_a_refreshed_member_stays_and_is_not_counted_twice() -> None:
    first, second = queued("a", 1), queued("b", 2)
    alike = class_of(first, second)
    alike.place = QueuePlace.BACKOFF
    alike.reject(5, FIT, NO_PLUGIN, "")
    alike.refresh()
    alike.refresh()
    assert (first.attempts, first.place, first.is_member) == (2, QueuePlace.BACKOFF, True)
    alike.reject(6, FIT, NO_PLUGIN, "")
    assert alike.take(1) is second
    assert (second.attempts, names(alike)) == (3, ["a"])


def test_a_split_leaves_the_later_members() -> None:
    alike = class_of(*(queued(name, ord(name)) for name in "abcd"))
    alike.move_behind(100)
    part = alike.split(100 + ord("c"))
    assert part is not None
    assert (names(part), names(alike)) == (["a", "b"], ["c", "d"])
    assert (alike.sequence, part.last_sequence) == (100 + ord("c"), 100 + ord("b"))
    assert alike.split(1_000) is None


def test_classes_with_other_pasts_become_one() -> None:
    first, second = queued("a", 1), queued("b", 2)
    older, younger = class_of(first), class_of(second)
    for alike in (older, older, younger):
        alike.reject(5, FIT, NO_PLUGIN, "")
    younger.move_behind(7)
    older.add(younger)
    assert [sequence for sequence, _ in older.by_sequence()] == [1, 9]
    older.refresh()
    assert (first.attempts, second.attempts) == (3, 2)


def test_a_member_is_found_and_dissolved_members_are_on_their_own() -> None:
    first, second, stranger = queued("a", 1), queued("b", 2), queued("c", 3)
    alike = class_of(first, second)
    assert (alike.index_of(second), alike.index_of(stranger)) == (1, None)
    alike.dissolve()
    assert (len(alike), second.is_member, second.place) == (0, False, QueuePlace.NOWHERE)
