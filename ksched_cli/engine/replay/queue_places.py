"""Where the pods of the queue are, and cohorts in place of their members.

Upstream: pkg/scheduler/backend/queue has a type per place (activeQueue, backoffQueue,
unschedulablePods).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.replay.backoff import Backoff
from ksched_cli.engine.replay.cohort import Cohort, OnRejections
from ksched_cli.engine.replay.pod_heaps import PodHeaps
from ksched_cli.engine.replay.queue_order import Time, sort_key
from ksched_cli.engine.replay.queued_pod import Place, QueuedPodInfo
from ksched_cli.engine.replay.unschedulable_pods import UnschedulablePods
from ksched_cli.framework.runtime import Framework

# Whether the pod would be rejected as one alike just was.
IsRejected = Callable[[PodInfo], bool]

RETRIES = (Place.BACKOFF, Place.ERROR_BACKOFF)


class QueuePlaces:
    """framework: whose QueueSort plugin sorts the pods"""

    def __init__(
        self,
        framework: Framework,
        backoff: Backoff,
        clock: Time,
        on_rejections: OnRejections | None = None,
    ) -> None:
        self.framework = framework
        self.heaps = PodHeaps((Place.ACTIVE, *RETRIES))
        self.unschedulable = UnschedulablePods(
            backoff.longest_after(),
            on_rejections,
            forms_cohorts=framework.sort_key is not None,
        )
        self._backoff = backoff
        self._clock = clock

    def put(self, queued: QueuedPodInfo, place: Place) -> None:
        """Takes the pod out of the place where it is, and into another."""
        if queued.is_member:
            self._leave_cohort(queued)
        elif queued.place is Place.UNSCHEDULABLE:
            self.unschedulable.remove(queued)
        queued.entry += 1
        queued.place = place
        if place is Place.UNSCHEDULABLE:
            self.unschedulable.add(queued)
        elif place is not Place.NOWHERE:
            if isinstance(queued, Cohort):
                queued.begin_with_first()
            key = sort_key(queued, self.framework, self._clock)
            if place is not Place.ACTIVE:
                key = (self._backoff.expiration(queued), key[0]), key[1]
            self.heaps.push(place, key, queued)

    def take(self, place: Place) -> QueuedPodInfo | None:
        """The first pod of a heap, which is in no place then."""
        queued = self.heaps.take(place)
        if not isinstance(queued, Cohort):
            return queued
        first = queued.take()
        if len(queued):
            self.put(queued, place)
        return first

    # -- cohorts ----------------------------------------------------------------------------------

    def cohorts(self) -> Iterator[Cohort]:
        for place in (self.unschedulable, self.heaps):
            yield from (queued for queued in place if isinstance(queued, Cohort))

    def dissolve_cohorts(self) -> None:
        """Their members, which must be refreshed, are in no place then."""
        for cohort in list(self.cohorts()):
            self.put(cohort, Place.NOWHERE)
            cohort.dissolve()

    def place_of(self, queued: QueuedPodInfo) -> Place:
        return self._cohort_of(queued).place if queued.is_member else queued.place

    def _cohort_of(self, queued: QueuedPodInfo) -> Cohort:
        signature = queued.pod.signature
        alike = (cohort for cohort in self.cohorts() if cohort.pod.signature == signature)
        return next(cohort for cohort in alike if cohort.index_of(queued) is not None)

    def _leave_cohort(self, queued: QueuedPodInfo) -> None:
        cohort = self._cohort_of(queued)
        place = cohort.place
        self.put(cohort, Place.NOWHERE)
        cohort.take(cohort.index_of(queued) or 0)
        if len(cohort):
            self.put(cohort, place)

    def take_rejected(
        self, place: Place, is_rejected: IsRejected, sequence: int
    ) -> tuple[list[Cohort], int]:
        """The first cohorts of a heap that would be rejected, as far as they come before any other
        pod.

        sequence: that was given last; their members get greater ones, in order. Returns the last of
        these, too
        """
        taken, limit = self.heaps.take_while(
            place, lambda queued: isinstance(queued, Cohort) and is_rejected(queued.pod)
        )
        rejected: list[Cohort] = []
        for head, alike in groupby(taken, lambda pair: pair[0][0]):
            cohorts = [cohort for _, cohort in alike if isinstance(cohort, Cohort)]
            if limit is not None and limit[0] == head:
                cohorts = [self._split(cohort, limit[1], place) for cohort in cohorts]
            behind = sequence + 1 - min(cohort.sequence for cohort in cohorts)
            for cohort in cohorts:
                cohort.move_behind(behind)
            sequence = max(cohort.last_sequence for cohort in cohorts)
            rejected += cohorts
        return rejected, sequence

    def _split(self, cohort: Cohort, sequence: int, place: Place) -> Cohort:
        """The members before that sequence; the others go back."""
        part = cohort.split(sequence)
        if part is None:
            return cohort
        self.put(cohort, place)
        return part
