"""What gives pods a node, cheapest first, each remedy verified by a whole run.

Candidates come from the plugins that reject the pod (`Proposes`), from the cluster at the pod's
turn. They are tried from the cheapest on: the change is made to the state and everything is run. A
candidate after which the pod still waits is extended by what its plugins propose then.

The pods of a group are looked at in every topology domain that the group is tried in. Where it fits
in none, the domain in which most of its pods find a node is the one that the answer is about.
"""

from __future__ import annotations

import dataclasses
import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import chain, count
from time import monotonic
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.analysis.diagnosis import diagnose
from ksched_cli.analysis.gates import READS, held_by
from ksched_cli.analysis.group_placement import PodPlacement, group_placement
from ksched_cli.analysis.in_turns import states_in_turns
from ksched_cli.analysis.moves import Move, Mover, MoveSearch, NoMoves, UsageChange
from ksched_cli.analysis.named_objects import Subject, pods_of
from ksched_cli.analysis.placement_model import has_solver
from ksched_cli.analysis.proposals import (
    COSTS,
    MANY_NODE_COUNTS,
    MAX_TOGETHER,
    Candidate,
    ChangedObject,
    ConflictingReason,
    Step,
    candidates,
    conflict,
    fields_set,
    for_rejected_pod,
    kubectl_command,
    leaving_first,
    manifest_patches,
    other_schedulers,
    renewing_pods,
    subject_of,
    subjects_of,
    undoes,
    with_scaling,
)
from ksched_cli.analysis.question import Opened, PodOrManifest, Question
from ksched_cli.answers import HIDDEN, Count, Part, StateAnswer
from ksched_cli.cluster.change_record import ChangeRecord
from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.objects.pod import PENDING_AGAIN
from ksched_cli.cluster.pod_info import PodCatalog, PodInfo
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.engine import Focus
from ksched_cli.engine.evaluation import Mode
from ksched_cli.engine.queue import HELD_WITH_GROUP
from ksched_cli.engine.records import RunRecord
from ksched_cli.engine.simulation import Simulation
from ksched_cli.errors import ExitCode, InputError, MissingExtraError, UsageError
from ksched_cli.framework.interface import Proposal
from ksched_cli.framework.pod_groups import group_key
from ksched_cli.framework.preemption_trial import EvictionBudgets, budgets_of
from ksched_cli.framework.status import Defect
from ksched_cli.kube.gates import POD_GROUP_GATE
from ksched_cli.kube.quantity import whole_unit
from ksched_cli.kube.versions import NEWEST, Release, release_of
from ksched_cli.plugins.lower_requests import container_patch, lower_request, request_text
from ksched_cli.plugins.pod_topology_spread import spread_text
from ksched_cli.run.rollout import rolling, successors_of
from ksched_cli.scenario.arguments import read_selector, split_at_commas
from ksched_cli.scenario.change import ChangeError, apply_changes
from ksched_cli.scenario.file import parse_change
from ksched_cli.scenario.owned_pods import deployment_of
from ksched_cli.scenario.rollout import STUCK


class RemedyCost(Part, frozen=True):
    """What a remedy costs.

    points: all together; the less, the better
    disruption: running pods that stop, and come again or not
    evictions: pods that leave their node for the pod, be they placed elsewhere
    nodes: that are added
    requests: the largest share of a request that the pod gives up
    """

    points: float
    disruption: Count = 0
    evictions: Count = 0
    nodes: Count = 0
    requests: float = 0


class Aftermath(Part, frozen=True):
    """What else a remedy does.

    placed: other pods that waited and have a node then
    pending_again: pods that have a node without it and none with it, and those that DaemonSets make
                   for new nodes and that find no place there
    gone: pods that nothing makes anew
    moved: running pods that get another node; pod → node
    """

    placed: tuple[str, ...] = ()
    pending_again: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    moved: Mapping[str, str] = {}


class Remedy(Part, frozen=True):
    """Changes after which the pods have a node; a whole run has verified it.

    text: what to do, in words
    kinds: of the changes, as --never and --prefer take them
    changes: lines for --change
    commands: what does the same with kubectl, a line for each change; empty where nothing does
    patches: of manifests, as kustomize takes them; only for pods and workloads
    node: of the pod, or of the first of them
    because: the reasons that are lifted
    moves: running pods that move, in their order: each is evicted once the one before has a node
    usage: with moves, what is requested on the nodes that change
    pause: seconds between the commands, after which no pod backs off any more; 0 where it does not
           matter
    """

    text: str
    kinds: tuple[str, ...]
    changes: tuple[str, ...]
    commands: tuple[str, ...]
    patches: tuple[Any, ...]
    cost: RemedyCost
    node: str
    because: tuple[str, ...]
    verified: Literal[True] = True
    also: Aftermath = Aftermath()
    moves: tuple[Move, ...] = ()
    usage: tuple[UsageChange, ...] = ()
    pause: float = 0
    resolves: Annotated[tuple[str, ...], HIDDEN] = ()
    parts: Annotated[tuple[str, ...], HIDDEN] = ()


class Remedies(StateAnswer, frozen=True, kw_only=True):
    """The changes after which pods that wait have a node.

    pod: the pod or the workload asked about; "" with --pending
    pods: those of its pods that wait, or all that wait
    node: where the pod is placed without any change; "" where it waits, or there are several
    group: the pod group of that pod, where there is one
    blocked_by: the pod whose attempt is explained: the first that finds no node
    domain: KEY=VALUE of the topology domain that its group was tried in, of several the one where
            most of the group's pods find a node
    cause: what is in the way where the least is; with --pending, of the first pod that nothing
           helps
    remedies: best first
    unresolved: with --pending, the pods that none of the changes helps
    conflict: if there is no remedy, a smallest set of reasons that covers every node
    runs: how many runs were made
    tried: what was run and does not help, in words
    not_tried: what the search left out, and why
    held: with --pending, the pods that wait but are not in the queue
    placement: a node for each pod of a group, in an order in which the Filters allow each of them,
               where kube-scheduler does not find such; with --pending, of all such groups
    no_moves: why no moves of running pods are among the remedies; null where they are, or where no
              move could help
    """

    COMMAND: ClassVar = "fix"
    VIEW: ClassVar = "fix:view"
    ROWS: ClassVar = "remedies"

    kind: Literal["Remedies"] = "Remedies"
    pod: str
    pods: tuple[str, ...] = ()
    node: str = ""
    group: str = ""
    blocked_by: str = ""
    domain: str = ""
    cause: str = ""
    remedies: tuple[Remedy, ...] = ()
    unresolved: tuple[str, ...] = ()
    conflict: tuple[ConflictingReason, ...] = ()
    runs: Count = 0
    tried: tuple[str, ...] = ()
    not_tried: tuple[str, ...] = ()
    placement: tuple[PodPlacement, ...] = ()
    no_moves: NoMoves | None = None
    held: Annotated[tuple[str, ...], HIDDEN] = ()
    undecided: Annotated[bool, HIDDEN] = False

    @property
    def is_yes(self) -> bool:
        """Return whether all of the pods have a node, possibly after a remedy."""
        return not self.unresolved and (not self.pods or bool(self.remedies))

    @property
    def exit_code(self) -> ExitCode:
        return ExitCode.of(self.is_yes, self.undecided)


# -- what is in the way of pods, and what might help ----------------------------------------------

# As many domains in which equally many pods of a group find a node are looked at.
MAX_DOMAINS = 8


class Look(Struct, frozen=True):
    """A pod that finds no node, what is in its way, and what might help.

    subjects: what is changed so that the pod changes
    group, domain: of the pod, see Remedies
    """

    pod: PodInfo
    cause: str
    candidates: tuple[Candidate, ...]
    conflict: tuple[ConflictingReason, ...]
    subjects: tuple[ChangedObject, ...]
    group: str = ""
    domain: str = ""


class _LeftOutError(Exception):
    """A look that matters was left out."""


@dataclass(slots=True)
class Looks:
    """The looks of one run. A look costs more than many attempts, and in the end the one at the
    first pod that waits is all that matters. Mostly that is the first that found no node.

    pods:        those asked about; waiting: how many of them have no node before any change
    subjects_of: what is changed so that a pod changes
    is_complete: all pods that find no node are looked at, not the first of each domain alone
    """

    simulation: Simulation
    pods: frozenset[str]
    waiting: int
    subjects_of: Callable[[Pod], tuple[ChangedObject, ...]]
    is_complete: bool
    # By domain, then by pod; None where it was left out.
    _looks: dict[str, dict[str, Look | None]] = field(default_factory=dict)
    _fitting: dict[str, set[str]] = field(default_factory=dict)

    def look(self, pod: PodInfo) -> None:
        """Look at the cluster as it is before an attempt of one of the pods."""
        evaluation = self.simulation.evaluate(pod, Mode.REASONS)
        # KEY=VALUE of the domain that the pod's group is being tried in; "" where it may use any
        # node.
        groups, rows = self.simulation.pod_groups, self.simulation.pipeline.placement
        group = groups.get(pod) if groups is not None else None
        domain = ""
        if rows is not None and group is not None and len(rows):
            labels = self.simulation.snapshot.nodes[rows[0]].metadata.labels
            domain = f"{group.topology_key}={labels.get(group.topology_key, '')}"
        looks = self._looks.setdefault(domain, {})
        fitting = self._fitting.setdefault(domain, set())
        fitting.discard(pod.key)
        # The first attempt finds the most room, a later one what others have left since.
        was_left_out = pod.key in looks and looks[pod.key] is None
        earlier = looks.pop(pod.key, None)
        if len(evaluation.feasible):
            fitting.add(pod.key)
        elif not evaluation.error:
            counts = [len(self._fitting[each]) for each, looks in self._looks.items() if looks]
            own, most = len(fitting), max(counts, default=0)
            # Where no fewer pods find a node than in the domains looked at before.
            if own > most or (own == most and counts.count(most) < MAX_DOMAINS):
                is_first = not was_left_out and not any(looks.values())
                looks[pod.key] = None
                if self.is_complete or is_first:
                    diagnosis = diagnose(evaluation, self.simulation.state)
                    subjects = self.subjects_of(pod.pod)
                    before = earlier.candidates if earlier is not None else ()
                    proposed = candidates(self.simulation, pod, evaluation, self.waiting)
                    looks[pod.key] = Look(
                        pod,
                        diagnosis.cause if diagnosis else evaluation.fit_error(),
                        (*before, *(each.about(subjects) for each in proposed)),
                        conflict(evaluation),
                        subjects,
                        self._group(pod),
                        domain,
                    )

    def _group(self, pod: PodInfo) -> str:
        key = group_key(pod.pod) if self.simulation.pod_groups is not None else None
        return "/".join(key) if key is not None else ""

    def conclude(self, record: RunRecord) -> Look | None:
        """Return the look at the first pod that waits after the run, with what might help in any of
        the domains; None if no pod waits. Raises _LeftOutError where it was left out."""
        gated = [key for key in record.gated if key in self.pods]
        if gated:
            # Look at the first pod that a plugin holds back, rather than at one held back with it.
            with_group = HELD_WITH_GROUP.split("{}")[1]
            own = [first for first in gated if with_group not in record.gated[first].message]
            first = (own or gated)[0]
            status = record.gated[first]
            pod = next(pod for pod in self.simulation.pending() if pod.key == first)
            subjects = self.subjects_of(pod.pod)
            reason = ConflictingReason(status.plugin, status.message, len(self.simulation.snapshot))
            framework = self.simulation.frameworks[pod.spec.scheduler_name]
            advice = for_rejected_pod(framework, self.simulation.snapshot, pod, status)
            holder = held_by(pod.pod, self.simulation.state)
            return Look(
                pod,
                f"it is {status.message}" + (f"; {holder}" if holder else ""),
                tuple(each.about(subjects) for each in advice),
                (reason,),
                subjects,
                self._group(pod),
            )
        waiting = [key for key in record.pending if key in self.pods]
        in_domains = [
            next(looks[key] for key in waiting if key in looks)
            for looks in self._looks.values()
            if not looks.keys().isdisjoint(waiting)
        ]
        firsts = [look for look in in_domains if look is not None]
        if len(firsts) < len(in_domains):
            raise _LeftOutError
        if not firsts:
            return self._without_look(record)
        nearest = max(firsts, key=lambda look: len(self._fitting[look.domain]))
        proposed = (candidate for look in firsts for candidate in look.candidates)
        return replace(nearest, candidates=tuple(proposed))

    def _without_look(self, record: RunRecord) -> Look | None:
        """Look at the first pod that the scheduler never looks at, or whose attempt broke."""
        ignored = {each.pod: f"it is {each.reason}" for each in record.ignored}
        for pod in self.simulation.state.pods:
            if pod.key not in self.pods or (
                pod.key not in ignored and pod.key not in record.pending
            ):
                continue
            info = self.simulation.catalog.info(pod)
            subjects = self.subjects_of(pod)
            proposed: Iterable[Candidate] = ()
            if pod.key in ignored:
                cause = ignored[pod.key]
                if not (pod.finished or pod.deleting or pod.node_name):
                    proposed = other_schedulers(pod, self.simulation.frameworks)
            else:
                last = record.last[pod.key]
                cause = last.error or last.why_not
            return Look(
                info,
                cause,
                tuple(each.about(subjects) for each in proposed),
                (),
                subjects,
                self._group(info),
            )
        return None


# -- the search -----------------------------------------------------------------------------------

MAX_RUNS = 60
MOST_STEPS = 100  # of a rollout; the rest of a longer one is done at once
MAX_SECONDS = 60.0
MAX_REMEDIES = 5
MOVES_SECONDS = 30.0
# Plans are run for so long beside a remedy that disturbs no running pod.
BESIDE_SECONDS = 10.0
# Nodes and pods of the largest cluster in which moves are looked for beside such a remedy.
MOST_FOR_MOVES = 5_000
# The plugins whose rejections may end where running pods are elsewhere.
MAKING_ROOM = frozenset(
    (
        "DynamicResources",
        "InterPodAffinity",
        "NodePorts",
        "NodeResourcesFit",
        "NodeVolumeLimits",
        "PodTopologySpread",
        "VolumeRestrictions",
    )
)

# Points that a remedy costs besides its changes.
DISRUPTED_COST = 1.0  # of a running pod that stops
GONE_COST = 4.0  # of a pod that has no controller to make it anew
PENDING_AGAIN_COST = 30.0  # of a pod that had a node


@dataclass(frozen=True, slots=True)
class RemedySearch:
    """The limits and preferences of a search for remedies.

    prefer, never: kinds of changes
    max_runs, max_seconds: when the search ends
    most: how many remedies are enough
    stays: the pods that no remedy evicts
    max_moves: of running pods; None for any number
    time_limit: seconds after which the search for moves ends; without max_moves, it ends after one
                second beside a remedy that disturbs no running pod
    on_run: called after each run with how many were made, and how many there may be by the end of
            this search
    """

    prefer: frozenset[str] = frozenset()
    never: frozenset[str] = frozenset()
    max_runs: int = MAX_RUNS
    max_seconds: float = MAX_SECONDS
    most: int = MAX_REMEDIES
    stays: frozenset[str] = frozenset()
    max_moves: int | None = None
    time_limit: float = MOVES_SECONDS
    on_run: Callable[[int, int], None] | None = None

    def check(self) -> None:
        """Check the kinds that are preferred or left out. Raises UsageError for an unknown one."""
        for kind in sorted(self.prefer | self.never):
            if kind not in COSTS:
                raise UsageError(f'"{kind}" is no kind of change; expected {", ".join(COSTS)}')


class RemedyRun(Struct, frozen=True):
    """A run.

    nodes: of all pods that have one in the end
    look: at the first pod that waits
    successors: pods that a controller has replaced → those in their places
    """

    state: ClusterState
    record: RunRecord
    nodes: Mapping[str, str]
    look: Look | None
    successors: Mapping[str, str] = {}

    def current(self, key: str) -> str:
        """Return the key of the pod, or of the one in its place."""
        return self.successors.get(key, key)

    def places(self, pods: Iterable[str], before: RemedyRun) -> bool:
        """Return whether all of the pods have a node. One that had a node before may be gone, as
        where a rollout leaves fewer."""
        there = {pod.key for pod in self.state.pods}
        return all(
            self.current(key) in self.nodes
            for key in pods
            if key not in before.nodes or self.current(key) in there
        )


class _Frontier:
    """The candidates still to be tried, the cheapest first."""

    def __init__(self, search: RemedySearch, changes: Sequence[ChangeRecord]) -> None:
        """changes: those of the question, which no candidate undoes"""
        self._search = search
        self._fields = fields_set(changes)
        # What makes pods as they are not now: to make them anew is all that helps.
        self.confounded: set[ChangedObject] = set()
        self._numbers = count()
        self._queue: list[tuple[float, int, Candidate]] = []
        self._lines: set[tuple[str, ...]] = set()
        self._left: Counter[str] = Counter()

    def push(self, proposed: Iterable[Candidate]) -> None:
        for candidate in proposed:
            if never := self._search.never.intersection(candidate.kinds):
                self._left[f"of kind {', '.join(sorted(never))} (--never)"] += 1
            elif not self._search.stays.isdisjoint(candidate.evicts):
                self._left["evict pods of --never"] += 1
            elif self._fields and undoes(candidate.lines, self._fields):
                self._left["undo what --change does"] += 1
            else:
                cost = candidate.cost(self._search.prefer)
                heapq.heappush(self._queue, (cost, next(self._numbers), candidate))

    def extend(self, candidate: Candidate, more: Iterable[Candidate], of_several: bool) -> None:
        """Push the candidate together with each of the others."""
        extended = (candidate.extended(each, of_several=of_several) for each in more)
        self.push(
            each for each in extended if each is not None and len(each.proposals) <= MAX_TOGETHER
        )

    def pop(self, helping: Iterable[tuple[str, ...]]) -> Candidate | None:
        """Return the next candidate, except those whose kinds include all kinds of one that helps,
        at whatever price; None if there is none."""
        while self._queue:
            _, _, candidate = heapq.heappop(self._queue)
            if any(map(candidate.patches, self.confounded)):
                self._left["of a template that the pods differ from"] += 1
                continue
            if not any(set(kinds) <= set(candidate.kinds) for kinds in helping):
                return candidate
            self._left["of the same kinds as a cheaper remedy"] += 1
        return None

    def is_new(self, lines: tuple[str, ...]) -> bool:
        """Return whether the lines are seen for the first time."""
        count_before = len(self._lines)
        self._lines.add(lines)
        return len(self._lines) > count_before

    def not_tried(self, why: str) -> Counter[str]:
        """Return by reason how many candidates were left out. why: the search ended with candidates
        left"""
        self._left[why] += len(self._queue)
        return +self._left


@dataclass(slots=True)
class Fixer:
    """Searches for the remedies of some pods.

    open:  a simulation of a state
    state: before any remedy
    release: whose controllers roll changed templates out
    placement: see Remedies
    empty_protects: whether a budget with an empty selector protects all pods of its namespace
    """

    open: Callable[[ClusterState], Simulation]
    state: ClusterState
    search: RemedySearch
    release: Release = field(default_factory=lambda: release_of(NEWEST, ""))
    workloads: bool = True
    empty_protects: bool = False
    runs: int = 0
    tried: list[str] = field(default_factory=list)
    placement: tuple[PodPlacement, ...] = ()
    failed: bool = False
    defects: dict[tuple[str, str, str], Defect] = field(default_factory=dict)
    _start: float = field(default_factory=monotonic)
    _last_run: int = field(init=False)
    _moves_until: float = 0
    # Those of the question, which no remedy undoes.
    changes: tuple[ChangeRecord, ...] = field(init=False)

    def __post_init__(self) -> None:
        self._last_run = self.search.max_runs
        self.changes = self.state.changes

    # -- runs -------------------------------------------------------------------------------------

    def run(self, lines: Sequence[str], pods: frozenset[str]) -> RemedyRun:
        """Run everything after the changes. pods: the look is at the first of them that waits.
        Raises UsageError and InputError for changes that cannot be made."""
        state = self.changed(lines)
        successors = successors_of(self.state, state) if lines else {}
        pods |= {successors[key] for key in pods if key in successors}
        try:
            simulation, record, looked = self._looked_run(state, pods)
        except _LeftOutError:
            simulation, record, looked = self._looked_run(state, pods, is_complete=True)
        self.runs += 1
        if self.search.on_run is not None:
            self.search.on_run(self.runs, max(self.runs, self._last_run))
        nodes = record.nodes(state.pods)
        self.failed |= not pods.isdisjoint(record.failed)
        self.defects |= simulation.caller.defects
        return RemedyRun(state, record, nodes, looked, successors)

    def _looked_run(
        self, state: ClusterState, pods: frozenset[str], *, is_complete: bool = False
    ) -> tuple[Simulation, RunRecord, Look | None]:
        """Run everything, and look at the first of the pods that waits. is_complete: see Looks.
        Raises _LeftOutError, only where that is False."""
        simulation = self.open(state)
        # What others have written may fail in any look, and is not asked twice.
        is_complete |= bool(simulation.caller.foreign or simulation.extenders.extenders)
        waiting = sum(pod.key in pods and not pod.node_name for pod in self.state.pods)
        looks = Looks(
            simulation, pods, waiting, lambda pod: subjects_of(pod, pods, self.state), is_complete
        )
        simulation.focus = Focus(pods, looks.look, records_detail=False, in_every_placement=True)
        record = simulation.run()
        simulation.focus = None
        simulation.close()
        return simulation, record, looks.conclude(record)

    def changed(self, lines: Sequence[str]) -> ClusterState:
        """Return the state after changes. Raises UsageError and InputError."""
        changes = [parse_change(line) for line in lines]
        roll = rolling(self.open, self.release, MOST_STEPS)
        return apply_changes(self.state, changes, workloads=self.workloads, roll=roll)[0]

    def places(
        self, lines: Sequence[str], pods: Iterable[str], before: RemedyRun, after: RemedyRun
    ) -> bool:
        """Return whether all of the pods have a node after the changes, made at one instant as well
        as one after the other. after: at one instant"""
        if not after.places(pods, before):
            return False
        roll = rolling(self.open, self.release, MOST_STEPS)
        try:
            *_, state = states_in_turns(
                self.open, self.state, lines, roll=roll, workloads=self.workloads
            )
        except (UsageError, InputError):
            return False
        nodes = {pod.key: pod.node_name for pod in state.pods if pod.node_name}
        successors = successors_of(self.state, state)
        return RemedyRun(state, after.record, nodes, None, successors).places(pods, before)

    def all_places(
        self, remedies: Sequence[Remedy], pods: frozenset[str], before: RemedyRun
    ) -> bool:
        """Return whether all of the pods have a node after the remedies."""
        lines = [line for each in remedies for line in each.changes]
        return self.places(lines, pods, before, self.run(lines, frozenset()))

    @property
    def _limit(self) -> str:
        """Return the limit that the search has reached, or ""."""
        if self.runs >= self._last_run:
            return f"--max-runs {self.search.max_runs:,}"
        elapsed = monotonic() - self._start
        is_over = elapsed > self.search.max_seconds
        return f"--max-seconds {self.search.max_seconds:g}" if is_over else ""

    # -- moves ------------------------------------------------------------------------------------

    def with_moves(
        self,
        remedies: Sequence[Remedy],
        pods: frozenset[str],
        before: RemedyRun,
        *,
        some: bool = False,
    ) -> tuple[list[Remedy], NoMoves | None]:
        """Return the remedies with that of moves among them, best first, and why there is none.

        pods: those that wait; some: most of them are enough, where not all can have a node
        """
        search, look = self.search, before.look
        if "move" in search.never:
            return [*remedies], None
        conflicting = {each.plugin for each in look.conflict} if look is not None else MAKING_ROOM
        evicts = look is not None and any(each.evicts for each in look.candidates)
        if not (evicts or MAKING_ROOM & conflicting):
            return [*remedies], None
        # A second search has the time that the first one left.
        self._moves_until = self._moves_until or monotonic() + search.time_limit
        seconds, deadline = search.time_limit, self._moves_until
        if search.max_moves is None and not all(each.cost.disruption for each in remedies):
            # A remedy disturbs no running pod: moves are worth little work.
            seconds, deadline = min(seconds, 1.0), min(deadline, monotonic() + BESIDE_SECONDS)
            if len(self.state.nodes) + len(self.state.pods) > MOST_FOR_MOVES:
                why = "moves of running pods, which --max-moves looks for in a cluster of this size"
                return [*remedies], NoMoves("not searched", (why,))
        plan = Mover(
            self.open,
            rolling(self.open, self.release, MOST_STEPS),
            self.state,
            before.nodes,
            MoveSearch(
                search.max_moves,
                seconds,
                lambda pod: pod.key in search.stays,
                deadline,
            ),
            workloads=self.workloads,
        ).plan(pods, some=some)
        if isinstance(plan, NoMoves):
            return [*remedies], plan
        if not plan.moves:
            return [*remedies], None
        # The remedy that makes the plan's moves.
        simulation = self.open(plan.state)
        record = simulation.run()
        simulation.close()
        self.runs += 1
        after = RemedyRun(plan.state, record, record.nodes(plan.state.pods), None)
        also = aftermath(before, after, plan.waiting)
        count = len(plan.moves)
        texts = [f"{each.pod} from {each.from_node} to {each.to_node}" for each in plan.moves]
        text = f"move {', and '.join(texts)}"
        preference = 10 if "move" in search.prefer else 1
        points = (COSTS["move"] + count) / preference + DISRUPTED_COST * count
        points += PENDING_AGAIN_COST * len(also.pending_again)
        moving = Remedy(
            text,
            ("move",),
            plan.lines,
            tuple(map(kubectl_command, plan.lines)),
            (),
            RemedyCost(round(points, 2), count, count),
            after.nodes[min(plan.waiting)],
            tuple(f"{each.plugin}: {each.reason}" for each in look.conflict)
            if look is not None
            else (),
            also=also,
            moves=plan.moves,
            pause=simulation.configuration.pod_max_backoff_seconds if plan.is_slow else 0,
            usage=plan.usage,
            resolves=tuple(sorted(plan.waiting)),
            parts=(text,),
        )
        both = sorted([*remedies, moving], key=lambda each: each.cost.points)
        return both[: search.most], None

    # -- the search -------------------------------------------------------------------------------

    def remedies(  # noqa: C901, PLR0912  # one search, from top to bottom
        self, pods: frozenset[str], before: RemedyRun, name: str = "the search"
    ) -> tuple[list[Remedy], Counter[str]]:
        """Return the remedies of the pods, best first, and how many changes were not tried, by the
        reason.

        pods: all have a node with a remedy, also those that have one without
        before: the run without any change, which counts towards --max-runs
        name: of the search, in these reasons
        """
        frontier = _Frontier(self.search, self.changes)
        self._last_run = self.search.max_runs + self.runs - 1
        assert before.look is not None
        # A group's pods may have a placement that the scheduler does not come to.
        placement = None
        if before.look.group and "placement" not in self.search.never:
            placement = group_placement(self.open, self.state, pods, self.search.time_limit)
        if placement is not None:
            self.placement += placement.pods
        placing = placement.candidates if placement is not None else ()
        frontier.push(chain(with_scaling(before.look.candidates, self.state), placing))
        # Pods that are not as their template says are made anew, where that alone helps. Then no
        # patch of the template is the cause of what it does: the frontier leaves them out.
        by_kinds: dict[tuple[str, ...], Remedy] = {}
        subject = before.look.subjects[0]
        control = renewing_pods(before.look.pod.pod, subject, self.state)
        after = None if control is None else self._try(control.lines, pods)
        if (
            control is not None
            and after is not None
            and self.places(control.lines, pods, before, after)
        ):
            frontier.confounded.add(subject)
            if remedy := self._remedy(control, before, after, pods):
                by_kinds[control.kinds] = remedy
        settled = {*by_kinds}
        while len(by_kinds) < self.search.most and not self._limit:
            candidate = frontier.pop(settled)
            if candidate is None:
                break
            lines = candidate.lines
            if not frontier.is_new(lines) or self._violates_budgets(candidate.evicts):
                continue
            if (after := self._try(lines, pods)) is None:
                continue
            if not after.places(pods, before):
                self.tried.append(candidate.text)
                # More may help besides: also that old pods leave first, where they are in the way.
                more = [*with_scaling(after.look.candidates if after.look else (), self.state)]
                effects = (each for change in after.state.changes for each in change.effects)
                if any(each.action == STUCK for each in effects):
                    more += leaving_first(before.look.subjects)
                frontier.extend(candidate, more, len(pods - before.nodes.keys()) > 1)
            elif not self.places(lines, pods, before, after):
                self.tried.append(f"{candidate.text}: not if made one after the other")
                frontier.push(filter(None, (candidate.with_nodes_last(),)))
            else:
                settled.add(candidate.kinds)
                # The remedy changes the least, where the candidate changes too much.
                candidate, after = self._largest_request(candidate, before, after, pods)
                candidate, after = self._fewest_nodes(candidate, before, after, pods)
                if remedy := self._remedy(candidate, before, after, pods):
                    by_kinds[candidate.kinds] = remedy
        enough = len(by_kinds) >= self.search.most
        limit = "enough remedies were found" if enough else f"{name} stopped at {self._limit}"
        best_first = sorted(by_kinds.values(), key=lambda each: each.cost.points)
        return best_first, frontier.not_tried(limit)

    def _largest_request(
        self, candidate: Candidate, before: RemedyRun, after: RemedyRun, pods: frozenset[str]
    ) -> tuple[Candidate, RemedyRun]:
        """Return, where one request is lowered, the most of it with which the pods are placed and
        no other pod is evicted: more than is free at the pod's turn where that depends on the
        pod."""
        look = before.look
        assert look is not None
        resources: set[str] = set()
        for each in candidate.proposals:
            of_pod = (each.patch.get("spec") or {}).get("resources") or {}
            for container in _containers(each):
                resources.update(container["resources"]["requests"])
            resources.update(of_pod.get("requests") or {})
        if (
            candidate.kinds != ("request",)
            or len(resources) != 1
            or candidate.subjects != (look.subjects,)
        ):
            return candidate, after
        (resource,), pod = resources, look.pod
        changed = next(each for each in after.state.pods if each.key == after.current(pod.key))
        low = PodCatalog.of(self.release).info(changed).resources.requests[resource]
        high, step = pod.resources.requests[resource], whole_unit(resource, low)
        middle = low + step
        evicted = {each.pod for each in after.record.evicted}
        while low < middle < high and not self._limit:
            lower = lower_request(pod, {resource: middle})
            if lower is None:
                break  # other changes have lowered it, too
            larger = Candidate((lower,), candidate.because, candidate.subjects)
            outcome = self._try(larger.lines, pods)
            if (
                outcome is not None
                and self.places(larger.lines, pods, before, outcome)
                and {each.pod for each in outcome.record.evicted} <= evicted
            ):
                candidate, after, low = larger, outcome, middle
            else:
                high = middle
            middle = (low + high) // 2 // step * step
        return candidate, after

    def _fewest_nodes(
        self, candidate: Candidate, before: RemedyRun, after: RemedyRun, pods: frozenset[str]
    ) -> tuple[Candidate, RemedyRun]:
        """Return, where many nodes are added, the fewest of them with which the pods are placed."""
        many = len(after.state.nodes) - len(self.state.nodes)
        if candidate.kinds != ("node",) or many not in MANY_NODE_COUNTS:
            return candidate, after
        enough, lacking = many, many // 2
        while enough - lacking > 1 and not self._limit:
            middle = (lacking + enough) // 2
            fewer = candidate.with_nodes(many, middle)
            outcome = self._try(fewer.lines, pods)
            if outcome is not None and self.places(fewer.lines, pods, before, outcome):
                candidate, after, enough, many = fewer, outcome, middle, middle
            else:
                lacking = middle
        return candidate, after

    def _try(self, lines: Sequence[str], pods: frozenset[str]) -> RemedyRun | None:
        """Try the changes. Return None if they cannot be made."""
        try:
            return self.run(lines, pods)
        except (UsageError, InputError):
            return None

    def _violates_budgets(self, evicted: Set[str]) -> bool:
        protects = self.empty_protects
        budgets = budgets_of(self.state.pod_disruption_budgets.values(), empty_protects=protects)
        if not evicted or not budgets:
            return False
        catalog = PodCatalog.of(self.release)
        infos = [catalog.info(pod) for pod in self.state.pods if pod.key in evicted]
        return bool(EvictionBudgets(budgets, covers_bare=protects).pdb_violated_by(infos))

    def _remedy(
        self,
        candidate: Candidate,
        before: RemedyRun,
        after: RemedyRun,
        pods: frozenset[str],
    ) -> Remedy | None:
        """Return the remedy; None if it violates disruption budgets, or more pods lose their
        node than get one without saying so."""
        evicted = {eviction.pod for eviction in after.record.evicted}
        evicted -= {eviction.pod for eviction in before.record.evicted}
        if self._violates_budgets(evicted):
            return None
        lines = candidate.lines
        also = aftermath(before, after, pods)
        evicts = {"priority", "evict", "scale"}.intersection(candidate.kinds)
        if not evicts and len(also.pending_again) > len(pods) + len(also.placed):
            return None
        texts = [self._text(step, after) for step in candidate.steps]
        # The cost is that of the changes, and of the pods that stop, or have no node any more.
        running = {pod.key for pod in self.state.pods if pod.node_name and not pod.finished}
        running &= before.nodes.keys()
        # A rollout has placed pods already that it has made anew.
        same = {id(pod) for pod in self.state.pods}
        remaining = {
            pod.key
            for pod in after.state.pods
            if pod.node_name and (id(pod) in same or pod.status is not PENDING_AGAIN)
        }
        disruption = len((running - remaining) | evicted)
        amounts = [p.amount for p in candidate.proposals if p.kind == "request"]
        points = (
            candidate.cost(self.search.prefer)
            + DISRUPTED_COST * disruption
            + GONE_COST * len(also.gone)
            + PENDING_AGAIN_COST * len(also.pending_again)
        )
        cost = RemedyCost(
            round(points, 2),
            disruption,
            len(candidate.evicts | evicted),
            len(after.state.nodes) - len(self.state.nodes),
            round(max(amounts, default=0), 4),
        )
        # Pods are deleted once, after all patches.
        notes = dict.fromkeys(filter(None, (step.note for step in candidate.steps)))
        parts = (*texts[:-1], texts[-1] + "".join(notes))
        return Remedy(
            ", and ".join(parts),
            candidate.kinds,
            lines,
            tuple(map(kubectl_command, lines)),
            manifest_patches(candidate.steps),
            cost,
            after.nodes[after.current(min(pods - before.nodes.keys()))],
            candidate.because,
            also=also,
            parts=parts,
        )

    def _text(self, step: Step, after: RemedyRun) -> str:
        """Return the text of a step: what changes, and whose it is."""
        proposal, before = step.proposal, self.state.pods
        if not (proposal.patch or proposal.requests):
            return proposal.text
        own = (pod for pod in before if subject_of(pod, self.state) in step.subjects)
        # A running pod may stay as it is.
        pod = min(own, key=lambda pod: bool(pod.node_name))
        subject = subject_of(pod, self.state)
        text = self._changed_text(proposal, pod, after) + subject.where
        if pod.metadata.controller is not None and subject.kind == "Pod":
            # The state does not have the template that has to be changed.
            owner = "/".join(pod.owner)
            text += f" (in {owner}, which makes the pod and is not in this state)"
        return text

    def _changed_text(self, proposal: Proposal, pod: Pod, after: RemedyRun) -> str:
        """Return the proposal's text; of requests and spread constraints from what they are before
        and after all changes."""
        if proposal.kind not in ("request", "spread"):
            return proposal.text
        changed = next(each for each in after.state.pods if each.key == after.current(pod.key))
        if proposal.kind == "spread":
            old, new = (each.spec.topology_spread_constraints for each in (pod, changed))
            # The pods of one workload may differ from each other, and from its template.
            return spread_text(old, new) if len(old) == len(new) else proposal.text
        catalog = PodCatalog.of(self.release)
        own, lower = catalog.info(pod), catalog.info(changed).resources.requests
        limits = {
            name: lower[name] for name, n in own.resources.requests.items() if lower[name] < n
        }
        if not limits:
            return proposal.text
        lowered = {each["name"]: each["resources"]["requests"] for each in _containers(proposal)}
        text = request_text(own, limits, lowered)
        # It says why it is so much where nothing has changed since.
        return proposal.text if proposal.text.startswith(text) else text


def _containers(proposal: Proposal) -> list[Any]:
    """Return the patches of containers that request less."""
    init = (proposal.patch.get("spec") or {}).get("initContainers") or ()
    return [*init, *(container_patch(*each) for each in proposal.requests.items())]


def aftermath(before: RemedyRun, after: RemedyRun, pods: frozenset[str]) -> Aftermath:
    """Return the other effects of the changes between two runs. pods: those that are to have a
    node"""
    there = {pod.key for pod in after.state.pods}
    evicted = {eviction.pod for eviction in after.record.evicted}
    lost = sorted(
        key
        for key in before.nodes
        if key not in after.nodes and key not in pods and key not in after.successors
    )
    existing = {pod.key for pod in before.state.pods}
    own = pods.union(map(after.current, pods))
    gained = after.nodes.keys() - before.nodes.keys() - own
    # Those that waited, and those that would be evicted.
    placed = (
        pod.key
        for pod in before.state.pods
        if pod.key in gained and pod.node_name in ("", after.nodes[pod.key])
    )
    waiting = {key for key in after.record.pending if key not in existing and key not in own}
    ran = {
        pod.key: pod.node_name
        for pod in before.state.pods
        if pod.node_name and pod.key in before.nodes
    }
    moves = {key: after.nodes.get(after.current(key), "") for key in sorted(ran.keys() - pods)}
    return Aftermath(
        tuple(sorted(placed)),
        tuple(sorted(waiting.union(key for key in lost if key in there or key in evicted))),
        tuple(key for key in lost if key not in there and key not in evicted),
        {key: node for key, node in moves.items() if node not in ("", ran[key])},
    )


def remedies_of(subject: Subject, search: RemedySearch, *, pending: bool = False) -> Remedies:
    """Search for changes that would give the subject's pods a node. pending: all pods that stay
    pending instead. Raises KschedError."""
    simulation, name = subject.simulation, subject.name
    release = simulation.configuration.release
    fixer = Fixer(
        subject.simulation_of,
        simulation.state,
        search,
        release=release,
        workloads=subject.run.workloads,
        empty_protects=release.rules.empty_selector_protects,
    )
    if pending:
        answer = fix_pending(fixer)
    else:
        answer = fix(fixer, name, pods_of(simulation, name, subject.namespace))
    simulation.caller.defects.update(fixer.defects)
    return answer


def fix(fixer: Fixer, name: str, pods: frozenset[str]) -> Remedies:
    """Search for changes that would give all of the pods a node. name: what was asked about"""
    before = fixer.run((), pods)
    name = min(pods) if len(pods) == 1 else name
    waiting = tuple(key for key in sorted(pods) if key not in before.nodes)
    answer = Remedies(pod=name, pods=waiting, runs=fixer.runs, undecided=fixer.failed)
    if not waiting:
        return replace(answer, node=before.nodes[name]) if len(pods) == 1 else answer
    if before.look is None:
        return answer
    proposed, not_tried = fixer.remedies(pods, before)
    remedies, no_moves = fixer.with_moves(proposed, frozenset(waiting), before)
    return replace(
        answer,
        placement=fixer.placement,
        no_moves=no_moves,
        group=before.look.group,
        blocked_by=before.look.pod.key,
        domain=before.look.domain,
        cause=before.look.cause,
        remedies=tuple(remedies),
        conflict=() if remedies else before.look.conflict,
        runs=fixer.runs,
        tried=tuple(dict.fromkeys(fixer.tried)),
        not_tried=left_out(not_tried),
        undecided=fixer.failed,
    )


def left_out(not_tried: Counter[str]) -> tuple[str, ...]:
    """Return what was left out, as an answer lists it. not_tried: the reason → how many changes"""
    return tuple(
        f"{number:,} change{'' if number == 1 else 's'}: {why}" for why, number in not_tried.items()
    )


# -- all pending pods: a remedy for each owner's pods, joined into one ----------------------------


def fix_pending(fixer: Fixer) -> Remedies:
    """Take for one owner's pods after the other the remedy that helps most pending pods for its
    points, then leaves out the changes that the others make needless."""
    first = fixer.run((), frozenset())
    waiting = first.record.pending
    held = frozenset(first.record.gated).union(each.pod for each in first.record.ignored)
    may_wait = (each for each in fixer.state.pods if not (each.finished or each.deleting))
    held &= {each.key for each in may_wait if not each.node_name}
    answer = Remedies(pod="", pods=waiting, runs=fixer.runs, held=tuple(sorted(held)))
    owners = {pod.key: _owner_key(pod, fixer.release) for pod in fixer.state.pods}
    original, outcome = fixer.state, first
    # Pods that waited → those in their places, after the remedies so far.
    names = {key: key for key in waiting}
    # Each with the pods that waited, and wait no more.
    chosen: list[tuple[Remedy, frozenset[str]]] = []
    hopeless: set[str] = set()
    looks: list[Look] = []
    not_tried: Counter[str] = Counter()
    while rest := [
        names[key]
        for key in waiting
        if names[key] not in outcome.nodes and names[key] not in hopeless
    ]:
        owner = owners[rest[0]]
        pods = frozenset(key for key in rest if owner[1] and owners[key] == owner)
        pods |= {rest[0]}  # it may have no owner
        # Those of its pods that have a node keep one.
        pods |= {key for key in outcome.nodes if owner[1] and owners.get(key) == owner}
        before = fixer.run((), pods)
        remedies: list[Remedy] = []
        if before.look is not None:
            name = "the search for one owner's pods"
            remedies, left = fixer.remedies(pods, before, name)
            not_tried += left
        if not remedies:
            hopeless |= pods - outcome.nodes.keys()
            looks += [before.look] if before.look is not None else []
            continue
        best = max(remedies, key=lambda each: (1 + len(each.also.placed)) / (each.cost.points + 1))
        chosen.append((best, frozenset(key for key in waiting if names[key] in pods)))
        earlier, fixer.state = fixer.state, fixer.changed(best.changes)
        successors = successors_of(earlier, fixer.state)
        names = {key: successors.get(name, name) for key, name in names.items()}
        owners |= {pod.key: _owner_key(pod, fixer.release) for pod in fixer.state.pods}
        outcome = fixer.run((), frozenset())
    fixer.state = original
    resolved = frozenset(key for key in waiting if names[key] not in hopeless)
    chosen, resolved = _in_order(fixer, first, chosen, resolved)
    joined = _joined(fixer, first, [each for each, _ in chosen], resolved)
    no_moves = None
    if waiting:
        together = frozenset(waiting)
        remedies, no_moves = fixer.with_moves(joined, together, first)
        if no_moves is not None and not joined:
            # Where nothing helps all of them, moves may help most.
            remedies, _ = fixer.with_moves((), together, first, some=True)
        for remedy in remedies:
            # A remedy of all pods goes before one of a few.
            if remedy.moves and len(remedy.resolves) > len(resolved):
                resolved, joined = frozenset(remedy.resolves), (remedy,)
            elif remedy.moves and len(remedy.resolves) == len(resolved):
                joined = tuple(remedies)
    return replace(
        answer,
        remedies=joined,
        placement=fixer.placement,
        no_moves=no_moves,
        unresolved=tuple(key for key in waiting if key not in resolved),
        blocked_by=looks[0].pod.key if looks else "",
        cause=looks[0].cause if looks else "",
        runs=fixer.runs,
        tried=tuple(dict.fromkeys(fixer.tried)),
        not_tried=left_out(not_tried),
        undecided=fixer.failed,
    )


def _owner_key(pod: Pod, release: Release) -> tuple[str, object]:
    """Return the namespace, and the group or the controller that pods have in common which are
    placed together; a pod without either has None in its place."""
    group = group_key(pod) if release.enabled(POD_GROUP_GATE) else None
    return pod.namespace, group or deployment_of(pod) or pod.metadata.controller


def _in_order(
    fixer: Fixer,
    before: RemedyRun,
    chosen: list[tuple[Remedy, frozenset[str]]],
    resolved: frozenset[str],
) -> tuple[list[tuple[Remedy, frozenset[str]]], frozenset[str]]:
    """Return the remedies in an order in which they help when they are made one after the other,
    and the pods that have a node then. The last one may have to be the first, or is left out."""
    while chosen:
        for order in (chosen, [chosen[-1], *chosen[:-1]]):
            if fixer.all_places([remedy for remedy, _ in order], resolved, before):
                return order, resolved
        remedy, pods = chosen[-1]
        chosen, resolved = chosen[:-1], resolved - pods
        fixer.tried.append(f"{remedy.text}: not together with the others")
    return [], frozenset()


def _joined(
    fixer: Fixer, before: RemedyRun, chosen: Sequence[Remedy], pods: frozenset[str]
) -> tuple[Remedy, ...]:
    """Join the remedies into one, without those that are not needed."""
    if not chosen:
        return ()
    for remedy in tuple(chosen):
        others = [each for each in chosen if each is not remedy]
        if others and fixer.all_places(others, pods, before):
            chosen = others
    lines = [line for each in chosen for line in each.changes]
    after = fixer.run(lines, frozenset())
    also = aftermath(before, after, pods)
    total = RemedyCost(
        round(sum(each.cost.points for each in chosen), 2),
        sum(each.cost.disruption for each in chosen),
        sum(each.cost.evictions for each in chosen),
        sum(each.cost.nodes for each in chosen),
        max(each.cost.requests for each in chosen),
    )
    return (
        Remedy(
            "; ".join(each.text for each in chosen),
            tuple(sorted({kind for each in chosen for kind in each.kinds})),
            tuple(lines),
            tuple(map(kubectl_command, lines)),
            tuple(patch for each in chosen for patch in each.patches),
            total,
            after.nodes[after.current(min(pods))],
            tuple(dict.fromkeys(reason for each in chosen for reason in each.because)),
            also=also,
            parts=tuple(each.text for each in chosen),
        ),
    )


class Fix(Question[Remedies], frozen=True, kw_only=True):
    """Find what gives a pod, or all pods of a workload, a node, cheapest first.

    pod:     None: all pods that stay pending
    prefer:  kinds of changes
    never:   the same; KIND/NAME, and label selectors as -l takes them, of pods that no remedy
             evicts: `app=web`, `app in (a,b)`, `tier!=web`, `!tier`, or after `-l ` any other
    top:     how many remedies are enough
    max_runs, max_seconds: when the search ends
    max_moves, time_limit: of the search for moves; see RemedySearch
    """

    READS: ClassVar = READS

    pod: PodOrManifest | None = None
    prefer: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    top: int = MAX_REMEDIES
    max_runs: int = MAX_RUNS
    max_seconds: float = MAX_SECONDS
    max_moves: int | None = None
    time_limit: float = MOVES_SECONDS

    def answer(self, opened: Opened) -> Remedies:
        # Names of kinds have none of these characters.
        stay = [each for each in self.never if any(map(each.__contains__, "/=! ("))]
        search = RemedySearch(
            prefer=frozenset(self.prefer),
            never=frozenset(self.never) - {*stay},
            max_runs=self.max_runs,
            max_seconds=self.max_seconds,
            most=self.top,
            max_moves=self.max_moves,
            time_limit=self.time_limit,
        )
        search.check()
        if self.max_moves and not has_solver():
            raise MissingExtraError("--max-moves", "optimum")
        subject = opened.subject("" if self.pod is None else self.pod)
        if self.pod is not None:
            opened.pods(subject)
        # The pods that no remedy evicts: of a workload, or selected by their labels.
        stays: set[str] = set()
        for each in stay:
            text = each.strip().removeprefix("-l ")
            # Keys of labels may have a slash, too.
            if text != each.strip() or any(map(text.__contains__, "=! (")):
                try:
                    selector = read_selector("", text)
                except ChangeError as error:
                    raise UsageError(f"--never {each}: {error.problem}") from None
                pods = subject.simulation.state.pods
                selected = {pod.key for pod in pods if selector.matches(pod.metadata.labels)}
                if not selected:
                    opened.warn(f"--never {each}: the state has no such pod")
                stays |= selected
            else:
                stays |= pods_of(subject.simulation, each, subject.namespace)
        search = dataclasses.replace(search, stays=frozenset(stays))
        with opened.observer.progress("runs") as on_run:
            search = dataclasses.replace(search, on_run=on_run)
            return remedies_of(subject, search, pending=self.pod is None)


def listed_never(text: str) -> list[str]:
    """Return what one --never lists: `-l SELECTOR` is one entry, whatever commas it has."""
    return [text] if text.lstrip().startswith("-l ") else [*filter(None, split_at_commas(text))]
