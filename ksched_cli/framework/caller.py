"""Calls plugins: the one place where a plugin's code runs, at any extension point.

A PluginError that a plugin raises is its answer. Any other exception, and an answer of the wrong
type or shape, is a defect: it is recorded with its traceback, and the run goes on. Plugins that are
not in-tree may change nothing they are given: arrays are read-only views, the snapshot is sealed,
and a pod that differs after the call is a defect. Answers of in-tree plugins are not checked.

Upstream: pkg/scheduler/framework/runtime/framework.go (the run…Plugin methods).
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeVar, cast

import numpy as np

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import USAGE_DIGITS, PodWatcher, RowAmounts, Rows, Snapshot
from ksched_cli.errors import PluginDefectError, UsageError
from ksched_cli.framework.answer_checks import (
    ReadOnlyCalls,
    check_placement_scores,
    check_status,
    check_victims,
    checked_permit,
    checked_placements,
    checked_result,
    checked_room,
    checked_scores,
    checked_verdicts,
    expect,
    expect_texts,
    named_rejection,
)
from ksched_cli.framework.call_trace import CallTrace
from ksched_cli.framework.cluster_events import (
    BY_DEFAULT,
    ClusterEvent,
    IsConcerned,
    PreQueueingHints,
    QueueingHint,
    Registration,
    check_registrations,
    registrations_of,
    with_taints,
)
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.failures import (
    FAILURES,
    CallLimit,
    described,
    is_foreign,
    raise_users_interrupt,
)
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.in_tree_interface import (
    ComparesResources,
    GroupPreemptionPlugin,
    RankedNodes,
    RankNodesPlugin,
    RowScorer,
    ScoresRows,
)
from ksched_cli.framework.interface import (
    MAX_NODE_SCORE,
    MIN_NODE_SCORE,
    CountsUsage,
    Explains,
    FilterPlugin,
    GroupsPods,
    NormalizeScore,
    PermitPlugin,
    PlacementFeasiblePlugin,
    PlacementGeneratePlugin,
    PlacementProgress,
    PlacementScorePlugin,
    Plugin,
    PodGroupPostFilterPlugin,
    PostFilterPlugin,
    PostFilterResult,
    PreFilterExtensions,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    Proposal,
    Proposes,
    QueuedPod,
    QueueSortPlugin,
    Scope,
    ScorePlugin,
    SignPlugin,
    TimesRuns,
)
from ksched_cli.framework.node_statuses import NodeStatuses
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.pod_groups import (
    GroupKey,
    GroupRoom,
    PlacedPod,
    Placement,
    PodGroup,
    RejectedGroup,
)
from ksched_cli.framework.registry import PluginEntry
from ksched_cli.framework.results import Scores, Verdicts
from ksched_cli.framework.status import (
    SKIP,
    SUCCESS,
    Defect,
    MalformedError,
    MutationError,
    PluginError,
    Status,
)


@dataclass(slots=True)
class DefectLog:
    """defects: in the order they happened, each plugin, point and problem once
    noted:   how often a plugin failed with a defect
    """

    defects: dict[tuple[str, str, str], Defect] = field(default_factory=dict)
    noted: int = 0

    def note(
        self,
        plugin: str,
        point: str,
        error: BaseException,
        *pods: PodInfo,
        assumes: bool = False,
    ) -> str:
        """Record a defect with its traceback, and return the message for the status.

        pods: that the call was about
        assumes: see Defect

        Raises the user's KeyboardInterrupt again.
        """
        raise_users_interrupt(error)
        problem = described(error)
        message = f"plugin {plugin} failed in {point}: {problem}"
        detail = f"{message}\n"
        if not isinstance(error, MalformedError | MutationError):
            detail = "".join(traceback.format_exception(error))
        self.noted += 1
        defect = Defect(plugin, point, problem, detail, assumes=assumes)
        defect = self.defects.setdefault((plugin, point, problem), defect)
        defect.pods.update(dict.fromkeys(pod.key for pod in pods))
        return message

    def message(self, plugin: str, point: str, error: BaseException, *pods: PodInfo) -> str:
        """Return the message of a call that failed; anything but a PluginError is recorded."""
        if isinstance(error, PluginError):
            return str(error)
        return self.note(plugin, point, error, *pods)


T = TypeVar("T")

# How many sums of scores a row scorer stores, and the sum of scores that are outside 0 to 100.
STORED_SUMS_MAX = 128
NOT_A_SUM = -1


@dataclass(slots=True)
class PluginCaller:
    """One per simulation, for all its profiles.

    log:     the defects
    foreign: the names of the plugins that are not in-tree
    limit:   of the time of their calls, where there is one
    trace:   of all calls, where there is one
    checks_trials: notes as a defect what a plugin changes in one trial for the others
    """

    log: DefectLog = field(default_factory=DefectLog)
    foreign: set[str] = field(default_factory=set)
    limit: CallLimit | None = None
    trace: CallTrace | None = None
    checks_trials: bool = False
    _read_only: ReadOnlyCalls = field(default_factory=ReadOnlyCalls)

    def limit_calls(self, seconds: float) -> None:
        """Limit the calls of plugins that are not in-tree. Raises UsageError in other threads."""
        self.limit = self._read_only.limit = CallLimit(seconds)

    @property
    def defects(self) -> dict[tuple[str, str, str], Defect]:
        return self.log.defects

    @property
    def assumes(self) -> bool:
        """Return whether a plugin failed where ksched went on as if it had answered something."""
        return any(defect.assumes for defect in self.defects.values())

    @property
    def noted(self) -> int:
        return self.log.noted

    # -- plugins --------------------------------------------------------------------------------

    def make(self, entry: PluginEntry, args: Any, handle: Handle) -> Plugin:
        """Return a plugin. Raises UsageError where it does not accept its args, PluginDefectError
        where it cannot be made."""
        plugin = self._make(entry, args, handle)
        if self.trace is not None:
            self.trace.follow(plugin, is_foreign=plugin.name in self.foreign)
        return plugin

    def _make(self, entry: PluginEntry, args: Any, handle: Handle) -> Plugin:
        if not entry.is_foreign:
            return cast(Plugin, entry.make(args, handle))
        self.foreign.add(entry.name)
        failure = f"{entry.name} ({entry.origin}) cannot be made"
        try:
            return cast(Plugin, self._limited(entry, entry.make, args, handle))
        except PluginError as refusal:
            raise UsageError(f"{failure}: {refusal}") from None
        except FAILURES as error:
            raise_users_interrupt(error)
            problem = f"{failure}: {described(error)}"
            raise PluginDefectError(problem, traceback.format_exc()) from error

    def scope_for(self, plugin: Plugin, pod: PodInfo) -> Scope:
        """Return the plugin's scope for the pod. It is CLUSTER where the plugin fails, so that its
        answers are not cached."""
        try:
            if plugin.name not in self.foreign:
                return plugin.scope_for(pod)
            scope = self._limited(plugin, plugin.scope_for, pod)
            expect(scope, Scope, "scope_for")
            return scope
        except FAILURES as error:
            self.log.note(plugin.name, "scope_for", error, pod)
            return Scope.CLUSTER

    def is_cacheable(self, plugin: Plugin, pod: PodInfo) -> bool:
        """Return whether the plugin's answers about the pod may be cached at all."""
        return self.scope_for(plugin, pod) is not Scope.CLUSTER

    def cache_key(self, plugin: Plugin, pod: PodInfo) -> Hashable | None:
        """Return the cache key, or None where the plugin fails, so that its answers are not
        shared."""
        try:
            key = self._limited(plugin, plugin.cache_key, pod)
            hash(key)
            return key
        except FAILURES as error:
            self.log.note(plugin.name, "cache_key", error, pod)
            return None

    def sign_pod(self, plugin: SignPlugin, pod: PodInfo) -> Mapping[str, Hashable] | None:
        """Sign the pod. Return None where the plugin fails, so that the pod is not batched."""
        try:
            fragments = self._limited(plugin, plugin.sign_pod, pod)
            hash(None if fragments is None else tuple(fragments.values()))
            return fragments
        except FAILURES as error:
            self.log.note(plugin.name, "sign_pod", error, pod)
            return None

    def has_scalar_filter(self, plugins: Iterable[FilterPlugin]) -> bool:
        """Return whether `status_of_all` may be used for all of them: others have one form only."""
        return all(
            plugin.name not in self.foreign
            and type(plugin).filter is not FilterPlugin.filter
            and type(plugin).filter_nodes is not FilterPlugin.filter_nodes
            for plugin in plugins
        )

    # -- PreFilter, Filter, PostFilter ----------------------------------------------------------

    def pre_filter(
        self, plugin: PreFilterPlugin, state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> tuple[PreFilterResult | None, Status]:
        """Run the plugin's PreFilter. A failure is a status with code Error, without the plugin's
        name."""
        try:
            if plugin.name not in self.foreign:
                return plugin.pre_filter(state, pod, nodes)
            answer = self._call(plugin, nodes.snapshot, plugin.pre_filter, state, pod, nodes)
            return checked_result(answer, PreFilterResult, "pre_filter")
        except FAILURES as error:
            return None, Status.error(self.log.message(plugin.name, "preFilter", error, pod))

    def filter_nodes(
        self, plugin: FilterPlugin, state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> Verdicts:
        """Return the plugin's verdicts, which name the plugin. A failure rejects all the nodes."""
        try:
            if plugin.name in self.foreign:
                answer = self._call(plugin, nodes.snapshot, plugin.filter_nodes, state, pod, nodes)
                verdicts = checked_verdicts(answer, len(nodes))
            else:
                verdicts = plugin.filter_nodes(state, pod, nodes)
        except FAILURES as error:
            status = Status.error(self.log.message(plugin.name, "filter", error, pod))
            ids = np.ones(len(nodes), dtype=np.int32)
            return Verdicts(ids, [SUCCESS, named_rejection(status, plugin.name)])
        return _named(verdicts, plugin)

    def status_of_all(
        self,
        plugins: Sequence[FilterPlugin],
        state: CycleState,
        pod: PodInfo,
        snapshot: Snapshot,
        rows: Sequence[int],
    ) -> Status | None:
        """Return success where the rows, one by one, pass all the plugins (see
        `has_scalar_filter`), and the rejection of a single row, with the plugin's name on it. None
        means undetermined: a failure shows when `filter_nodes` is called."""
        try:
            for row in rows:
                node = NodeInfo(snapshot, row)
                for plugin in plugins:
                    status = plugin.filter(state, pod, node)
                    if status is not SUCCESS:
                        is_single = len(rows) == 1 and status.is_rejected
                        return named_rejection(status, plugin.name) if is_single else None
        except Exception:
            return None
        return SUCCESS

    def compared_requests(
        self, plugin: ComparesResources, state: CycleState, pod: PodInfo
    ) -> Mapping[str, int] | None:
        """Return what ComparesResources.compared_requests returns. Only ksched's own plugins have
        it."""
        return plugin.compared_requests(state, pod)

    def concerns(
        self, plugin: PreFilterExtensions, state: CycleState, pod: PodInfo, other: PodInfo
    ) -> bool:
        """Return whether the other pod can change the plugin's answer. It is True where the plugin
        fails."""
        try:
            return bool(self._limited(plugin, plugin.concerns, state, pod, other))
        except FAILURES as error:
            self.log.note(plugin.name, "concerns", error, pod, assumes=True)
            return True

    def post_filter(
        self,
        plugin: PostFilterPlugin,
        state: CycleState,
        pod: PodInfo,
        statuses: NodeStatuses,
    ) -> tuple[PostFilterResult | None, Status]:
        """Run the plugin's PostFilter. A failure is a status, as in `pre_filter`."""
        try:
            if plugin.name not in self.foreign:
                return plugin.post_filter(state, pod, statuses)
            answer = self._call(plugin, statuses.snapshot, plugin.post_filter, state, pod, statuses)
            result, status = checked_result(answer, PostFilterResult, "post_filter")
            if result is not None:
                check_victims(result.victims, result.nominated_node, statuses.snapshot)
            return result, status
        except FAILURES as error:
            return None, Status.error(self.log.message(plugin.name, "postFilter", error, pod))

    # -- PreScore, Score, NormalizeScore --------------------------------------------------------

    def pre_score(
        self, plugin: PreScorePlugin, state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> Status:
        """Run the plugin's PreScore, and return Success or Skip. Raises PluginError for everything
        else."""
        try:
            if plugin.name in self.foreign:
                status = self._call(plugin, nodes.snapshot, plugin.pre_score, state, pod, nodes)
                check_status(status, "pre_score")
            else:
                status = plugin.pre_score(state, pod, nodes)
        except FAILURES as error:
            message = self.log.message(plugin.name, "preScore", error, pod)
            # A defect's message names the plugin and the point itself.
            if isinstance(error, PluginError):
                message = f'running PreScore plugin "{plugin.name}": {message}'
            raise PluginError(message) from error
        if status is SUCCESS or status is SKIP or status.is_success or status.is_skip:
            return status
        raise PluginError(f'running PreScore plugin "{plugin.name}": {status.message}')

    def score_nodes(
        self, plugin: ScorePlugin, state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> Scores:
        """Return the raw scores, one per node. Raises PluginError."""
        try:
            if plugin.name not in self.foreign:
                return plugin.score_nodes(state, pod, nodes)
            scores = self._call(plugin, nodes.snapshot, plugin.score_nodes, state, pod, nodes)
            return checked_scores(scores, len(nodes), "score_nodes")
        except FAILURES as error:
            message = self.log.message(plugin.name, "score", error, pod)
            raise PluginError(
                f'running Score plugins: plugin "{plugin.name}" failed with: {message}'
            ) from error

    def normalize_scores(
        self, plugin: NormalizeScore, state: CycleState, pod: PodInfo, nodes: Nodes, raw: Scores
    ) -> Scores:
        """Return the normalized scores, one per node. Raises PluginError."""
        try:
            if plugin.name not in self.foreign:
                return plugin.normalize_scores(state, pod, nodes, raw)
            scores = self._call(
                plugin, nodes.snapshot, plugin.normalize_scores, state, pod, nodes, raw
            )
            return checked_scores(scores, len(nodes), "normalize_scores")
        except FAILURES as error:
            message = self.log.message(plugin.name, "normalizeScore", error, pod)
            raise PluginError(
                f'running Normalize on Score plugins: plugin "{plugin.name}" failed with: {message}'
            ) from error

    # -- the form of ksched's own plugins for single rows ---------------------------------------

    def row_scorer(
        self,
        weights: Mapping[ScorePlugin, int],
        state: CycleState,
        pod: PodInfo,
        snapshot: Snapshot,
        shift: int,
    ) -> RowScorer | None:
        """Return the weighted sum of the plugins' row scorers, shifted by so many bits, if each is
        in-tree and has one; else None. Many rows have equal amounts: it stores what it computed
        last."""
        scorers: list[tuple[RowScorer, int]] = []
        for plugin, weight in weights.items():
            if not isinstance(plugin, ScoresRows) or plugin.name in self.foreign or snapshot.huge:
                return None
            scorer = plugin.row_scorer(state, pod, snapshot)
            if scorer is None:
                return None
            scorers.append((scorer, weight))

        @lru_cache(STORED_SUMS_MAX)
        def weighted_sum(amounts: RowAmounts) -> int:
            weighted = 0
            for score_row, weight in scorers:
                score = score_row(amounts)
                if not MIN_NODE_SCORE <= score <= MAX_NODE_SCORE:
                    return NOT_A_SUM
                weighted += score * weight
            return weighted << shift

        return weighted_sum

    def row_totals(
        self, scorer: RowScorer | None, snapshot: Snapshot, rows: Sequence[int]
    ) -> list[int] | None:
        """Return the weighted sum of each row, or None where a score is outside 0 to 100."""
        if scorer is None or snapshot.huge:
            return None
        totals = [scorer(amounts) for amounts in snapshot.rows_amounts(rows)]
        return None if NOT_A_SUM in totals else totals

    # -- pod groups -----------------------------------------------------------------------------

    def generate_placements(
        self, plugin: PlacementGeneratePlugin, key: GroupKey, parent: Placement
    ) -> tuple[Sequence[Placement], Status]:
        """Return the plugin's placements within `parent`. A failure is a status with code Error."""
        try:
            if plugin.name not in self.foreign:
                return plugin.generate_placements(key, parent)
            answer = self._limited(plugin, plugin.generate_placements, key, parent)
            return checked_placements(answer, parent)
        except FAILURES as error:
            return (), Status.error(self.log.message(plugin.name, "placementGenerate", error))

    def score_placements(
        self,
        plugin: PlacementScorePlugin,
        key: GroupKey,
        candidates: Sequence[tuple[Placement, Sequence[PodInfo]]],
    ) -> list[int]:
        """Return the normalized scores, one per candidate. Raises PluginError."""
        pods = [pod for _, placed in candidates for pod in placed]
        try:
            scores = [
                self._limited(plugin, plugin.score_placement, key, placement, placed)
                for placement, placed in candidates
            ]
            scores = self._limited(plugin, plugin.normalize_placement_scores, scores)
            if plugin.name in self.foreign:
                check_placement_scores(scores, len(candidates))
            return scores
        except FAILURES as error:
            message = self.log.message(plugin.name, "placementScore", error, *pods)
            raise PluginError(
                f'running PlacementScore plugins: plugin "{plugin.name}" failed with: {message}'
            ) from error

    def preempt_for_group(
        self,
        plugin: GroupPreemptionPlugin,
        group: PodGroup,
        pods: Sequence[PodInfo],
        try_group: Callable[[], Status],
    ) -> tuple[Status, tuple[PlacedPod, ...]]:
        """Run the plugin's preemption for a group. A failure is a status with code Error."""
        try:
            return plugin.preempt_for_group(group, pods, try_group)
        except FAILURES as error:
            return Status.error(self.log.message(plugin.name, "postFilter", error, *pods)), ()

    def pod_group_post_filter(
        self, plugin: PodGroupPostFilterPlugin, rejected: RejectedGroup
    ) -> tuple[Status, GroupRoom]:
        """Run the plugin's PodGroupPostFilter. A failure is a status with code Error."""
        try:
            if plugin.name not in self.foreign:
                return plugin.pod_group_post_filter(rejected)
            snapshot, method = rejected.snapshot, plugin.pod_group_post_filter
            # What the plugin forgets to take back is taken back.
            with snapshot.trial():
                answer = self._call(plugin, snapshot, method, rejected)
            return checked_room(answer, snapshot)
        except FAILURES as error:
            message = self.log.message(plugin.name, "podGroupPostFilter", error, *rejected.pods)
            return Status.error(message), GroupRoom()

    def placement_feasible(
        self, plugin: PlacementFeasiblePlugin, group: PodGroup, progress: PlacementProgress
    ) -> Status:
        """Run the plugin's PlacementFeasible. A failure is a status with code Error."""
        try:
            if plugin.name not in self.foreign:
                return plugin.placement_feasible(group, progress)
            status = self._limited(plugin, plugin.placement_feasible, group, progress)
            check_status(status, "placement_feasible")
            return status.by(plugin.name)
        except FAILURES as error:
            return Status.error(self.log.message(plugin.name, "placementFeasible", error))

    def rank_nodes(
        self, plugin: RankNodesPlugin, state: CycleState, pod: PodInfo, rows: Rows
    ) -> RankedNodes | None:
        """Return the plugin's ranks. Raises PluginError."""
        try:
            return plugin.rank_nodes(state, pod, rows)
        except FAILURES as error:
            message = self.log.message(plugin.name, "rankNodes", error, pod)
            raise PluginError(f'running RankNodes plugin "{plugin.name}": {message}') from error

    # -- points of one shape --------------------------------------------------------------------

    def status(
        self,
        plugin: Plugin,
        point: str,
        snapshot: Snapshot,
        method: Callable[..., Status],
        *arguments: Any,
    ) -> Status:
        """Return the status of PreEnqueue, AddPod, RemovePod, Reserve, PreBind or Bind. A failure
        is a status, as in `pre_filter`."""
        try:
            if plugin.name not in self.foreign:
                return method(*arguments)
            status = self._call(plugin, snapshot, method, *arguments)
            check_status(status, method.__name__)
            return status
        except FAILURES as error:
            return Status.error(self.log.message(plugin.name, point, error, _pod_of(arguments)))

    def permit(
        self, plugin: PermitPlugin, state: CycleState, pod: PodInfo, node: NodeInfo
    ) -> tuple[Status, float]:
        """Return the status; with Wait, for how many seconds. A failure is a status with code
        Error."""
        try:
            return checked_permit(
                self._call(plugin, node.snapshot, plugin.permit, state, pod, node)
            )
        except FAILURES as error:
            return Status.error(self.log.message(plugin.name, "permit", error, pod)), 0.0

    def notify(
        self,
        plugin: Plugin,
        point: str,
        snapshot: Snapshot,
        method: Callable[..., None],
        *arguments: Any,
    ) -> None:
        """Unreserve and PostBind, which must not fail: any exception is a defect."""
        try:
            self._call(plugin, snapshot, method, *arguments)
        except FAILURES as error:
            self.log.note(plugin.name, point, error, _pod_of(arguments))

    def less(self, plugin: QueueSortPlugin, first: QueuedPod, second: QueuedPod) -> bool:
        """Return whether `first` comes before `second`. It is False where the plugin fails, so that
        the pods stay in their order."""
        try:
            return bool(self._limited(plugin, plugin.less, first, second))
        except FAILURES as error:
            self.log.note(plugin.name, "queueSort", error, first.pod, second.pod, assumes=True)
            return False

    def explain(
        self, plugin: Explains, point: str, state: CycleState, pod: PodInfo, node: NodeInfo
    ) -> tuple[str, ...]:
        """Return the lines that a plugin adds to its answer at `point`, filter or score."""
        method = plugin.explain_filter if point == "filter" else plugin.explain_score
        try:
            if plugin.name not in self.foreign:
                return tuple(method(state, pod, node))
            lines = tuple(self._call(plugin, node.snapshot, method, state, pod, node))
            expect_texts(lines, tuple, f"lines of explain_{point}")
            return lines
        except FAILURES as error:
            return (self.log.note(plugin.name, f"explain_{point}", error, pod),)

    # -- between attempts -----------------------------------------------------------------------

    def registrations(self, plugin: Plugin, *, adds_taints: bool) -> tuple[Registration, ...]:
        """Return the events that a plugin waits for, each with its hint; those of plugins that do
        not say where it fails. adds_taints: see Rules.adds_taint_events"""
        registrations = BY_DEFAULT
        if plugin.name not in self.foreign:
            registrations = registrations_of(plugin)
        else:
            try:
                own = self._limited(plugin, registrations_of, plugin)
                check_registrations(own, plugin.reads)
                registrations = tuple((event, self._guarded(plugin, hint)) for event, hint in own)
            except FAILURES as error:
                self.log.note(plugin.name, "events_to_register", error, assumes=True)
        return with_taints(registrations) if adds_taints else registrations

    def _guarded(self, plugin: Plugin, hint: QueueingHint | None) -> QueueingHint | None:
        if hint is None:
            return None

        def says_queue(pod: PodInfo, old: Any, new: Any) -> bool:
            """Return the hint's answer, and True where the hint fails: as upstream, a pod must not
            be stuck because of that."""
            try:
                answer = self._limited(plugin, hint, pod, old, new)
                expect(answer, bool, "the hint")
                return answer
            except FAILURES as error:
                self.log.note(plugin.name, "queueing hint", error, pod, assumes=True)
                return True

        return says_queue

    def concerned_pods(
        self, plugin: PreQueueingHints, event: ClusterEvent, old: Any, new: Any
    ) -> IsConcerned | None:
        """Return a function that tells whether a pod is concerned. None means that every pod is, as
        where the plugin fails."""
        narrowing = cast(Plugin, plugin)
        name = narrowing.name
        try:
            is_concerned = self._limited(narrowing, plugin.concerned_pods, event, old, new)
        except FAILURES as error:
            self.log.note(name, "concerned_pods", error, assumes=True)
            return None
        if is_concerned is None or name not in self.foreign:
            return is_concerned

        def may_be_concerned(pod: PodInfo) -> bool:
            try:
                return bool(self._limited(narrowing, is_concerned, pod))
            except FAILURES as error:
                self.log.note(name, "concerned_pods", error, pod, assumes=True)
                return True

        return may_be_concerned

    def tell(self, listener: object, point: str, *arguments: Any) -> None:
        """Call a method of a plugin, or of what a plugin has made, that answers nothing. One that
        fails knows no more.

        point: the method's name: pod_added, pod_removed, pod_came, pod_left or carry_over
        """
        method = getattr(listener, point)
        if not is_foreign(type(listener)):
            method(*arguments)
            return
        try:
            method(*arguments) if self.limit is None else self.limit.call(method, *arguments)
        except FAILURES as error:
            name = getattr(listener, "name", type(listener).__name__)
            pods = [argument for argument in arguments if isinstance(argument, PodInfo)]
            self.log.note(str(name), point, error, *pods, assumes=True)

    def watcher(self, watcher: PodWatcher) -> PodWatcher:
        """Return what is told, in place of the watcher, of pods that come to nodes and leave
        them."""
        return _GuardedWatcher(watcher, self.tell) if is_foreign(type(watcher)) else watcher

    def group_of(self, plugin: GroupsPods, pod: PodInfo) -> str:
        """Return the group that a plugin holds the pod back with; "" where the plugin fails."""
        try:
            group = self._limited(plugin, plugin.group_of, pod)
            expect(group, str, "group_of")
            return group
        except FAILURES as error:
            self.log.note(plugin.name, "group_of", error, pod)
            return ""

    def runtime(
        self, plugin: TimesRuns, pod: PodInfo, node: NodeInfo, runs_for: float | None
    ) -> float | None:
        """Return how long the pod runs on the node, in seconds; `runs_for` where the plugin
        fails."""
        try:
            seconds = self._limited(plugin, plugin.runtime, pod, node, runs_for)
            if seconds is not None:
                expect(seconds, float if isinstance(seconds, float) else int, "runtime")
                if not 0 <= seconds < 1e11:
                    raise MalformedError(f"runtime returned {seconds}, expected 0 seconds or more")
            return seconds
        except FAILURES as error:
            self.log.note(plugin.name, "runtime", error, pod, assumes=True)
            return runs_for

    def usage(self, plugin: CountsUsage, pod: PodInfo) -> dict[str, float]:
        """Return what the pod uses of resources, as the plugin says, to a millionth of their units;
        nothing where it fails."""
        try:
            amounts = self._limited(plugin, plugin.usage, pod)
            expect(amounts, Mapping, "usage")
            for name, amount in amounts.items():
                expect(name, str, "usage with a name that")
                if not isinstance(amount, int | float) or not 0 <= amount < 2**63:
                    problem = f"{amount!r:.60} of {name}, expected a number, 0 or more"
                    raise MalformedError(f"usage returned {problem}")
            return {
                name: int(amount) if amount == int(amount) else round(amount, USAGE_DIGITS)
                for name, amount in amounts.items()
            }
        except FAILURES as error:
            self.log.note(plugin.name, "usage", error, pod, assumes=True)
            return {}

    def propose(
        self, plugin: Proposes, state: CycleState, pod: PodInfo, node: NodeInfo
    ) -> tuple[Proposal, ...]:
        """Return the plugin's proposals so that the node fits; nothing where it fails."""
        return self._proposals(plugin, node.snapshot, plugin.propose, state, pod, node)

    def propose_for_pod(
        self, plugin: Proposes, snapshot: Snapshot, pod: PodInfo
    ) -> tuple[Proposal, ...]:
        """Return the plugin's proposals so that the pod passes; nothing where it fails."""
        return self._proposals(plugin, snapshot, plugin.propose_for_pod, pod)

    def _proposals(
        self,
        plugin: Proposes,
        snapshot: Snapshot,
        method: Callable[..., Iterable[Proposal]],
        *arguments: Any,
    ) -> tuple[Proposal, ...]:
        try:
            proposals = self._call(
                plugin, snapshot, lambda *given: tuple(method(*given)), *arguments
            )
            for proposal in proposals:
                if not isinstance(proposal, Proposal):
                    raise MalformedError(f"propose returned {proposal!r:.60}, expected a Proposal")
            return proposals
        except FAILURES as error:
            self.log.note(plugin.name, "propose", error, _pod_of(arguments))
            return ()

    def _limited(
        self, plugin: Plugin | PluginEntry, method: Callable[..., T], *arguments: Any
    ) -> T:
        """Return a call that is given no snapshot. Raises what the plugin raises, and
        CallTimeoutError."""
        if self.limit is None or plugin.name not in self.foreign:
            return method(*arguments)
        return self.limit.call(method, *arguments)

    def _call(
        self, plugin: Plugin, snapshot: Snapshot, method: Callable[..., T], *arguments: Any
    ) -> T:
        """Call the plugin. Raises what it raises, and MutationError for one that is not in-tree."""
        if plugin.name not in self.foreign:
            return method(*arguments)
        state = arguments[0] if self.checks_trials else None
        if not isinstance(state, CycleState) or state.source is None:
            return self._read_only.call(plugin.name, snapshot, method, *arguments)
        before = state.images_of_sources()
        answer = self._read_only.call(plugin.name, snapshot, method, *arguments)
        for place, image in state.images_of_sources().items():
            if image != before.get(place):
                kind = type(state.data.get(place[1])).__name__
                problem = MalformedError(
                    f'it changed "{place[1]}" in the CycleState of one trial for the others, too: '
                    f"`clone` of {kind} shares what can change"
                )
                pod = _pod_of(arguments)
                self.log.note(plugin.name, method.__name__, problem, pod, assumes=True)
        return answer


class _GuardedWatcher:
    """A watcher that a plugin has made, which is called as plugins are."""

    def __init__(self, watcher: PodWatcher, tell: Callable[..., None]) -> None:
        self._watcher, self._tell = watcher, tell

    def pod_added(self, pod: PodInfo, row: int) -> None:
        self._tell(self._watcher, "pod_added", pod, row)

    def pod_removed(self, pod: PodInfo, row: int) -> None:
        self._tell(self._watcher, "pod_removed", pod, row)


def _named(verdicts: Verdicts, plugin: FilterPlugin) -> Verdicts:
    """Add the plugin's name to the rejections."""
    if len(verdicts.statuses) > 1:
        verdicts.statuses = [
            SUCCESS,
            *(named_rejection(status, plugin.name) for status in verdicts.statuses[1:]),
        ]
    return verdicts


def _pod_of(arguments: Iterable[Any]) -> PodInfo:
    """Return the pod that a call is about: the first among its arguments."""
    return next(argument for argument in arguments if isinstance(argument, PodInfo))
