"""Real decisions judged and made again, each on the cluster as the real scheduler saw it, and the
orders in which they may have been made.

The real node is taken each time, whatever ksched's choice is, so that one difference does not lead
to others.

Nominations are followed as kube-scheduler keeps them. A nomination is in memory at once, and
written to the pod's status while the next pods are tried. A later notice of the pod replaces what
is in memory, even if that is newer by now. A nomination that a more important preemptor clears
lapses only when that is noticed. Upstream: pkg/scheduler/backend/queue/nominator.go
(AddNominatedPod, UpdateNominatedPod) and pkg/scheduler/framework/api_calls/pod_status_patch.go.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice, takewhile

import numpy as np
from msgspec import structs

from ksched_cli.analysis.audit.decisions import (
    Decision,
    DecisionVerdict,
    Grade,
    LogEvent,
    NodeChoice,
    ObjectChange,
    PodEvent,
    PreemptionDecision,
    RecordedPlacement,
    has_left,
    is_choice,
)
from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Mask, Rows
from ksched_cli.cluster.state import Key
from ksched_cli.engine.evaluation import Evaluation, Mode
from ksched_cli.engine.mutable_cluster import MutableCluster
from ksched_cli.engine.node_search import feasible_nodes_to_find
from ksched_cli.engine.queue import Entry
from ksched_cli.engine.records import Attempt
from ksched_cli.engine.replay.replay_cluster import noticed_nodes
from ksched_cli.engine.simulation import Simulation
from ksched_cli.framework.handle import Nominator
from ksched_cli.framework.runtime import Framework
from ksched_cli.plugins.node_volume_limits import VolumeNames
from ksched_cli.plugins.priority_sort import PrioritySort
from ksched_cli.plugins.volume_binding.plugin import VolumeBinding
from ksched_cli.plugins.volumes import claim_uses
from ksched_cli.scenario.objects import removed, replaced
from ksched_cli.scenario.timeline import Replacement


@dataclass(frozen=True, slots=True)
class StatusPatch:
    """A change of a pod's status. node: the nominated one, "" for none, None for no change.
    message: of the refusal, None for no change"""

    node: str | None
    message: str | None

    def over(self, earlier: StatusPatch) -> StatusPatch:
        """Return both combined; this one comes later."""
        return StatusPatch(
            earlier.node if self.node is None else self.node,
            earlier.message if self.message is None else self.message,
        )

    def changes(self, status: StatusPatch) -> bool:
        return self.over(status) != status

    def without(self, status: StatusPatch) -> StatusPatch:
        """Return the part of it that differs from the status."""
        return StatusPatch(
            None if self.node == status.node else self.node,
            None if self.message == status.message else self.message,
        )


@dataclass(slots=True)
class PodStatusCalls:
    """noticed: the status as the scheduler knows it; written: as the API server returns it; coming:
    what was written and is not yet noticed; waiting: what is to be written"""

    noticed: StatusPatch
    written: StatusPatch
    coming: deque[StatusPatch] = field(default_factory=deque)
    waiting: StatusPatch | None = None

    def enqueue(self, patch: StatusPatch) -> None:
        """Queue a change: later ones come on top of earlier ones; what changes nothing is
        dropped."""
        merged = patch.over(self.waiting) if self.waiting is not None else patch
        self.waiting = merged if self.coming or merged.changes(self.noticed) else None

    def write(self) -> None:
        """Write only what differs from the status as the scheduler knows it."""
        if self.waiting is None:
            return
        written = self.waiting.without(self.noticed).over(self.written)
        self.waiting = None
        if written != self.written:
            self.written = written
            self.coming.append(written)

    def notice(self) -> None:
        self.noticed = self.coming.popleft()
        if self.waiting is not None and not self.coming and not self.waiting.changes(self.noticed):
            self.waiting = None


class Nominations:
    """Follows the pods' statuses in a log.

    nominator: of the simulation as it is now
    follows_statuses: whether the log tells when statuses are written and noticed; else nothing
                      comes between
    have_changed: whether a pod has lost a nomination, or got another, without being placed
    """

    def __init__(self, nominator: Nominator, *, follows_statuses: bool = True) -> None:
        self.have_changed, self.follows_statuses = False, follows_statuses
        self.nominator = nominator
        self._calls: dict[str, PodStatusCalls] = {}

    def _calls_of(self, pod: PodInfo) -> PodStatusCalls:
        calls = self._calls.get(pod.uid)
        if calls is None:
            status = StatusPatch(self.nominator.node_of(pod), "")
            calls = self._calls[pod.uid] = PodStatusCalls(status, status)
        return calls

    def refuse(self, pod: PodInfo, node: str | None, message: str) -> None:
        """Note that an attempt ended. node: the nominated one, "" for none, None to leave the
        status as it is: what is in memory becomes what was noticed."""
        calls = self._calls_of(pod)
        self._nominate(pod, (calls.noticed.node if node is None else node) or "")
        calls.enqueue(StatusPatch(node, message))

    def begin(self, pod: PodInfo) -> None:
        """Begin an attempt: the pod's own nomination is the one in its status."""
        if self.follows_statuses:
            self._nominate(pod, self._calls_of(pod).noticed.node or "")

    def take_back(self, pod: PodInfo) -> None:
        """Take back a nomination: a more important pod is nominated to the node."""
        if not self.follows_statuses:
            self._nominate(pod, "")
            return
        calls = self._calls_of(pod)
        is_waiting = calls.waiting is not None
        calls.enqueue(StatusPatch("", None))
        if not is_waiting:
            calls.write()

    def write(self, pod: PodInfo) -> None:
        """Write what waits to be written."""
        self._calls_of(pod).write()

    def notice(self, pod: PodInfo) -> None:
        """Notice a status. The scheduler learns of earlier writes first."""
        calls = self._calls_of(pod)
        if not calls.coming:
            return
        earlier = calls.noticed.node
        calls.notice()
        if earlier or calls.noticed.node:
            self._nominate(pod, calls.noticed.node or "")

    @contextmanager
    def noticed_ahead(self, pods: Sequence[PodInfo]) -> Iterator[None]:
        """Let nominations meanwhile be as they will be once these have been noticed."""
        nominator, counts = self.nominator, Counter[str]()
        before = {pod.uid: (pod, nominator.node_of(pod)) for pod in pods}
        for pod in pods:
            coming = self._calls_of(pod).coming
            if counts[pod.uid] < len(coming):
                nominator.renew(pod, coming[counts[pod.uid]].node or "")
            counts[pod.uid] += 1
        try:
            yield
        finally:
            for pod, node in before.values():
                nominator.renew(pod, node)

    def _nominate(self, pod: PodInfo, node: str) -> None:
        if self.nominator.node_of(pod) not in ("", node):
            self.have_changed = True
        self.nominator.renew(pod, node)


# -- the cluster ----------------------------------------------------------------------------------

_EARLIEST_START, _LATEST_START = "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"
# In the message of an attempt that found no node to evict others from.
NO_CANDIDATES = "preemption: 0/"
# How many beginnings of a sampled search are tried.
MAX_STARTS = 16


@dataclass(slots=True)
class ReplayedCluster:
    """A cluster that follows the real one.

    simulation: has not run, and does not run
    follows_statuses: whether a log tells when statuses are written and noticed
    is_recording: whether a recording tells when nominations end
    chosen_volumes: claim → the volume that it got when its pod was placed
    bound:      UIDs of the pods placed
    departed:   UIDs of the pods that left, as a log or a recording tells
    has_churned: nodes came, changed or went, as a recording tells
    """

    simulation: Simulation
    follows_statuses: bool = False
    chosen_volumes: Mapping[Key, str] = field(default_factory=dict)
    is_recording: bool = False
    bound: set[str] = field(default_factory=set)
    departed: set[str] = field(default_factory=set)
    has_churned: bool = False
    nominations: Nominations = field(init=False)
    # Pods of a node that is gone count once it comes back. Upstream: backend/cache/cache.go
    # (RemoveNode).
    _pods: MutableCluster[Simulation] = field(init=False)
    # By UID, the node that a pod was nominated to when it was placed.
    _nominated: dict[str, str] = field(default_factory=dict)
    _infos: dict[str, PodInfo] = field(default_factory=dict)

    def __post_init__(self) -> None:
        nominator, follows = self.simulation.nominator, self.follows_statuses
        self.nominations = Nominations(nominator, follows_statuses=follows)
        self._pods = MutableCluster(self.simulation)
        self._take_volumes()

    def _take_volumes(self) -> None:
        self.simulation.handle.service(VolumeNames).chosen = self.chosen_volumes

    def info(self, pod: Pod) -> PodInfo:
        """Return the one of the pod."""
        info = self._infos.get(pod.uid)
        if info is None:
            info = self._infos[pod.uid] = self.simulation.catalog.info(pod)
        return info

    def framework(self, pod: Pod) -> Framework:
        """Return the framework of the pod's profile."""
        return self.simulation.frameworks[pod.spec.scheduler_name]

    def on_node(self, node: str) -> tuple[PodInfo, ...]:
        """Return the pods on the node; none where there is no such node."""
        row = self.simulation.snapshot.row.get(node)
        return () if row is None else tuple(self.simulation.snapshot.pods[row])

    def is_on(self, pod: Pod, node: str) -> bool:
        """Return whether the pod is on the node."""
        return any(other.uid == pod.uid for other in self.on_node(node))

    @contextmanager
    def trial(self) -> Iterator[None]:
        """Take back, in the end, what is put on nodes, taken off them, and nominated meanwhile."""
        nominator, search = self.simulation.nominator, self.simulation.pipeline.search
        before = [(pod, node) for node in nominator.nodes() for pod in nominator.on_node(node)]
        version, start = nominator.version, search.next_start
        try:
            with self.simulation.snapshot.trial():
                yield
        finally:
            search.next_start = start
            if nominator.version != version:
                for uid in set(nominator.node_by_uid) - {pod.uid for pod, _ in before}:
                    nominator.clear(self._infos[uid])
                for pod, node in before:
                    nominator.nominate(pod, node)

    def put(self, pod: Pod, node: str) -> None:
        """Put the pod on the node, if that is there, where it takes room. Plugins hear of no
        binding."""
        self.simulation.nominator.clear(self.info(pod))
        row = self.simulation.snapshot.row.get(node)
        if row is not None:
            self.simulation.snapshot.add(self.info(pod), row)

    def decide(self, decision: NodeChoice) -> None:
        """Put the pod on its node, or nominate it to the one that room is made on."""
        if isinstance(decision, RecordedPlacement):
            self.put(decision.pod, decision.node)
        else:
            self.simulation.nominator.nominate(self.info(decision.pod), decision.node)

    def take(self, pod: Pod, node: str) -> None:
        """Take the pod off the node, if it is there."""
        for other in self.on_node(node):
            if other.uid == pod.uid:
                self.simulation.snapshot.remove(other, self.simulation.snapshot.row[node])

    def take_back(self, placement: RecordedPlacement) -> None:
        """Take the pod off its node, and nominate it to where it was nominated before."""
        self.take(placement.pod, placement.node)
        nominated = self._nominated.get(placement.pod.uid, "")
        self.simulation.nominator.renew(self.info(placement.pod), nominated)

    # -- judging ----------------------------------------------------------------------------------

    def judge(self, decision: NodeChoice) -> DecisionVerdict:
        """Judge a decision. This changes nothing but where the sampled search starts."""
        self.nominations.begin(self.info(decision.pod))
        if isinstance(decision, RecordedPlacement):
            return self._judge_placement(decision)
        verdict = self._judge_preemption(decision)
        # kube-scheduler reads nominations node by node, not once when the attempt begins.
        others = [pod for pod in decision.noticed_meanwhile if pod.uid != decision.pod.uid]
        for count in range(1, len(others) + 1) if verdict.grade is None else ():
            with self.nominations.noticed_ahead([self.info(pod) for pod in others[:count]]):
                other = self._judge_preemption(decision)
            if other.grade is not None:
                return other
        return verdict

    def _judge_placement(self, placement: RecordedPlacement) -> DecisionVerdict:
        simulation, pod = self.simulation, self.info(placement.pod)
        row = simulation.snapshot.row[placement.node]
        pipeline = simulation.pipeline
        if simulation.nominator.node_of(pod):
            evaluation = simulation.evaluate(pod, Mode.SAMPLED)
            if evaluation.feasible.indices().tolist() == [row]:
                return DecisionVerdict(Grade.NOMINATED, evaluation, (placement.node,))
        evaluation = simulation.evaluate(pod, Mode.RANKED)
        if evaluation.error:
            return DecisionVerdict(None, evaluation, reason=evaluation.error)
        expected, grade = best_nodes(evaluation), None
        if placement.node in expected:
            grade = Grade.BEST if len(expected) == 1 else Grade.TIED
        elif _may_be_sampled(simulation, evaluation, row):
            grade = Grade.SAMPLED
        elif pipeline.batching and row in pipeline.batching.next_candidates(evaluation):
            grade = Grade.BATCHED
        return DecisionVerdict(grade, evaluation, expected)

    def _judge_preemption(self, decision: PreemptionDecision) -> DecisionVerdict:
        """Judge a preemption. decision.victims: empty where it is not known which pods left for the
        pod"""
        pipeline, pod = self.simulation.pipeline, self.info(decision.pod)
        evaluation = self.simulation.evaluate(pod, Mode.SAMPLED)
        if evaluation.error:
            return DecisionVerdict(None, evaluation, reason=evaluation.error)
        expected = best_nodes(evaluation)
        if expected:
            return DecisionVerdict(None, evaluation, expected, "it fits without evictions")
        _, status, preemption = pipeline.post_filter(evaluation)
        if preemption is None or not preemption.node:
            return DecisionVerdict(None, evaluation, reason=status.message or "it may not preempt")
        expected = preemption.ties or (preemption.node,)
        victims = preemption.candidates.get(decision.node)
        if decision.node not in expected or victims is None:
            reason = "evictions on other nodes are preferred"
            return DecisionVerdict(None, evaluation, expected, reason)
        keys = tuple(sorted(victim.key for victim in victims.pods))
        chosen, own = set(keys), decision.victims
        if (count := len(chosen.intersection(own))) in decision.rounds:
            own = own[:count]
        are_others = own and not set(own) <= chosen <= decision.shared.union(own)
        if are_others or decision.victim_count not in (0, len(chosen)):
            reason = f"it would evict {', '.join(keys)}"
            return DecisionVerdict(None, evaluation, expected, reason, preemption)
        return DecisionVerdict(Grade.PREEMPTS, evaluation, expected, preemption=preemption)

    def may_evict(self, decision: PreemptionDecision, unclear: Container[str]) -> bool:
        """Return whether ksched would evict the victims, too, if they were the last or the first
        pods of their node: of pods that have not started, kube-scheduler may evict either. unclear:
        keys of pods on it whose start is not certain: victims started last, the others first"""
        snapshot, on_node = self.simulation.snapshot, self.on_node(decision.node)
        row, catalog = snapshot.row[decision.node], self.simulation.catalog
        by_role: tuple[list[PodInfo], list[PodInfo]] = ([], [])
        for pod in on_node:
            is_victim, same = pod.key in decision.victims, pod
            if pod.key in unclear:
                start = _LATEST_START if is_victim else _EARLIEST_START
                status = structs.replace(pod.pod.status, start_time=start)
                same = catalog.info(structs.replace(pod.pod, status=status))
            by_role[is_victim].append(same)
        others, victims = by_role
        for order in ((*others, *victims), (*victims, *others)):
            with self.trial():
                for pod in on_node:
                    snapshot.remove(pod, row)
                for pod in order:
                    snapshot.add(pod, row)
                if self.judge(decision).grade is not None:
                    return True
        return False

    # -- following --------------------------------------------------------------------------------

    def place(self, placement: RecordedPlacement, verdict: DecisionVerdict | None) -> None:
        """Put the pod on its real node. verdict: on the cluster as it is now"""
        simulation, pod = self.simulation, self.info(placement.pod)
        self.bound.add(pod.uid)
        self._nominated[pod.uid] = simulation.nominator.node_of(pod)
        row = simulation.snapshot.row[placement.node]
        if verdict is None or row not in verdict.evaluation.feasible.indices():
            simulation.nominator.clear(pod)
            simulation.snapshot.add(pod, row)
        else:
            evaluation = verdict.evaluation
            if simulation.pipeline.batching is not None:
                simulation.pipeline.batching.follow(evaluation, row)
            record = Attempt(pod.key, pod.spec.scheduler_name, placement.node)
            outcome = simulation.cycle.binding.assume(
                evaluation.framework, evaluation.state, pod, row, record
            )
            if outcome.row is None:
                simulation.snapshot.add(pod, row)
            if outcome.waits:
                simulation.scheduler.waiting[pod.uid] = Entry.alone(pod)
        # The pod's claims get the volumes that they really got: among equally small ones upstream
        # takes whichever its map gives it first.
        state, chosen = self.simulation.state, self.chosen_volumes
        keys = [(placement.pod.namespace, use.claim) for use in claim_uses(placement.pod)]
        pairs = [
            (state.persistent_volume_claims[key], state.persistent_volumes.get(chosen[key]))
            for key in keys
            if key in chosen
        ]
        for framework in self.simulation.frameworks.values() if pairs else ():
            plugin = framework.plugin(VolumeBinding.name)
            if isinstance(plugin, VolumeBinding):
                plugin.binder.assumed.assume_alone(pairs)

    def nominate(self, decision: PreemptionDecision) -> None:
        """Nominate the pod to the node. The victims leave later, each in a departure of its own;
        nominations of lesser pods are cleared."""
        pod = self.info(decision.pod)
        self.nominations.refuse(pod, decision.node, decision.message)
        if not (self.follows_statuses or self.is_recording):
            self._take_back(pod, decision.node)

    def _take_back(self, pod: PodInfo, node: str) -> None:
        """Take back the nominations of less important pods to the node."""
        for other in self.simulation.nominator.on_node(node):
            if other.priority < pod.priority:
                self.nominations.take_back(other)

    def end_batch(self) -> None:
        """End what pods like the one before are given, as an attempt without a node does."""
        if self.simulation.pipeline.batching is not None:
            self.simulation.pipeline.batching.begin()

    def follow(self, change: PodEvent) -> None:
        """Follow what happened to a pod."""
        pod, event = self.info(change.pod), change.event
        if event is LogEvent.REFUSAL:
            # The pod's nomination is cleared when evictions would not help any more.
            self.end_batch()
            is_cleared = NO_CANDIDATES in change.message
            if is_cleared or self.follows_statuses:
                failed, node = self.info(change.pod), "" if is_cleared else None
                self.nominations.refuse(failed, node, change.message)
        elif event is LogEvent.DEPARTURE:
            self._depart(change)
        elif event is LogEvent.REMOVAL:
            self.simulation.nominator.clear(pod)
        elif event is LogEvent.UPDATE or (event is LogEvent.ADDITION and pod.uid in self.bound):
            self._renew(change)
        elif not self.follows_statuses:
            return
        elif event is LogEvent.EVICTION:
            self._take_back(pod, change.node)
        elif event is LogEvent.WRITING:
            self.nominations.write(pod)
        elif event is LogEvent.NOTICE and pod.uid not in self.bound:
            self.nominations.notice(pod)

    def _depart(self, change: PodEvent) -> None:
        """Remove the pod from its node, if it is there."""
        self.departed.add(change.pod.uid)
        stray = self._pods.strays.get(change.pod.key)
        if stray is not None and stray.uid == change.pod.uid:
            del self._pods.strays[stray.key]
        for pod in self.on_node(change.node):
            if pod.key == change.pod.key:
                self.simulation.snapshot.remove(pod, self.simulation.snapshot.row[change.node])

    def _renew(self, change: PodEvent) -> None:
        """Make a pod that changes, or is noticed where it was placed, the last of its node."""
        snapshot = self.simulation.snapshot
        info = self._infos[change.pod.uid] = self.simulation.catalog.info(change.pod)
        for pod in self.on_node(change.node):
            if pod.uid == info.uid:
                snapshot.remove(pod, snapshot.row[change.node])
                snapshot.add(info, snapshot.row[change.node])

    def change(self, change: ObjectChange) -> None:
        """Change nodes or objects: the simulation is rebuilt from these."""
        before = self.simulation
        state = replace(before.state, resource_claims=before.resource_claims)
        for action in change.actions:
            if isinstance(action, Replacement):
                state = replaced(state, action.kind, [action.manifest])
            else:
                state = removed(state, action.kind, [(action.namespace, action.name)])
        noticed, names = noticed_nodes(before.state, state), {node.name for node in state.nodes}
        for name, there in zip(before.snapshot.names, before.snapshot.pods, strict=True):
            there[:] = [pod if pod.pod.node_name else pod.placed(name) for pod in there]
            if name not in names:
                self._pods.strays |= {pod.key: pod.pod for pod in there}
        state = replace(state, noticed_nodes=noticed)
        columns = self._pods.columns_of(state)
        running = tuple(pod.pod for there in columns.pods for pod in there)
        self.simulation = before.renewed(replace(state, pods=running), columns)
        self._pods.engine = self.simulation
        before.close()
        old, new = ({node.name: node for node in each.nodes} for each in (before.state, state))
        self.has_churned |= old != new
        self._infos.clear()
        for node in tuple(before.nominator.nodes()):
            for nominated in before.nominator.on_node(node):
                self.simulation.nominator.nominate(self.info(nominated.pod), node)
        self.nominations.nominator = self.simulation.nominator
        self._take_volumes()


def best_nodes(evaluation: Evaluation) -> tuple[str, ...]:
    """Return the names of the nodes with the highest total, or of the one that fits, in order of
    names."""
    rows, totals = evaluation.feasible.indices(), evaluation.totals
    if totals is not None and len(rows):
        rows = rows[totals == totals.max()]
    names = evaluation.feasible.snapshot.names
    return tuple(names[row] for row in sorted(rows.tolist()))


# -- a part of the nodes ------------------------------------------------------------------------
#
# In a large cluster kube-scheduler only looks for enough nodes. The search starts at a node that
# moves with every attempt, failed ones included, and runs in parallel, so that any nodes may fit
# first. Upstream: pkg/scheduler/schedule_one.go (findNodesThatPassFilters).


def _may_be_sampled(simulation: Simulation, evaluation: Evaluation, row: int) -> bool:
    """Return whether the row is the best of as many nodes as are enough for a search. If so, moves
    the start of the next one."""
    rows, totals = evaluation.feasible.indices(), evaluation.totals
    count = feasible_nodes_to_find(
        evaluation.framework.profile.percentage_of_nodes_to_score, len(simulation.snapshot)
    )
    own = np.flatnonzero(rows == row)
    if totals is None or not len(own) or len(rows) <= count:
        return False
    better = totals > totals[own[0]]
    if any(
        _is_best_from(simulation, evaluation, row, start)
        for start in _starts(simulation, rows, better, row, count)
    ):
        return True
    is_parallel = simulation.configuration.parallelism > 1
    return is_parallel and len(rows) - int(np.count_nonzero(better)) >= count


def _starts(
    simulation: Simulation, rows: Rows, better: Mask, row: int, count: int
) -> Iterator[int]:
    """Return the starts of a search that reaches the row: first where it starts by now, then where
    it reaches the fewest better nodes."""
    search, rank = simulation.pipeline.search, simulation.snapshot.rank
    yield search.next_start
    order = np.argsort(rank[rows])
    own = int(np.flatnonzero(rows[order] == row)[0])
    firsts = (own - np.arange(count)) % len(rows)
    # How many better nodes there are up to each, once around and once more.
    better_before = np.concatenate(([0], np.cumsum(np.tile(better[order], 2))))
    better_after = better_before[firsts + count] - better_before[firsts]
    for first in firsts[np.argsort(better_after, kind="stable")[:MAX_STARTS]]:
        yield int(rank[rows[order[first]]])


def _is_best_from(simulation: Simulation, evaluation: Evaluation, row: int, start: int) -> bool:
    pipeline = simulation.pipeline
    earlier, pipeline.search.next_start = pipeline.search.next_start, start
    sampled = simulation.evaluate(evaluation.pod, Mode.SAMPLED)
    if simulation.snapshot.names[row] in best_nodes(sampled):
        pipeline.search.advance(sampled.visited, len(simulation.snapshot))
        return True
    pipeline.search.next_start = earlier
    return False


# -- the moments ----------------------------------------------------------------------------------

# How much later than it was recorded the scheduler may have noticed something.
NOTICED_WITHIN = 5.0


# How many placements before and after one are looked at that may have been decided on in another
# order: at first the nearest, for most overtake few.
NEAREST = (4,)
FARTHER = (12, 40)


def are_near(decision: Decision, other: Decision) -> bool:
    """Return whether the scheduler may have decided on either before it noticed the other."""
    return abs(other.time - decision.time) <= NOTICED_WITHIN


class Moments:
    """The moments at which a recorded decision may have been made.

    It is older than its binding, and the scheduler may not have noticed yet what was recorded just
    before. So it is judged before each change that is near, with the pods placed that the scheduler
    knew of then: its own decisions at once, and of these all that must have come first. Others that
    were bound at about the same time may have been decided on before or after: bindings overtake
    each other, most of them by little.

    A moment explains a decision only if it explains the others, too: a pod that was decided on
    later saw this one on its node, and who came later had noticed what those before had noticed.

    cluster: follows the decisions
    explained: places of the decisions that agree at some moment
    doubtful: place of a decision → why it may agree at some moment
    agreeing: UIDs of pods whose placement agrees where it was recorded
    """

    def __init__(
        self,
        cluster: ReplayedCluster,
        decisions: Sequence[Decision],
        places: Iterable[int],
        agreeing: Iterable[str],
        doubts_about: Callable[[PreemptionDecision, DecisionVerdict], str],
    ) -> None:
        """Follow the decisions with the cluster.

        places: of what does not agree where it was recorded; only choices are judged again
        agreeing: see the class
        doubts_about: returns why a difference in victims may be due to unknown facts; "" for none
        """
        self.cluster, self.decisions = cluster, decisions
        self.explained: set[int] = set()
        self.doubtful: dict[int, str] = {}
        self.agreeing = set(agreeing)
        self._doubts_about = doubts_about
        self._open: dict[int, NodeChoice] = {}
        # Place of a change of nodes or objects → when a pod was bound that shows it noticed.
        self._noticed: dict[int, float] = {}
        # Place of a decision → the moments that explain it if the changes since were not noticed.
        self._possible: dict[int, list[int]] = {}
        changes = [place for place, each in enumerate(decisions) if isinstance(each, ObjectChange)]
        self._change_places = changes
        for place in places:
            if place >= len(decisions):
                continue
            decision = decisions[place]
            if not isinstance(decision, PodEvent | ObjectChange):
                self._open[place] = decision

    # -- orders -----------------------------------------------------------------------------------

    def _may_precede(self, decision: NodeChoice, other: NodeChoice) -> bool:
        """Return whether it may have been decided on before the other one: its pod had come before
        the other was bound, and the other was not ahead of it in the queue when it came. Upstream:
        plugins/queuesort/priority_sort.go."""
        if decision.since > other.time:
            return False
        if not other.is_first or other.since >= decision.since:
            return True
        queue_sort = self.cluster.framework(other.pod).queue_sort
        own, others = (self.cluster.info(each.pod).priority for each in (decision, other))
        return own > others or not isinstance(queue_sort, PrioritySort)

    def _leaves_in_place(
        self, placement: RecordedPlacement, others: Sequence[RecordedPlacement]
    ) -> bool:
        """Return whether pods on its node may have been decided on after it, in this order. What
        does not agree here without it either, or where it was recorded, tells nothing."""
        cluster = self.cluster
        for other in others:
            if other.node != placement.node or other.pod.uid not in self.agreeing:
                continue
            if cluster.judge(other).grade is not None:
                with cluster.trial():
                    cluster.put(placement.pod, placement.node)
                    if cluster.judge(other).grade is None:
                        return False
            cluster.put(other.pod, other.node)
        return True

    # -- beside its place -------------------------------------------------------------------------

    def overtakes(self, decision: NodeChoice, own: int, reaches: Sequence[int]) -> bool:
        """Return whether it is ksched's choice, in its place, once some that were bound just before
        are decided on after it, and some that were bound just after before it. reaches: among how
        many on either side these are looked for"""
        if not isinstance(decision, RecordedPlacement):
            return False
        ahead = (
            each
            for each in self._near(decision, range(own - 1, -1, -1))
            if self._may_precede(decision, each) and self.cluster.is_on(each.pod, each.node)
        )
        after = (
            each
            for each in self._near(decision, range(own + 1, len(self.decisions)))
            if self._may_precede(each, decision)
        )
        earlier, later = (list(islice(each, reaches[-1])) for each in (ahead, after))
        return any(
            self._agrees_among(decision, earlier[:reach], later[:reach]) for reach in reaches
        )

    def _near(
        self, placement: RecordedPlacement, places: Iterable[int]
    ) -> Iterator[RecordedPlacement]:
        """Return placements that it may have overtaken, the nearest first, up to a change of nodes
        or objects. What waits for volumes or devices is none of them."""
        for index in places:
            other = self.decisions[index]
            if isinstance(other, ObjectChange) or not are_near(placement, other):
                return
            if (
                isinstance(other, RecordedPlacement)
                and other.judged
                and not any(claim_uses(other.pod))
                and not other.pod.spec.resource_claims
            ):
                yield other

    def _agrees_among(
        self,
        placement: RecordedPlacement,
        earlier: Sequence[RecordedPlacement],
        later: Sequence[RecordedPlacement],
    ) -> bool:
        """Climb from the order of the recording: exchange what brings the real node nearest to the
        best one, until it is the best, or nothing brings it nearer."""
        chosen, behind = frozenset[int](), math.inf
        ahead, after = range(len(earlier)), range(len(earlier), len(earlier) + len(later))
        # At first several in turn as well: one alone may make no difference.
        steps = [
            frozenset(each[:count]) for each in (ahead, after) for count in range(2, len(each))
        ]
        steps += [frozenset((index,)) for index in (*ahead, *after)]
        while True:
            gaps = []
            for step in steps:
                gaps.append(self._behind(placement, step, earlier, later))
                if not gaps[-1]:
                    return True
            nearest = min(gaps, default=math.inf)
            if nearest >= behind:
                return False
            behind, chosen = nearest, steps[gaps.index(nearest)]
            steps = [chosen ^ {index} for index in (*ahead, *after)]

    def _behind(
        self,
        placement: RecordedPlacement,
        exchanged: frozenset[int],
        earlier: Sequence[RecordedPlacement],
        later: Sequence[RecordedPlacement],
    ) -> float:
        """Return by how many points the real node is behind the best, where these are exchanged: 0
        where it may be chosen, infinity where it does not fit."""
        cluster = self.cluster
        with cluster.trial():
            for index in exchanged:
                if index < len(earlier):
                    cluster.take_back(earlier[index])
                else:
                    other = later[index - len(earlier)]
                    cluster.put(other.pod, other.node)
            verdict = cluster.judge(placement)
            if verdict.grade is not None:
                back = [earlier[index] for index in sorted(exchanged) if index < len(earlier)]
                return 0 if self._leaves_in_place(placement, back[::-1]) else math.inf
        evaluation = verdict.evaluation
        own = evaluation.feasible.indices() == cluster.simulation.snapshot.row[placement.node]
        totals = evaluation.totals
        if evaluation.error or totals is None or not own.any():
            return math.inf
        return float(totals.max() - totals[own][0])

    # -- before its place -------------------------------------------------------------------------

    def at(self, place: int) -> None:
        """Bring the cluster to where it is before the decision at this place."""
        here = self.decisions[place]
        for own in [own for own in self._open if own < place]:
            del self._open[own]
        near = {own: each for own, each in self._open.items() if are_near(each, here)}
        if isinstance(here, ObjectChange) and near:
            last = max(each.since for each in near.values())
            self._noticed[place] = self._when_noticed(here, place, last)
        for own, decision in near.items():
            if self._agrees(decision, place, own):
                self._possible.setdefault(own, []).append(place)
            # Changes that are not noticed at the moment must not be noticed by pods before, either.
            if own == place or not self._changes(place, own):
                moments = self._possible.pop(own, ())
                changes = (self._changes(moment, own) for moment in moments)
                noticed, since = self._noticed, decision.since
                if any(all(noticed.get(c, 0.0) > since for c in each) for each in changes):
                    self.explained.add(own)
                    del self._open[own]

    def _changes(self, place: int, own: int) -> list[int]:
        """Return the places between of changes of nodes or objects."""
        first, last = (bisect_left(self._change_places, each) for each in (place, own))
        return self._change_places[first:last]

    def _when_noticed(self, change: ObjectChange, place: int, last: float) -> float:
        """Return when a pod was bound whose decision shows that a change had been noticed, or
        infinity. last: later ones tell nothing of what is open. What happens to objects of one kind
        is noticed in order."""
        kinds = {action.kind for action in change.actions}
        for index in range(place + 1, len(self.decisions)):
            other = self.decisions[index]
            if isinstance(other, ObjectChange):
                kinds |= {action.kind for action in other.actions}
            if other.time > last or len(kinds) > 1:
                break
            if not isinstance(other, RecordedPlacement) or other.pod.uid not in self.agreeing:
                continue
            if not self._agrees(other, place, index):
                return other.time
        return math.inf

    def _agrees(self, decision: NodeChoice, place: int, own: int) -> bool:
        """Return whether a choice is ksched's here. own: its place

        kube-scheduler is notified of pods in the order of their changes: when it had noticed the
        pod, or had failed to place it, it had noticed all that had left before. Nodes and other
        objects come in watches of their own. Upstream: client-go/tools/cache/shared_informer.go.
        """
        if decision.node not in self.cluster.simulation.snapshot.row:
            return False
        since, changes = decision.since, (self.decisions[c] for c in self._changes(place, own))
        if self.decisions[place].time < since and all(each.time >= since for each in changes):
            return False  # all before was noticed
        earlier = self.decisions[place:own]
        left = [each for each in earlier if has_left(each)]
        noticed = [each for each in left if each.time < since]
        choices = [each for each in earlier if is_choice(each) and each.pod.uid != decision.pod.uid]
        sure = [each for each in choices if not self._may_precede(decision, each)]
        behind = [each for each in choices if self._may_precede(decision, each)]
        after = (self.decisions[index] for index in range(own + 1, len(self.decisions)))
        later = takewhile(lambda each: are_near(decision, each), after)
        coming = [
            each
            for each in (*behind, *filter(is_choice, later))
            if each.pod.uid != decision.pod.uid and self._may_precede(each, decision)
        ]
        return any(
            self._agrees_after(decision, own, sure, gone, coming, behind)
            for gone in ((noticed, left) if len(left) > len(noticed) else (noticed,))
        )

    def _agrees_after(
        self,
        decision: NodeChoice,
        own: int,
        sure: Sequence[NodeChoice],
        left: Sequence[PodEvent],
        coming: Sequence[NodeChoice],
        behind: Sequence[NodeChoice],
    ) -> bool:
        """Return whether it is ksched's choice once some are placed and others have left, and as
        many of the coming ones are decided on as it takes to fill each better node. behind: those
        that were bound before it"""
        on_node: dict[str, list[NodeChoice]] = {}
        for each in reversed(coming):
            on_node.setdefault(each.node, []).append(each)
        cluster = self.cluster
        with cluster.trial():
            for each in sure:
                cluster.decide(each)
            for gone in left:
                cluster.take(gone.pod, gone.node)
            verdict = cluster.judge(decision)
            while verdict.grade is None:
                # One on each of the equally good nodes, all of which have to be filled.
                others = [on_node[name].pop() for name in verdict.expected if on_node.get(name)]
                if isinstance(decision, PreemptionDecision):
                    doubt = self._doubts_about(decision, verdict)
                    self.doubtful |= {own: doubt} if doubt else {}
                if not others:
                    return False
                for other in others:
                    cluster.decide(other)
                verdict = cluster.judge(decision)
            if isinstance(decision, PreemptionDecision):
                return True
            placements = (each for each in behind if isinstance(each, RecordedPlacement))
            still = [each for each in placements if not cluster.is_on(each.pod, each.node)]
            return self._leaves_in_place(decision, still)
