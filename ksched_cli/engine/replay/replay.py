"""A replay: a timeline's events in simulated time, from one eventful instant to the next.

At an instant, what is due happens in the order of `Rank`; then pods are tried until none is left,
in turns with the controllers of workloads that are rolled out. An attempt takes no time.

A node is billed from when the autoscaler asked for it, or from when it joined, until it leaves. Its
price is that of its labels as it joined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import TypeAlias

from msgspec import Struct

from ksched_cli.cluster.loading.gc_control import gc_rare
from ksched_cli.cluster.objects import Node
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.queue import seconds, why_ignored
from ksched_cli.engine.replay.agenda import (
    ALARM,
    EVENT,
    FLUSH,
    OUTAGE,
    PERMIT,
    ROLLOUT,
    SCALE,
    Agenda,
)
from ksched_cli.engine.replay.autoscaler.autoscaler import Autoscaler
from ksched_cli.engine.replay.event_applier import EventApplier
from ksched_cli.engine.replay.queued_pod import Backoff, QueuePlace
from ksched_cli.engine.replay.records import (
    NodeCountSeries,
    PodLog,
    PodOutcome,
    Recreation,
    ReplayClock,
    UsageRecorder,
)
from ksched_cli.engine.replay.replay_cluster import ReplayCluster
from ksched_cli.engine.replay.replay_scheduler import ReplayScheduler
from ksched_cli.engine.replay.scheduling_queue import SchedulingQueue
from ksched_cli.framework.cluster_events import EVERYTHING
from ksched_cli.kube.time import SECOND
from ksched_cli.scenario.node_groups import AutoscalerSettings, NodeGroup
from ksched_cli.scenario.pod_work import PodWork
from ksched_cli.scenario.prices import NO_PRICES, Prices
from ksched_cli.scenario.timeline import TimelineEvent


class NodeBill(Struct):
    """A node's time, in microseconds.

    price:   the name of its price; "" where none applies to it
    minimum: it is billed for so long at least
    until:   None while it is there
    """

    price: str
    per_hour: float
    since: int
    minimum: int
    until: int | None = None

    def time_until(self, at: int) -> int:
        """Return the billed time at a moment that is not before `since`."""
        end = at if self.until is None else min(at, self.until)
        return max(end - self.since, self.minimum)


@dataclass(slots=True)
class NodeBiller:
    """Follows the nodes of a replay, and writes their bills.

    _open: of existing and requested nodes, by name; _closed: of those that left
    """

    prices: Prices
    autoscaler: Autoscaler | None
    _open: dict[str, NodeBill] = field(default_factory=dict)
    _closed: list[NodeBill] = field(default_factory=list)
    _snapshot: Snapshot | None = None
    _upcoming: tuple[str, ...] = ()

    @property
    def bills(self) -> list[NodeBill]:
        """Return every bill, those of nodes that left first."""
        return [*self._closed, *self._open.values()]

    def note(self, at: int, snapshot: Snapshot, *, is_start: bool = False) -> None:
        """All that happens at a time has happened. is_start: the nodes have been there for long, so
        that their minimum billing is over"""
        autoscaler = self.autoscaler
        requested = autoscaler.state.upcoming if autoscaler is not None else []
        names = tuple(node.name for node in requested)
        if snapshot is self._snapshot and names == self._upcoming:
            return
        self._snapshot, self._upcoming = snapshot, names
        present = snapshot.row.keys() | set(names)
        for name in [name for name in self._open if name not in present]:
            bill = self._open.pop(name)
            bill.until = at
            self._closed.append(bill)
        for node in snapshot.nodes:
            if node.name not in self._open:
                group = None if autoscaler is None else autoscaler.group_of(node)
                self._open[node.name] = self._bill(at, node, group, is_start)
        for upcoming in requested:
            if upcoming.name not in self._open:
                assert autoscaler is not None
                group = autoscaler.groups[upcoming.group]
                node = group.new_node(upcoming.name)
                self._open[upcoming.name] = self._bill(at, node, group, False)

    def _bill(self, at: int, node: Node, group: NodeGroup | None, is_start: bool) -> NodeBill:
        price = self.prices.of_node(node) if group is None else group.node_price(node, self.prices)
        if price is None:
            return NodeBill("", 0.0, at, 0)
        minimum = 0 if is_start else price.price.minimum_billing
        return NodeBill(price.name, price.price.per_hour, at, minimum)


# Upstream: maxTimeout of framework/runtime, 15 minutes, and
# DefaultPodMaxInUnschedulablePodsDuration, 5.
_IN_VAIN = 20 * 60 * SECOND
_MAX_RUNG = 100
# Called between two instants.
OnInstant: TypeAlias = "Callable[[Replay], None]"
# Takes the time, too: microseconds after the start.
OnLook: TypeAlias = "Callable[[Replay, int], None]"


_YEAR_3000 = 32_503_680_000  # in seconds since 1970


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """start: seconds since 1970; None: when the youngest pending pod of the state was created.
    until: microseconds after the start; None: when nothing can happen any more
    makes_pods: changes make the pods that workloads lack
    job_label, user_label: as those of PodLog
    evicts_at_once: as Scheduler.makes_room_at_once
    keeps_records: the log keeps those of pods that have left, too
    autoscaler: None: the cluster has the nodes that the state and the timeline give it
    on_end: called once nothing can happen any more, or the replay is interrupted
    recreation: of pods that preemption evicts
    run_times: of pods of the state, by key: microseconds until they end, from the start where they
               run already, else from their placement
    looks, on_look: microseconds after the start, in order, at which on_look is called with the
                    cluster as it is then; after the end it is called no more
    prices: of nodes; those of node groups come after them
    """

    start: int | None = None
    until: int | None = None
    makes_pods: bool = True
    evicts_at_once: bool = False
    job_label: str = ""
    user_label: str = ""
    traces: bool = False
    keeps_records: bool = False
    on_instant: OnInstant | None = None
    on_end: OnInstant | None = None
    autoscaler: AutoscalerSettings | None = None
    recreation: Recreation = Recreation.GONE
    run_times: Mapping[str, int] = field(default_factory=dict)
    prices: Prices = NO_PRICES
    looks: Iterator[int] = field(default_factory=lambda: iter(()))
    on_look: OnLook = lambda replay, at: None

    @property
    def has_prices(self) -> bool:
        groups = () if self.autoscaler is None else self.autoscaler.groups
        return bool(self.prices.listed) or any(group.price is not None for group in groups)


@dataclass(slots=True)
class Replay:
    """A replay under way.

    events:  of the timeline, in order of time
    nodes:   of the cluster, over time
    biller:  of its nodes, where any have a price
    _changed: when a pod ended or was bound, or an event happened, for the last time, or a pod was
              held at Permit for the first time since
    _length: how many pods ended or were bound, and events happened
    _held:   the pods that were held at Permit since the last of these
    _rung:   how many alarms of plugins rang since
    is_interrupted: it ends after this attempt, end or event, before its time
    share_read: how much of the timeline has been read, from 0 to 1
    """

    cluster: ReplayCluster
    events: Iterator[TimelineEvent]
    options: ReplayOptions = field(default_factory=ReplayOptions)
    clock: ReplayClock = field(init=False)
    queue: SchedulingQueue = field(init=False)
    log: PodLog = field(init=False)
    agenda: Agenda = field(init=False)
    scheduler: ReplayScheduler = field(init=False)
    usage: UsageRecorder = field(init=False)
    nodes: NodeCountSeries = field(default_factory=NodeCountSeries)
    autoscaler: Autoscaler | None = None
    biller: NodeBiller | None = None
    applier: EventApplier = field(init=False)
    _changed: int = 0
    _length: int = 0
    _held: set[str] = field(default_factory=set)
    _rung: int = 0
    is_interrupted: bool = False
    share_read: Callable[[], float] = float

    def __post_init__(self) -> None:
        engine = self.cluster.engine
        configuration = engine.configuration
        start = self.options.start
        if start is None:
            created = (seconds(pod.pod.metadata.creation_timestamp) for pod in engine.pending())
            # What happens later has to be in the calendar, too, which ends with the year 9999.
            start = min(int(max(created, default=0.0)), _YEAR_3000)
        self.clock = ReplayClock(start)
        self.agenda = Agenda(self.clock)
        backoff = Backoff(
            configuration.pod_initial_backoff_seconds * SECOND,
            configuration.pod_max_backoff_seconds * SECOND,
            configuration.release.enabled("SchedulerPopFromBackoffQ"),
        )
        self.log = PodLog(
            departed=[] if self.options.keeps_records else None,
            traces=self.options.traces,
            job_label=self.options.job_label,
            user_label=self.options.user_label,
            use_of=lambda pod: self.cluster.snapshot.use_of(pod),
        )
        self.queue = SchedulingQueue(
            engine.frameworks,
            backoff,
            self.clock,
            self.log.note_rejections,
            has_groups=engine.pod_groups is not None,
            groups=engine.queued_groups,
            has_extenders=bool(engine.extenders.extenders),
        )
        self.scheduler = ReplayScheduler(
            self.cluster,
            self.queue,
            self.agenda,
            self.log,
            self.clock,
            makes_room_at_once=self.options.evicts_at_once,
        )
        self.scheduler.recreation = self.options.recreation
        self.applier = EventApplier(
            self.cluster, self.queue, self.scheduler, self.log, self.options.makes_pods
        )
        if self.options.autoscaler is not None:
            self.autoscaler = Autoscaler(self.options.autoscaler, self.applier, self.options.prices)
        self.nodes.note(0, len(self.cluster.snapshot))
        if self.options.has_prices:
            self.biller = NodeBiller(self.options.prices, self.autoscaler)
            self.biller.note(0, self.cluster.snapshot, is_start=True)
        self.usage = UsageRecorder(self.cluster.snapshot)

    def interrupt(self) -> None:
        """End it soon. A signal may call this at any moment."""
        self.is_interrupted = True

    def run(self) -> None:
        """Run to the end, or until it is interrupted."""
        with gc_rare():
            self.run_instants()

    def run_instants(self) -> None:
        """Run as `run` does, for a caller that lets other code run meanwhile: collect garbage as
        ever."""
        self._read_event()
        self._begin()
        look = next(self.options.looks, None)
        while not self.is_interrupted and (at := self.agenda.next) is not None:
            if self.options.until is not None and at > self.options.until:
                break
            look = self._look(look, at)
            self._run_instant(at)
        if self.options.until is not None and not self.is_interrupted:
            self.clock.now = max(self.clock.now, self.options.until)
        self._look(look, self.clock.now + 1)
        # The records of the pods without a node say what is left of them.
        for queued in chain(self.queue, self.scheduler.waiting.values()):
            record = self.log.live[queued.pod.key]
            is_held = self.queue.is_held(queued)
            record.outcome = PodOutcome.GATED if is_held else PodOutcome.PENDING
        self.applier.warnings |= dict.fromkeys(self.applier.rollouts.unfinished())
        if self.options.on_end is not None:
            self.options.on_end(self)

    def _look(self, look: int | None, before: int) -> int | None:
        """Show the cluster at each time to look at it that is before the next instant. Return the
        time of the next look."""
        while look is not None and look < before and not self.is_interrupted:
            self.options.on_look(self, look)
            look = next(self.options.looks, None)
        return look

    def _begin(self) -> None:
        """The pods of the state without a node come into the queue, by creation. Raises UsageError
        where two pods have one UID."""
        engine = self.cluster.engine
        run_times = self.options.run_times
        for pod in self.cluster.bound.values():
            self.applier.claim_uid(pod)
            if (left := run_times.get(pod.key)) is not None:
                self.scheduler.end_at(left, pod, PodOutcome.ENDED)
        pending = engine.pending()
        pending.sort(key=lambda pod: seconds(pod.pod.metadata.creation_timestamp))
        for pod in pending:
            if pod.is_resized:
                self.scheduler.follow_resize(None, self.cluster.bound[pod.key])
            else:
                self.applier.enqueue(pod, PodWork(run_times.get(pod.key)))
        self.log.counts.ignored += len(engine.ignored())
        self.applier.unscheduled = {
            pod.key: pod
            for pod in engine.state.pods
            if not (pod.node_name or pod.finished) and why_ignored(pod, engine.frameworks)
        }
        self._run_instant(0)

    # -- instants -------------------------------------------------------------------------------

    def _run_instant(self, at: int) -> None:  # noqa: C901  # one instant, from top to bottom
        """Run all that happens at one instant; only the beginning of that where the replay is
        interrupted, as one instant may take long."""
        agenda, queue, scheduler = self.agenda, self.queue, self.scheduler
        rollouts, try_next = self.applier.rollouts, scheduler.try_next
        # 1. Sources that look at the whole cluster have a turn in every instant.
        agenda.begin(at)
        if self.cluster.engine.waiting.clock.jump(self.clock.seconds):
            agenda.move(ALARM, at, self._ring)
        else:
            agenda.cancel(ALARM)
        if scheduler.down_nodes:
            agenda.move(OUTAGE, at, self.applier.outages.run_instant)
        if self.autoscaler is not None:
            agenda.move(SCALE, at, self.autoscaler.run_instant)
        if queue.pods and not at % SECOND:
            agenda.move(FLUSH, at, queue.flush)
        if scheduler.waiting:
            agenda.move(PERMIT, at, scheduler.settle)
        if rollouts:
            agenda.move(ROLLOUT, at, None)
        # 2. What is due happens.
        while not self.is_interrupted and agenda.act():
            pass
        # 3. Pods are tried until the active queue is empty, and the controllers of rollouts follow.
        is_on = True
        while is_on:
            while queue.pods and not self.is_interrupted and try_next():
                pass
            is_on = bool(rollouts) and not self.is_interrupted and rollouts.advance()
        # 4. The curves get the values of this instant.
        self._note(at)
        if self.options.on_instant is not None:
            self.options.on_instant(self)
        # 5. They say when they look next.
        self._plan()

    def _plan(self) -> None:
        """Ask the sources that look at the whole cluster when something is due next. Where nothing
        is due but attempts that would have no effect, the replay ends."""
        agenda, waiting = self.agenda, self.cluster.engine.waiting
        outages, autoscaler, rollouts = self.applier.outages, self.autoscaler, self.applier.rollouts
        if self.scheduler.down_nodes:
            agenda.move(OUTAGE, outages.next_instant(), outages.run_instant)
        if autoscaler is not None:
            agenda.move(SCALE, autoscaler.next_instant(), autoscaler.run_instant)
        if rollouts:
            agenda.move(ROLLOUT, rollouts.next_instant(), None)
        is_open = self.options.until is None and agenda.only_retries
        # Attempts have had no effect for longer than Permit holds a pod and the queue leaves one
        # alone, as with a gang that is never complete; or so many after alarms of plugins.
        is_long = self.clock.now - self._changed > _IN_VAIN
        is_over = (
            is_open and is_long and (waiting.clock.next_alarm is None or self._rung > _MAX_RUNG)
        )
        is_useless = is_open
        if (alarm := waiting.clock.next_alarm) is not None and not is_over:
            agenda.move(ALARM, self._moment(alarm), self._ring)
            is_useless = False
        if self.scheduler.waiting and not is_over and waiting.next_deadline is not None:
            agenda.move(PERMIT, self._moment(waiting.next_deadline), self.scheduler.settle)
            is_useless = False
        # Mostly no pod waits.
        if (
            not self.queue.pods
            or is_over
            or (is_useless and not self.queue.may_retry(self._changed))
        ):
            agenda.cancel(FLUSH)
        else:
            agenda.move(FLUSH, self.queue.next_flush(), self.queue.flush)

    def _moment(self, at: float) -> int:
        """Return a time of plugins in microseconds since the start; never one that is over."""
        return max(self.clock.now, round((at - self.clock.start) * SECOND))

    def _ring(self) -> None:
        """Give all pods another chance, as a plugin asked for."""
        self._rung += 1
        self.queue.move(EVERYTHING)

    def _read_event(self) -> None:
        event = next(self.events, None)
        if event is not None:
            self.agenda.schedule(EVENT, event.at, partial(self._apply, event))

    def _apply(self, event: TimelineEvent) -> None:
        self.applier.apply(event)
        self._read_event()

    def _note(self, at: int) -> None:
        """Note whether anything happened at this instant, and what it was for the curves."""
        counts, held = self.log.counts, self.scheduler.waiting
        length = counts.events + counts.placed + counts.ended + counts.deleted + counts.evicted
        if length != self._length:
            self._length, self._changed, self._rung = length, at, 0
            self._held.clear()
        if held and not held.keys() <= self._held:
            self._held |= held.keys()
            self._changed = at
        snapshot, pending = self.cluster.engine.snapshot, len(held)
        if snapshot is not self.usage.snapshot:
            self.nodes.note(at, len(snapshot))
        if self.biller is not None:
            self.biller.note(at, snapshot)
        if self.queue.pods:
            pending += len(self.queue) - self.queue.gated_count
        self.usage.note(at, snapshot, pending)

    def pending(self) -> list[str]:
        """Return the pods that stay pending, by name; gated ones do not count."""
        records = self.log.live.values()
        return sorted(record.pod for record in records if record.outcome is PodOutcome.PENDING)

    @property
    def share_done(self) -> float:
        """Return the share of it that is done, from 0 to 1: by the timeline's events, or by the
        time until its end where that is more."""
        until = self.options.until
        return max(self.share_read(), self.clock.now / until if until else 0.0)

    def state(self) -> ClusterState:
        """Return the cluster as it is now."""
        held = self.scheduler.waiting.values()
        pending = [each.pod.pod for each in chain(self.queue, held)]
        return self.applier.rollouts.in_step(self.cluster.state_with(pending))

    def places(self) -> dict[str, list[str]]:
        """Return the places of the pods without a node: by place, their keys in order."""

        def keys(*places: QueuePlace) -> list[str]:
            return [queued.pod.key for queued in self.queue.in_place(*places)]

        held = self.queue.in_place(QueuePlace.UNSCHEDULABLE)
        return {
            "active": keys(QueuePlace.ACTIVE),
            "backoff": keys(QueuePlace.BACKOFF, QueuePlace.ERROR_BACKOFF),
            "unschedulable": [each.pod.key for each in held if not self.queue.is_held(each)],
            "gated": [each.pod.key for each in held if self.queue.is_held(each)]
            + [*self.queue.incomplete],
        }
