"""Real decisions made again in their order, each on the cluster as the real scheduler saw it.

The real node is taken each time, whatever ksched's choice is, so that one difference does not lead
to others. The records that give the order are a little later than the decisions: pods are bound in
parallel with the cycles of the next ones. So a decision that differs from ksched's is also tried
before and after its neighbours, as long as these still agree with ksched's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from msgspec import structs

from ksched_cli.analysis.chosen_volumes import take_chosen_volumes
from ksched_cli.analysis.decision_order import (
    MAX_SHIFT,
    MAX_SHIFT_SECONDS,
    Decision,
    Departure,
    FailedAttempt,
    LoggedChange,
    ObjectChange,
    Placement,
    PodUpdate,
    PreemptionDecision,
)
from ksched_cli.analysis.decision_verdict import DecisionVerdict, Grade, best_nodes
from ksched_cli.analysis.nominations import Nominations
from ksched_cli.analysis.sampling import may_be_sampled
from ksched_cli.analysis.scheduler_log import LogEvent
from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.pod_info import PodInfo, has_volume_claims
from ksched_cli.cluster.state import Key
from ksched_cli.engine.evaluation import Mode
from ksched_cli.engine.queue import Entry
from ksched_cli.engine.records import Attempt
from ksched_cli.engine.replay.mutable_cluster import noticed_nodes
from ksched_cli.engine.simulation import Simulation
from ksched_cli.framework.cache.cached_runners import ALL_NODES_MIN
from ksched_cli.framework.device_classes import may_allocate_devices
from ksched_cli.plugins.node_volume_limits.attached_volumes import VolumeNames
from ksched_cli.scenario.objects import removed, replaced
from ksched_cli.scenario.timeline import Replacement

# How many of the decisions next to one may have been made on the other side of it.
_NEAREST = (0, 2, 8, 32, 72)
# In the message of an attempt that found no node to evict others from.
NO_CANDIDATES = "preemption: 0/"


@dataclass(slots=True)
class ReplayedCluster:
    """A cluster that follows the real one.

    simulation: has not run, and does not run
    parallel:   whether the real scheduler filters nodes side by side
    placed:     (placement, row) in order, since the last decision that cannot be moved
    leaving:    keys of victims that have not left yet
    shifted:    how many decisions agree before or after their place in the order
    follows_statuses: whether a log tells when statuses are written and noticed
    bound:      UIDs of the pods placed
    chosen_volumes: claim → the volume that it got when its pod was placed
    departed:   UIDs of the pods that left, as a log or a recording tells
    """

    simulation: Simulation
    parallel: bool = True
    placed: list[tuple[Placement, int]] = field(default_factory=list)
    shifted: int = 0
    leaving: set[str] = field(default_factory=set)
    follows_statuses: bool = False
    bound: set[str] = field(default_factory=set)
    chosen_volumes: Mapping[Key, str] = field(default_factory=dict)
    departed: set[str] = field(default_factory=set)
    nominations: Nominations = field(init=False)
    _infos: dict[str, PodInfo] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.nominations = Nominations(self.simulation.nominator)
        self._take_volumes()

    def _take_volumes(self) -> None:
        self.simulation.handle.service(VolumeNames).chosen = self.chosen_volumes

    def info(self, pod: Pod) -> PodInfo:
        """The one of the pod."""
        info = self._infos.get(pod.uid)
        if info is None:
            info = self._infos[pod.uid] = self.simulation.catalog.info(pod)
        return info

    # -- judging ----------------------------------------------------------------------------------

    def judge(self, placement: Placement) -> DecisionVerdict:
        """Changes nothing but where the sampled search starts."""
        simulation, pod = self.simulation, self.info(placement.pod)
        framework = simulation.frameworks[pod.spec.scheduler_name]
        row = simulation.snapshot.row[placement.node]
        if self.follows_statuses:
            self.nominations.begin(pod)
        if simulation.nominator.node_of(pod):
            evaluation = simulation.pipeline.evaluate(framework, pod, Mode.SAMPLED)
            if evaluation.feasible.indices().tolist() == [row]:
                return DecisionVerdict(Grade.NOMINATED, evaluation, (placement.node,))
        evaluation = simulation.pipeline.evaluate(framework, pod, Mode.RANKED)
        if evaluation.error:
            return DecisionVerdict(None, evaluation, reason=evaluation.error)
        expected = best_nodes(evaluation)
        if placement.node in expected:
            grade = Grade.BEST if len(expected) == 1 else Grade.TIED
            return DecisionVerdict(grade, evaluation, expected)
        if may_be_sampled(simulation, evaluation, row, parallel=self.parallel):
            return DecisionVerdict(Grade.SAMPLED, evaluation, expected)
        batching = simulation.pipeline.batching
        if batching is not None and row in batching.next_candidates(evaluation):
            return DecisionVerdict(Grade.BATCHED, evaluation, expected)
        return DecisionVerdict(None, evaluation, expected)

    def is_explained_by_order(
        self,
        decision: Placement | PreemptionDecision,
        near: Sequence[Decision],
        judge: Callable[[], DecisionVerdict],
    ) -> bool:
        """Whether it is ksched's if some of the decisions near it, on its node or on others, come
        later or earlier than they are followed. Only free capacity changes: volumes, devices and
        nominations stay taken. Changes nothing."""
        self._expect_trials(decision)
        own = decision.node
        coming = [
            each
            for each in near
            if isinstance(each, Placement) and _were_both_there(decision, each)
        ]
        placed = [each for each in coming if each.pod.uid in self.bound]
        coming = [each for each in coming if each.pod.uid not in self.bound]
        here = [each for each in placed if each.node == own]
        if any(
            self._is_explained_by_next(here[len(here) - count :], coming, judge)
            for count in range(len(here) + 1)
        ):
            return True
        sets: tuple[tuple[int, Sequence[Decision]], ...] = (
            (-1, here),
            (1, [each for each in coming if each.node != own]),
            (1, [each for each in coming if each.node == own]),
            (-1, [each for each in placed if each.node != own]),
            (1, [each for each in near if self._has_left(each)]),
        )
        trials = ((0,), (1,), (0, 1), (2,), (3,), (2, 3), (0, 3), (1, 2), (4,), (1, 4), (0, 1, 4))
        trials_of_sets: list[list[tuple[int, Decision]]] = [
            [(sign, each) for sign, group in (sets[index] for index in chosen) for each in group]
            for chosen in trials
        ]
        nearest = [
            [
                *((1, each) for each in coming[:later]),
                *((-1, each) for each in placed[len(placed) - earlier :]),
            ]
            for later in _NEAREST
            for earlier in _NEAREST
        ]
        return any(
            self._is_explained_by(decision, moved, judge) for moved in trials_of_sets + nearest
        )

    def _is_explained_by_next(
        self,
        placed: Sequence[Placement],
        coming: Sequence[Placement],
        judge: Callable[[], DecisionVerdict],
    ) -> bool:
        """Whether it is ksched's without what was placed on its node just before, once the next
        pods have taken each better node. Changes nothing."""
        moved: list[tuple[int, Decision]] = [(-1, each) for each in placed]
        on_node: dict[str, list[Placement]] = {}
        for each in reversed(coming):
            on_node.setdefault(each.node, []).append(each)
        with _Moves(self, moved) as moves:
            verdict = judge()
            while verdict.grade is None and verdict.expected and on_node.get(verdict.expected[0]):
                moves.move(1, on_node[verdict.expected[0]].pop())
                verdict = judge()
        return verdict.grade is not None

    def _is_explained_by(
        self,
        decision: Placement | PreemptionDecision,
        moved: Sequence[tuple[int, Decision]],
        judge: Callable[[], DecisionVerdict],
    ) -> bool:
        """moved: decisions that are made meanwhile (1), or taken back (-1). Changes nothing."""
        others = [(sign, each) for sign, each in moved if each.pod.uid != decision.pod.uid]
        with _Moves(self, others) as moves:
            return bool(moves.changes) and judge().grade is not None

    def _has_left(self, decision: Decision) -> bool:
        return isinstance(decision, Departure) and decision.pod.uid in self.departed

    def judge_preemption(self, decision: PreemptionDecision) -> DecisionVerdict:
        """Changes nothing. victims: empty where it is not known which pods left for the pod"""
        simulation, pod = self.simulation, self.info(decision.pod)
        framework = simulation.frameworks[pod.spec.scheduler_name]
        if self.follows_statuses:
            self.nominations.begin(pod)
        evaluation = simulation.pipeline.evaluate(framework, pod, Mode.SAMPLED)
        if evaluation.error:
            return DecisionVerdict(None, evaluation, reason=evaluation.error)
        expected = best_nodes(evaluation)
        if expected:
            return DecisionVerdict(None, evaluation, expected, "it fits without evictions")
        _, status, preemption = simulation.pipeline.post_filter(evaluation)
        if preemption is None or not preemption.node:
            return DecisionVerdict(None, evaluation, reason=status.message or "it may not preempt")
        expected = preemption.ties or (preemption.node,)
        victims = preemption.candidates.get(decision.node)
        if decision.node not in expected or victims is None:
            return DecisionVerdict(
                None, evaluation, expected, "evictions on other nodes are preferred"
            )
        keys = tuple(sorted(victim.key for victim in victims.pods))
        # The event of a pod that is evicted for two others names the first alone.
        missing = set(keys).difference(decision.victims, self.leaving)
        names_victims = bool(decision.victims or self.leaving)
        if names_victims and (missing or not set(decision.victims) <= set(keys)):
            reason = f"it would evict {', '.join(keys)}"
            return DecisionVerdict(None, evaluation, expected, reason, preemption)
        return DecisionVerdict(Grade.PREEMPTS, evaluation, expected, preemption=preemption)

    def judge_with_notices(self, decision: PreemptionDecision) -> DecisionVerdict | None:
        """Judge with nominations as they became while the attempt ran: kube-scheduler reads them
        node by node, not once when it begins. None where that does not help."""
        own = decision.pod.uid
        pods = [self.info(pod) for pod in decision.noticed_meanwhile if pod.uid != own]
        for count in range(1, len(pods) + 1):
            with self.nominations.noticed_ahead(pods[:count]):
                verdict = self.judge_preemption(decision)
            if verdict.grade is not None:
                return verdict
        return None

    # -- following --------------------------------------------------------------------------------

    def place(self, placement: Placement, verdict: DecisionVerdict | None) -> None:
        """Puts the pod on its real node. verdict: on the cluster as it is now"""
        simulation, pod = self.simulation, self.info(placement.pod)
        self.bound.add(pod.uid)
        row = simulation.snapshot.row[placement.node]
        fits = verdict is not None and bool(np.any(verdict.evaluation.feasible.indices() == row))
        if verdict is None or not fits:
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
        take_chosen_volumes(simulation, placement.pod, self.chosen_volumes)
        is_nominated = verdict is not None and verdict.grade is Grade.NOMINATED
        if self._is_movable(placement) and not is_nominated:
            self.placed.append((placement, row))
        else:
            self.placed.clear()

    def nominate(self, decision: PreemptionDecision) -> None:
        """The pod is nominated to the node. The victims leave later, each in a departure of its
        own; nominations of lesser pods are cleared."""
        pod = self.info(decision.pod)
        self.nominations.refuse(pod, decision.node, decision.message)
        if not self.follows_statuses:
            self._take_back(pod, decision.node)
        self.placed.clear()

    def _take_back(self, pod: PodInfo, node: str) -> None:
        """Nominations of less important pods to the node."""
        for other in self.simulation.nominator.on_node(node):
            if other.priority < pod.priority:
                self.nominations.take_back(other)
                if not self.follows_statuses:
                    self.nominations.notice(other)

    def end_batch(self) -> None:
        """An attempt without a node ends what pods like the one before are given."""
        if self.simulation.pipeline.batching is not None:
            self.simulation.pipeline.batching.begin()

    def fail(self, attempt: FailedAttempt) -> None:
        """The pod's nomination is cleared when evictions would not help any more."""
        self.end_batch()
        pod = self.info(attempt.pod)
        if NO_CANDIDATES in attempt.message:
            self.nominations.refuse(pod, "", attempt.message)
        elif self.follows_statuses:
            self.nominations.refuse(pod, None, attempt.message)
        self.placed.clear()

    def follow(self, change: LoggedChange) -> None:
        pod = self.info(change.pod)
        if change.event in (LogEvent.ADDITION, LogEvent.UPDATE):
            self._renew(pod, change)
        elif not self.follows_statuses:
            return
        elif change.event is LogEvent.EVICTION:
            self._take_back(pod, change.node)
        elif change.event is LogEvent.WRITING:
            self.nominations.write(pod)
        elif pod.uid not in self.bound:
            self.nominations.notice(pod)

    def _renew(self, pod: PodInfo, change: LoggedChange) -> None:
        """A pod that changes, or is noticed where it was placed, becomes the last of its node."""
        is_new = change.event is LogEvent.ADDITION
        if is_new and pod.uid not in self.bound:
            return
        snapshot = self.simulation.snapshot
        row = snapshot.row.get(change.node)
        if row is not None and any(other.uid == pod.uid for other in snapshot.pods[row]):
            snapshot.remove(pod, row)
            snapshot.add(pod, row)

    def depart(self, departure: Departure) -> None:
        """The pod leaves its node, if it is there."""
        self.departed.add(departure.pod.uid)
        snapshot = self.simulation.snapshot
        row = snapshot.row.get(departure.node)
        if row is not None:
            for pod in list(snapshot.pods[row]):
                if pod.key == departure.pod.key:
                    snapshot.remove(pod, row)
        self.placed.clear()

    def update(self, update: PodUpdate) -> None:
        """A pod on a node has another manifest."""
        snapshot = self.simulation.snapshot
        row = snapshot.row.get(update.node)
        present = () if row is None else tuple(snapshot.pods[row])
        info = self._infos[update.pod.uid] = self.simulation.catalog.info(update.pod)
        for pod in present:
            if row is not None and pod.uid == update.pod.uid:
                snapshot.remove(pod, row)
                snapshot.add(info, row)

    def change(self, change: ObjectChange) -> None:
        """Change nodes or objects: the simulation is rebuilt from these."""
        before = self.simulation
        state = replace(before.state, resource_claims=before.resource_claims)
        for action in change.actions:
            if isinstance(action, Replacement):
                state = replaced(state, action.kind, [action.manifest])
            else:
                state = removed(state, action.kind, [(action.namespace, action.name)])
        pods = tuple(
            structs.replace(pod.pod, node_name=before.snapshot.names[row])
            for row, on_node in enumerate(before.snapshot.pods)
            for pod in on_node
        )
        nodes = noticed_nodes(before.state, state)
        self.simulation = before.renewed(replace(state, pods=pods, noticed_nodes=nodes))
        self._infos.clear()
        for node in tuple(before.nominator.nodes()):
            for pod in before.nominator.on_node(node):
                self.simulation.nominator.nominate(self.info(pod.pod), node)
        self.nominations.renew(self.simulation.nominator)
        self._take_volumes()
        self.placed.clear()

    def make_room(self, decision: PreemptionDecision) -> None:
        """Let the victims that are there leave, and nominate the pod to the node; do nothing where
        an event names a node that the state lacks."""
        simulation = self.simulation
        row = simulation.snapshot.row.get(decision.node)
        if row is None:
            return
        keys = set(decision.victims)
        victims = tuple(pod for pod in simulation.snapshot.pods[row] if pod.key in keys)
        pod = self.info(decision.pod)
        simulation.scheduler.make_room(pod, decision.node, victims)
        simulation.scheduler.settle()
        simulation.nominator.nominate(pod, decision.node)
        self.placed.clear()

    # -- the order --------------------------------------------------------------------------------

    def place_later(self, placement: Placement, coming: Sequence[object]) -> list[DecisionVerdict]:
        """Places the pod after some of those that come next, if it is ksched's choice there.

        Returns the verdicts of these, which are placed too, and of the pod; none where that does
        not help.
        """
        self._expect_trials(placement)
        snapshot = self.simulation.snapshot
        moved: list[tuple[Placement, int]] = []
        agrees = False
        for other in coming[:MAX_SHIFT]:
            if not self._may_swap(placement, other) or not isinstance(other, Placement):
                break
            if self.judge(other).grade is None:
                break
            row = snapshot.row[other.node]
            snapshot.add(self.info(other.pod), row)
            moved.append((other, row))
            if self.judge(placement).grade is not None:
                agrees = True
                break
        for other, row in reversed(moved):
            snapshot.remove(self.info(other.pod), row)
        if not agrees:
            return []
        verdicts = []
        for other in (*(other for other, _ in moved), placement):
            verdicts.append(self.judge(other))
            self.place(other, verdicts[-1])
        self.shifted += 1
        return verdicts

    def place_earlier(self, placement: Placement) -> DecisionVerdict | None:
        """Places the pod before some of those that came last, if it is ksched's choice there and
        theirs remain so."""
        row = self.simulation.snapshot.row[placement.node]

        def judge() -> DecisionVerdict:
            return self.judge(placement)

        def trial(_: DecisionVerdict) -> Callable[[], None]:
            pod = self.info(placement.pod)
            self.simulation.snapshot.add(pod, row)
            return lambda: self.simulation.snapshot.remove(pod, row)

        return self._earlier(placement, judge, trial, lambda judged: self.place(placement, judged))

    def make_room_earlier(self, decision: PreemptionDecision) -> DecisionVerdict | None:
        """Do as place_earlier."""
        simulation = self.simulation
        row = simulation.snapshot.row.get(decision.node)
        if row is None:
            return None

        def trial(_: DecisionVerdict) -> Callable[[], None]:
            keys = set(decision.victims)
            victims = [pod for pod in simulation.snapshot.pods[row] if pod.key in keys]
            for victim in victims:
                simulation.snapshot.remove(victim, row)
            pod = self.info(decision.pod)
            earlier = simulation.nominator.node_of(pod)
            simulation.nominator.nominate(pod, decision.node)

            def undo() -> None:
                simulation.nominator.clear(pod)
                if earlier:
                    simulation.nominator.nominate(pod, earlier)
                for victim in victims:
                    simulation.snapshot.add(victim, row)

            return undo

        return self._earlier(
            decision,
            lambda: self.judge_preemption(decision),
            trial,
            lambda _: self.make_room(decision),
        )

    def _earlier(
        self,
        decision: Placement | PreemptionDecision,
        judge: Callable[[], DecisionVerdict],
        trial: Callable[[DecisionVerdict], Callable[[], None]],
        commit: Callable[[DecisionVerdict], None],
    ) -> DecisionVerdict | None:
        """trial: makes the decision for a while, and returns what takes it back; commit: makes it.
        Returns the verdict where it is ksched's decision."""
        self._expect_trials(decision)
        snapshot = self.simulation.snapshot
        removed: list[tuple[Placement, int]] = []
        answer: DecisionVerdict | None = None
        for other, row in reversed(self.placed[-MAX_SHIFT:]):
            if not self._may_swap(decision, other):
                break
            snapshot.remove(self.info(other.pod), row)
            removed.insert(0, (other, row))
            verdict = judge()
            if verdict.grade is None:
                continue
            undo = trial(verdict)
            agree = self._agree_in_order(removed)
            undo()
            if agree:
                answer = verdict
                break
        if answer is not None:
            del self.placed[len(self.placed) - len(removed) :]
            commit(judge())
            self.shifted += 1
        for other, row in removed:
            snapshot.add(self.info(other.pod), row)
            if answer is not None:
                self.placed.append((other, row))
        return answer

    def _expect_trials(self, decision: Placement | PreemptionDecision) -> None:
        """The pod is about to be judged again and again, with a few nodes changed each time."""
        pod = self.info(decision.pod)
        framework = self.simulation.frameworks[pod.spec.scheduler_name]
        framework.answer_cache.expect([pod] * ALL_NODES_MIN)

    def _agree_in_order(self, placements: Sequence[tuple[Placement, int]]) -> bool:
        """Whether these remain ksched's choices one after the other. Changes nothing."""
        snapshot = self.simulation.snapshot
        added = []
        for placement, row in placements:
            if self.judge(placement).grade is None:
                break
            snapshot.add(self.info(placement.pod), row)
            added.append((placement, row))
        for placement, row in reversed(added):
            snapshot.remove(self.info(placement.pod), row)
        return len(added) == len(placements)

    def _may_swap(self, decision: Placement | PreemptionDecision, other: object) -> bool:
        return (
            isinstance(other, Placement)
            and other.judged
            and self._is_movable(other)
            and not self.simulation.nominator.node_of(self.info(other.pod))
            and abs(other.time - decision.time) <= MAX_SHIFT_SECONDS
            and _were_both_there(decision, other)
        )

    def _is_movable(self, placement: Placement) -> bool:
        """Whether it takes only free capacity on its node, so that it can be undone."""
        pod = self.info(placement.pod)
        has_claims = has_volume_claims(pod.spec)
        return not (has_claims or may_allocate_devices(pod, self.simulation.handle))


def _were_both_there(decision: Placement | PreemptionDecision, other: Placement) -> bool:
    """Whether either may have been decided on first: each pod had come before the other was
    bound."""
    since = decision.since if isinstance(decision, Placement) else 0.0
    return since <= other.time and other.since <= decision.time


class _Moves:
    """Placements that are made meanwhile (1), or taken back (-1), until the end of the block. Room
    alone counts.

    changes: sign, pod and row of those that change something
    """

    def __init__(self, cluster: ReplayedCluster, moved: Sequence[tuple[int, Decision]]) -> None:
        self.changes: list[tuple[int, PodInfo, int]] = []
        self._cluster = cluster
        self._before: dict[int, list[PodInfo]] = {}
        for sign, decision in moved:
            self.move(sign, decision)

    def move(self, sign: int, decision: Decision) -> None:
        snapshot, pod = self._cluster.simulation.snapshot, self._cluster.info(decision.pod)
        row = snapshot.row.get(decision.node)
        if row is None:
            return
        on_row = self._before.setdefault(row, list(snapshot.pods[row]))
        if sign > 0:
            snapshot.add(pod, row)
        elif any(other.uid == pod.uid for other in on_row):
            snapshot.remove(pod, row)
        else:
            return
        self.changes.append((sign, pod, row))

    def __enter__(self) -> _Moves:
        return self

    def __exit__(self, *_: object) -> None:
        snapshot = self._cluster.simulation.snapshot
        for sign, pod, row in reversed(self.changes):
            (snapshot.remove if sign > 0 else snapshot.add)(pod, row)
        for row, pods in self._before.items():
            snapshot.pods[row][:] = pods
