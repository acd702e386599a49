"""The number of copies of a pod that fit, and what stops the next one.

Copies of a pod go through the engine one after the other, so that spread and anti-affinity are
counted as they grow. They come when the pod's turn comes in a run, and evict nobody.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from dataclasses import replace as replaced
from itertools import chain, islice
from typing import Annotated, ClassVar, Literal

from msgspec import field, structs

from ksched_cli.analysis.attempts import PluginStatus
from ksched_cli.analysis.diagnosis import diagnose
from ksched_cli.analysis.named_objects import Subject, find_pod
from ksched_cli.analysis.question import Opened, Question
from ksched_cli.analysis.search import MAX_COPIES
from ksched_cli.answers import HIDDEN, Count, Rank, StateAnswer
from ksched_cli.cluster.loading.kinds import KINDS
from ksched_cli.cluster.objects.pod import Pod
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.engine import Focus
from ksched_cli.engine.evaluation import Mode
from ksched_cli.engine.queue import Entry, for_other_scheduler
from ksched_cli.engine.records import Attempt
from ksched_cli.engine.simulation import Simulation
from ksched_cli.errors import ExitCode, UsageError
from ksched_cli.framework.pod_groups import group_key
from ksched_cli.scenario.objects import objects_of
from ksched_cli.scenario.pod_claims import has_own_claims
from ksched_cli.scenario.replicas import (
    REPLICATED,
    copies,
    copies_with_claims,
    next_replicas,
    workload_target,
)


class CapacityResult(StateAnswer, frozen=True, kw_only=True):
    """The number of further copies of a pod that fit.

    pod: the pod that is copied
    workload: the workload whose next replica that is, as "Deployment default/web"; else null
    count: how many more copies fit
    nodes: node → how many, of the nodes that take any
    limited_by: why the first copy that does not fit does not
    cause: the same in words of the cluster; empty where it is not known
    stopped_at: --max, where it was reached
    by_preemption: none fits as it is, and the pod itself gets a node by evicting others
    gated: what keeps the pod out of the queue; its copies then came after all others
    undecided: a plugin's failure ended the attempt of a copy
    """

    COMMAND: ClassVar = "capacity"
    VIEW: ClassVar = "capacity:view"
    ROWS: ClassVar = "nodes"

    kind: Literal["CapacityResult"] = "CapacityResult"
    pod: str
    workload: str | None = None
    profile: str
    count: Count = 0
    nodes: Mapping[str, Rank] = field(default_factory=dict)
    limited_by: str = ""
    cause: str = ""
    stopped_at: Rank | None = None
    by_preemption: bool = False
    gated: PluginStatus | None = None
    undecided: Annotated[bool, HIDDEN] = False

    @property
    def exit_code(self) -> ExitCode:
        return ExitCode.of(bool(self.count), self.undecided)


@dataclass(frozen=True, slots=True)
class Copies:
    """The pods to copy. simulation: has not run yet; replicas, workload: as in `capacity` and
    CapacityResult"""

    simulation: Simulation
    pod: Pod
    replicas: tuple[Pod, ...] = ()
    workload: str = ""

    def answer(self, maximum: int, alone: bool = False) -> CapacityResult:
        """Return how many fit, up to the maximum. See `capacity`."""
        answer = capacity(
            self.simulation, self.pod, maximum=maximum, alone=alone, replicas=self.replicas
        )
        return structs.replace(answer, workload=self.workload or None)


def copies_of(subject: Subject, maximum: int) -> Copies:
    """Return copies of the subject, a pod of the state or the next replicas of KIND/NAME. Raises
    UsageError if there is none."""
    simulation, name = subject.simulation, subject.name
    target = workload_target(name, subject.namespace)
    if target is not None and all(pod.key != name for pod in simulation.state.pods):
        try:
            state, own, replicas = next_replicas(simulation.state, target, maximum)
            is_run = target.kind == "CronJob"
            text = f"{own.text} of CronJob {own.namespace}/{target.name}" if is_run else own.text
            differing = replicas if len(replicas) > 1 else ()
            return Copies(subject.simulation_of(state), replicas[0], differing, text)
        except UsageError:
            # A dump may have the pods of a workload, and not the workload.
            names = {workload for _, workload in objects_of(simulation.state, KINDS[target.kind])}
            if target.kind not in REPLICATED or target.name in names:
                raise
    pod = find_pod(simulation, name, subject.namespace).pod
    return copies_of_pod(subject, simulation.state, pod, maximum)


def copies_of_pod(subject: Subject, state: ClusterState, pod: Pod, maximum: int) -> Copies:
    """Return copies of a pod, each with claims of its own where the pod has such. state: where the
    copies are placed"""
    pods: tuple[Pod, ...] = ()
    if has_own_claims(pod.spec):
        state, pods = copies_with_claims(state, pod, maximum)
    if state is subject.simulation.state:
        return Copies(subject.simulation, pod, pods)
    subject.simulation.close()
    return Copies(subject.simulation_of(state), pod, pods)


class _AnsweredError(Exception):
    """Ends a run whose rest makes no difference."""


def capacity(
    simulation: Simulation,
    pod: Pod,
    *,
    maximum: int,
    alone: bool = False,
    replicas: Sequence[Pod] = (),
) -> CapacityResult:
    """Run the simulation, which must not have run before.

    pod:   one that waits in the state, whose turn the copies take; of any other, the copies come
           after all that wait with its priority
    alone: leave the other pending pods out
    replicas: what the copies are, where they differ from the pod by more than their names, as in
              claims of their own: one more than `maximum`

    Copies of a pod that is tried with a group join it: so many at first as its gang lacks, together
    with the other pods that wait, then one by one.
    """
    name = pod.spec.scheduler_name
    if name not in simulation.frameworks:
        why = f"the scheduler never looks at it: it is {for_other_scheduler(name)}"
        return CapacityResult(pod=pod.key, profile=name, limited_by=why)
    info = simulation.catalog.info(pod)
    if all(info.uid != pending.uid for pending in simulation.pending()):
        # It waits for a node, as created after all others.
        newcomer = replicas[-1] if replicas else next(_copies(simulation, pod))
        ages = (each.metadata.creation_timestamp for each in simulation.state.pods)
        metadata = structs.replace(newcomer.metadata, creation_timestamp=max(ages, default=""))
        simulation.newcomers.append(structs.replace(newcomer, metadata=metadata))
        info = simulation.catalog.info(simulation.newcomers[-1])
    answer = CapacityResult(pod=pod.key, profile=name)

    def take_turn(turn: PodInfo) -> None:
        nonlocal answer
        if any(eviction.preemptor == turn.key for eviction in simulation.scheduler.evicted):
            return
        answer, changed = _place_copies(simulation, turn, maximum, replicas)
        if changed:
            raise _AnsweredError

    if simulation.scheduler.is_grouped(info):
        simulation.focus = Focus(frozenset({info.key}), before_group=take_turn)
    else:
        simulation.focus = Focus(frozenset({info.key}), take_turn)
    try:
        gated = simulation.run(only=info if alone else None).gated.get(info.key)
    except _AnsweredError:
        gated = None
    simulation.focus = None
    if gated is not None:
        answer = _place_copies(simulation, info, maximum, replicas)[0]
    evicts = any(eviction.preemptor == info.key for eviction in simulation.scheduler.evicted)
    return structs.replace(
        answer,
        pod=pod.key,
        by_preemption=evicts and not answer.count,
        gated=PluginStatus.of(gated) if gated is not None else None,
    )


def _copies(simulation: Simulation, model: Pod) -> Iterator[Pod]:
    pods = (*simulation.state.pods, *simulation.newcomers)
    return copies(replaced(simulation.state, pods=pods), model)


def _place_copies(
    simulation: Simulation, pod: PodInfo, maximum: int, replicas: Sequence[Pod]
) -> tuple[CapacityResult, bool]:
    """Place copies until one does not fit; and whether anything changed, be it for a time."""
    options, scheduler = simulation.options, simulation.scheduler
    start, changes = simulation.pipeline.search.next_start, scheduler.changes
    framework = simulation.frameworks[pod.spec.scheduler_name]
    if options.cache_answers:
        framework.answer_cache.expect([pod, pod])
    simulation.options = replaced(options, preempt=False)
    pods = islice(replicas or _copies(simulation, pod.pod), maximum)
    keys, misfit = _try_until_misfit(simulation, pod, map(simulation.catalog.info, pods))
    simulation.options = options
    limited_by = cause = ""
    if misfit is not None:
        limited_by = misfit.why_not
        if not scheduler.is_grouped(pod):
            evaluation = simulation.evaluate(pod, Mode.REASONS)
            why = diagnose(evaluation, simulation.state, only_cause=True)
            cause = why.cause if why is not None else ""
    undecided = misfit is not None and misfit.pod in scheduler.failed
    scheduler.failed -= {misfit.pod} if misfit is not None else set()
    if not keys:
        simulation.pipeline.search.next_start = start
    else:
        # Time goes on until no pod waits in Permit any more; one of the copies may be refused.
        while (deadline := simulation.waiting.next_deadline) is not None:
            simulation.waiting.clock.jump(deadline)
            scheduler.settle()
        attempts = (scheduler.last[key] for key in keys)
        refusals = (attempt.why_not for attempt in attempts if not attempt.node)
        limited_by = next(refusals, "") or limited_by
    nodes = Counter(scheduler.placements[key] for key in keys if key in scheduler.placements)
    answer = CapacityResult(
        pod=pod.key,
        profile=framework.profile.scheduler_name,
        count=nodes.total(),
        nodes=dict(sorted(nodes.items())),
        limited_by=limited_by,
        cause=cause,
        stopped_at=maximum if nodes.total() == maximum else None,
        undecided=undecided,
    )
    return answer, bool(keys) or scheduler.changes != changes


def _try_until_misfit(
    simulation: Simulation, pod: PodInfo, copies: Iterator[PodInfo]
) -> tuple[list[str], Attempt | None]:
    """Return the keys of the copies that took a node, and the attempt of the first that did not."""
    keys: list[str] = []
    mates: list[Entry] = []
    count, scheduler = 1, simulation.scheduler
    if scheduler.is_grouped(pod):
        # 1. As many copies join the pod's group as its gang lacks, and are tried with its pods.
        groups, key = simulation.pod_groups, group_key(pod.pod)
        assert groups is not None
        assert key is not None
        group = groups.get(pod)
        least = (group.min_count if group is not None else None) or 0
        lacking = max(1, least - groups.scheduled_count(key))
        first = [*islice(copies, lacking)]
        for copy in first:
            groups.join(copy.pod)
        # A gang that was short of pods may be complete now.
        scheduler.renew()
        members = scheduler.members(groups.entity_of(pod.pod))
        mates = [entry for entry in members if entry.pod.uid != pod.uid]
        own = sum(group_key(entry.pod.pod) == key for entry in mates)
        count, copies = max(1, lacking - own), chain(first, copies)
    # 2. Copies are tried until one finds no node.
    while batch := [*islice(copies, count)]:
        if scheduler.is_grouped(batch[0]):
            entries = [*mates, *map(Entry.alone, batch)]
            scheduler.schedule_group(sorted(entries, key=lambda entry: -entry.pod.priority))
            attempts = [scheduler.last[copy.key] for copy in batch]
        else:
            attempts = [simulation.try_pod(copy)[-1] for copy in batch]
        keys += [attempt.pod for attempt in attempts if attempt.node]
        misfit = next((attempt for attempt in attempts if not attempt.node), None)
        if misfit is not None:
            return keys, misfit
        count, mates = 1, []
    return keys, None


# -- the question ---------------------------------------------------------------------------------


class Capacity(Question[CapacityResult], frozen=True, kw_only=True):
    """Count the further copies of a pod, or replicas of a workload, that fit.

    pod:     of the state
    maximum: how many are counted at most
    alone:   leave the pending pods out
    """

    pod: str
    maximum: int = MAX_COPIES
    alone: bool = False

    def answer(self, opened: Opened) -> CapacityResult:
        subject = opened.subject(self.pod)
        copies = copies_of(subject, self.maximum)
        with suppress(UsageError):  # a workload need not have pods
            opened.pods(subject)
        return copies.answer(self.maximum, self.alone)
