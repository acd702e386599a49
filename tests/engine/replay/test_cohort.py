"""Pods that wait alike, as one."""

from __future__ import annotations

from ksched_cli.cluster.objects import ObjectMeta, Pod, PodSpec
from ksched_cli.cluster.pod_info import PodCatalog
from ksched_cli.engine.replay.cohort import Cohort
from ksched_cli.engine.replay.queued_pod import Place, QueuedPodInfo

CATALOG = PodCatalog()
SPEC = PodSpec()
FIT, PORTS = frozenset({"NodeResourcesFit"}), frozenset({"NodePorts"})
NO_PLUGIN: frozenset[str] = frozenset()


def queued(name: str, sequence: int) -> QueuedPodInfo:
    pod = CATALOG.info(Pod(ObjectMeta(name, "default", name), SPEC))
    return QueuedPodInfo(pod, 0, sequence, attempts=1, unschedulable_count=1, repeats=True)


def cohort_of(*pods: QueuedPodInfo) -> Cohort:
    cohort = Cohort.of(pods[0], None)
    for pod in pods[1:]:
        cohort.add(pod)
    return cohort


def names(cohort: Cohort) -> list[str]:
    return [member.pod.name for member in cohort]


def test_members_are_in_order_of_their_sequences_whenever_they_came() -> None:
    cohort = cohort_of(queued("b", 2), queued("c", 5), queued("a", 1))
    assert (len(cohort), names(cohort)) == (3, ["a", "b", "c"])
    cohort.begin_with_first()
    assert (cohort.pod.name, cohort.sequence, cohort.last_sequence) == ("a", 1, 5)


def test_what_happened_to_all_is_written_into_a_member_that_leaves() -> None:
    notes: list[tuple[str, int, str]] = []
    pods = queued("a", 1), queued("b", 2)
    cohort = Cohort.of(pods[0], lambda *note: notes.append(note))
    cohort.reject(5, PORTS, NO_PLUGIN, "no port")
    cohort.add(pods[1])  # came after the first rejection
    cohort.reject(9, FIT, NO_PLUGIN, "no room")
    cohort.move_behind(10)
    first, second = cohort.take(), cohort.take()
    assert (first.attempts, first.unschedulable_count, first.sequence) == (3, 3, 11)
    assert (second.attempts, second.unschedulable_count, second.sequence) == (2, 2, 12)
    assert (first.timestamp, first.unschedulable_plugins, first.message) == (9, FIT, "no room")
    assert (first.is_member, first.place, len(cohort)) == (False, Place.NOWHERE, 0)
    assert notes == [("default/a", 2, "no room"), ("default/b", 1, "no room")]


def test_a_refreshed_member_stays_and_is_not_counted_twice() -> None:
    first, second = queued("a", 1), queued("b", 2)
    cohort = cohort_of(first, second)
    cohort.place = Place.BACKOFF
    cohort.reject(5, FIT, NO_PLUGIN, "")
    cohort.refresh()
    cohort.refresh()
    assert (first.attempts, first.place, first.is_member) == (2, Place.BACKOFF, True)
    cohort.reject(6, FIT, NO_PLUGIN, "")
    assert cohort.take(1) is second
    assert (second.attempts, names(cohort)) == (3, ["a"])


def test_a_split_leaves_the_later_members() -> None:
    cohort = cohort_of(*(queued(name, ord(name)) for name in "abcd"))
    cohort.move_behind(100)
    part = cohort.split(100 + ord("c"))
    assert part is not None
    assert (names(part), names(cohort)) == (["a", "b"], ["c", "d"])
    assert (cohort.sequence, part.last_sequence) == (100 + ord("c"), 100 + ord("b"))
    assert cohort.split(1_000) is None


def test_cohorts_with_other_pasts_become_one() -> None:
    first, second = queued("a", 1), queued("b", 2)
    older, younger = cohort_of(first), cohort_of(second)
    for cohort in (older, older, younger):
        cohort.reject(5, FIT, NO_PLUGIN, "")
    younger.move_behind(7)
    older.add(younger)
    assert [sequence for sequence, _ in older.by_sequence()] == [1, 9]
    older.refresh()
    assert (first.attempts, second.attempts) == (3, 2)


def test_a_member_is_found_and_dissolved_members_are_on_their_own() -> None:
    first, second, stranger = queued("a", 1), queued("b", 2), queued("c", 3)
    cohort = cohort_of(first, second)
    assert (cohort.index_of(second), cohort.index_of(stranger)) == (1, None)
    cohort.dissolve()
    assert (len(cohort), second.is_member, second.place) == (0, False, Place.NOWHERE)
