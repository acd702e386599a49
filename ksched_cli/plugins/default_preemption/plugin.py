"""Evicts pods of lower priority from a node, for a pod that fits on none.

Upstream: plugins/defaultpreemption/default_preemption.go and pkg/scheduler/framework/preemption
(preemption.go: callExtenders).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Column, Mask, Rows, Snapshot
from ksched_cli.framework.cluster_events import Registration
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.in_tree_interface import (
    GroupPreemptionPlugin,
    RankedNodes,
    RankNodesPlugin,
)
from ksched_cli.framework.interface import (
    PodGroupPostFilterPlugin,
    PostFilterPlugin,
    PostFilterResult,
    PreEnqueuePlugin,
    ReservePlugin,
)
from ksched_cli.framework.node_statuses import NodeStatuses, counts_message
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.plugins_runner import PluginsRunner
from ksched_cli.framework.pod_groups import GroupRoom, PlacedPod, PodGroup, PodGroups, RejectedGroup
from ksched_cli.framework.preemption import (
    REQUEST_KEY,
    STATE_KEY,
    ExtenderError,
    Preemption,
    PreemptionExtender,
    PreemptionRequest,
    Victims,
)
from ksched_cli.framework.preemption_trial import ineligible
from ksched_cli.framework.status import SUCCESS, Code, Rejection, Status
from ksched_cli.framework.victim_order import CRITERIA, Ages, Choice, pick_node, pick_one_node
from ksched_cli.kube.formatting import quote
from ksched_cli.plugins.args import DefaultPreemptionArgs
from ksched_cli.plugins.default_preemption.group_victims import (
    CondemningPreemption,
    EntityDryRun,
    EntityPreemption,
    GroupPreemption,
    PotentialVictims,
)
from ksched_cli.plugins.default_preemption.victims import (
    CANDIDATE,
    NO_VICTIMS,
    POD_COLUMNS,
    ColumnDryRun,
    Disruptions,
    DryRun,
    DryRunColumns,
    Explanation,
    LazyMapping,
    no_victim,
)

# -- the search ------------------------------------------------------------------------------------
#
# The search for candidate nodes: node after node, until there are enough of them.
#
# Upstream: pkg/scheduler/framework/preemption/preemption.go (findCandidates, DryRunPreemption),
# which tries nodes one by one from the first. Here they are tried many at a time, and results that
# upstream would not compute are left out of account.


MIN_BATCH_SIZE = 16


class CandidateSearch(Struct):
    """The nodes tried so far.

    columns:         the results
    num_candidates:  enough, where one of them violates no budget
    rows:            of the nodes that upstream tries, in order
    without_victims: how many nodes have no pods of lower priority and are not in `rows`
    """

    columns: DryRunColumns
    num_candidates: int
    rows: Rows = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    without_victims: int = 0

    def run(self, potential: Rows, dry_run: Callable[[Rows], None]) -> None:
        """Try nodes until enough are candidates. potential: in order; dry_run: adds the results of
        rows that have none"""
        # One candidate per node at most: fewer nodes are never enough.
        tried = max(self.num_candidates, MIN_BATCH_SIZE)
        while True:
            # Only rows without a result are tried: others have one from an earlier, equal pod.
            rows = potential[:tried]
            missing = self.columns.missing(rows)
            if len(missing):
                dry_run(missing)
            # Upstream stops once there are enough candidates, at least one of them without
            # violations.
            is_candidate = self.columns.ids[rows] == CANDIDATE
            violating = is_candidate & self._violates(rows)
            enough = self.num_candidates
            without = np.minimum((is_candidate & ~violating).cumsum(), enough)
            with_violations = np.minimum(violating.cumsum(), enough)
            is_over = (without > 0) & (without + with_violations >= enough)
            end = int(is_over.argmax()) + 1 if is_over.any() else None
            if end is not None or len(rows) == len(potential):
                self.rows = rows[:end]
                return
            # So many more for the missing candidates, at the rate so far.
            count = int(np.count_nonzero(self.columns.ids[rows] == CANDIDATE))
            lacking = max(self.num_candidates - count, 0)
            tried += max(lacking * len(rows) // count + 1 if count else lacking, tried)

    def _violates(self, rows: Rows) -> Mask:
        """Return the rows of candidates where an eviction violates a budget."""
        return np.asarray(self.columns.measures[0, rows] < 0)

    @property
    def candidate_rows(self) -> Rows:
        return self.rows[self.columns.ids[self.rows] == CANDIDATE]

    @property
    def candidates(self) -> LazyMapping[Victims]:
        return self.columns.candidates(self.candidate_rows)

    @property
    def rejected(self) -> LazyMapping[Rejection]:
        return self.columns.rejected(self.rows[self.columns.ids[self.rows] != CANDIDATE])

    def selected(self) -> Rows:
        """Return the first num_candidates of those without and of those with violations, as
        upstream."""
        rows = self.candidate_rows
        violates = self._violates(rows)
        enough = self.num_candidates
        return np.concatenate((rows[~violates][:enough], rows[violates][:enough]))

    def rejection_counts(self) -> Counter[Status]:
        """Return how many of the nodes tried have each status."""
        ids = self.columns.ids[self.rows]
        counts: Counter[Status] = Counter()
        for number, count in enumerate(np.bincount(ids).tolist()):
            if count and number != CANDIDATE:
                counts[self.columns.rejection(number).status] += count
        if self.without_victims:
            counts[NO_VICTIMS.status] += self.without_victims
        return counts

    @property
    def error(self) -> str:
        """Return the plugins' errors as Go's Aggregate prints them, or ""."""
        ids = self.columns.ids[self.rows]
        first = dict.fromkeys(ids[ids != CANDIDATE].tolist())
        statuses = [self.columns.rejection(number).status for number in first]
        messages = [status.message for status in statuses if status.code == Code.ERROR]
        distinct = list(dict.fromkeys(messages))
        return f"[{', '.join(distinct)}]" if len(distinct) > 1 else "".join(distinct)


# -- the plugin ------------------------------------------------------------------------------------


NO_PODS = np.iinfo(np.int64).max


class LowestPriorities:
    """A column of the snapshot, brought up to date when it is read."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._column: Column | None = None
        self._version = 0

    def column(self) -> Column:
        """Return, per row, the lowest priority of its pods, or NO_PODS. The column is read-only."""
        snapshot = self._snapshot
        if self._column is None:
            self._column = np.full(len(snapshot), NO_PODS, dtype=np.int64)
            stale = {row for row, pods in enumerate(snapshot.pods) if pods}
        else:
            # The log lists the rows whose pods have changed since.
            stale = set(snapshot.log[self._version :])
        self._version = len(snapshot.log)
        for row in stale:
            priorities = [pod.priority for pod in snapshot.pods[row]]
            self._column[row] = min(priorities, default=NO_PODS)
        return self._column


NO_CANDIDATE = "no candidate node for preemption"
NOT_HELPFUL = Status.unresolvable("Preemption is not helpful for scheduling")


class DefaultPreemption(
    PreEnqueuePlugin, PostFilterPlugin, GroupPreemptionPlugin, PodGroupPostFilterPlugin
):
    name = "DefaultPreemption"

    def __init__(self, args: DefaultPreemptionArgs, handle: Handle) -> None:
        self._handle = handle
        self._snapshot = handle.snapshot
        self._percentage = args.min_candidate_nodes_percentage or 0
        self._absolute = args.min_candidate_nodes_absolute or 0
        self._lowest_priorities = LowestPriorities(handle.snapshot)
        rules = handle.release.rules
        self._tells_candidate = rules.tells_candidate
        self._ages = Ages.of(rules)
        self._pod_columns = POD_COLUMNS[self._ages]
        self._allows_no_victims = rules.allows_no_victims

    @cached_property
    def _disruptions(self) -> Disruptions:
        return Disruptions.of(self._handle)

    def pre_enqueue(self, pod: PodInfo) -> Status:
        """Let every pod in. Upstream gates pods whose victims are being evicted; here evictions
        take no time."""
        return SUCCESS

    def events_to_register(self) -> Iterable[Registration]:
        """Return no events: the plugins that rejected the pod know when victims have freed
        enough."""
        return ()

    def post_filter(
        self, state: CycleState, pod: PodInfo, filtered: NodeStatuses
    ) -> tuple[PostFilterResult | None, Status]:
        preemption, result, status = self._preempt(state, pod, filtered)
        state.write(STATE_KEY, preemption)
        if status.message:
            status = Status(status.code, (f"preemption: {status.message}",))
        return result, status

    def preempt_for_group(
        self, group: PodGroup, pods: Sequence[PodInfo], try_group: Callable[[], Status]
    ) -> tuple[Status, tuple[PlacedPod, ...]]:
        preemption = GroupPreemption(self._snapshot, self._groups, self._disruptions)
        return preemption.find(group, pods, try_group)

    def pod_group_post_filter(self, rejected: RejectedGroup) -> tuple[Status, GroupRoom]:
        nominator, framework = self._handle.nominator, self._framework
        preemption = EntityPreemption(
            self._snapshot, self._groups, nominator, self._disruptions, framework
        )
        return _prefixed(*preemption.find(rejected))

    @property
    def _groups(self) -> PodGroups:
        groups = self._handle.pod_groups
        assert groups is not None, "there are groups"
        return groups

    def _preempt(
        self, state: CycleState, pod: PodInfo, filtered: NodeStatuses
    ) -> tuple[Preemption, PostFilterResult | None, Status]:
        # 1. May the pod preempt at all?
        reason = ineligible(self._handle, pod, filtered)
        if reason:
            return Preemption(ineligible=reason), None, Status.unschedulable(reason)
        # 2. On which nodes would it fit without pods of lower priority, and which may stay there?
        search = self._search(state, pod, filtered)
        number, listed = search.num_candidates, search.candidates
        if self._handle.extenders and self._allows_no_victims:
            listed = LazyMapping(lambda: {n: v for n, v in search.candidates.items() if v.pods})
        preemption = Preemption(num_candidates=number, candidates=listed, rejected=search.rejected)
        candidates = search.selected()
        if not len(candidates):
            if search.error:
                return preemption, None, Status.error(search.error)
            # Nodes that were not tried count as unresolvable.
            counts = search.rejection_counts()
            message = counts_message(len(self._snapshot), counts, NOT_HELPFUL)
            return preemption, PostFilterResult(""), Status.unschedulable(message)
        # 3. Extenders may drop candidates and change their victims.
        # 4. The criteria leave one candidate, which the pod is nominated to.
        if not self._handle.extenders:
            # The criteria choose the node.
            rows, names = np.sort(candidates), self._snapshot.names
            choice = pick_node(
                search.columns.measures[:, rows],
                lambda index: names[rows[index]],
                lambda index: search.columns.victims(rows.item(index)),
            )
            victims = search.columns.victims(self._snapshot.row[choice.node])
            return self._chosen(preemption, choice, victims)
        listed = search.columns.candidates(candidates)
        try:
            remaining = call_extenders(self._handle.extenders, pod, listed, self._snapshot)
        except ExtenderError as error:
            return preemption, None, Status.error(str(error))
        if not remaining:
            return preemption, None, Status.unschedulable(NO_CANDIDATE)
        choice = pick_one_node(remaining)
        return self._chosen(preemption, choice, remaining[choice.node])

    def _chosen(
        self, preemption: Preemption, choice: Choice, victims: Victims
    ) -> tuple[Preemption, PostFilterResult, Status]:
        node, pods = choice.node, victims.pods
        chosen = replace(preemption, node=node, victims=pods, ties=choice.ties, steps=choice.steps)
        status = SUCCESS
        if self._tells_candidate:
            what = f"on node {node}, preempting {len(pods)} victims"
            status = Status(Code.SUCCESS, (f"found a potential placement for pod {what}",))
        return chosen, PostFilterResult(node), status

    def _search(self, state: CycleState, pod: PodInfo, filtered: NodeStatuses) -> CandidateSearch:
        # Evictions cannot help on nodes whose rejection is unresolvable.
        potential = filtered.rows_with(Code.UNSCHEDULABLE)
        request: PreemptionRequest = state.data.get(REQUEST_KEY, PreemptionRequest())
        share = len(potential) * self._percentage // 100
        num_candidates = min(max(share, self._absolute), len(potential))
        # Pods of a group may have to leave together, from several nodes: no node stands alone.
        groups = self._handle.pod_groups
        groups = groups if groups is not None and groups.have_victims else None
        # Pods that look the same share their dry runs on nodes that have not changed.
        is_alone = groups is None and not request.detailed
        # They do so only where a result depends on nothing but its node. Results on nodes with
        # nominated pods hold only while these are nominated.
        filtering, columns = self._framework.filtering, None
        if is_alone and filtering.is_node_local(state, pod) and not filtering.has_extensions(state):
            columns = self._framework.dry_runs(pod, self._results)
        if columns is not None:
            nominated_rows = self._nominated_rows()
            columns.forget((*columns.transient_rows, *nominated_rows))
            columns.transient_rows = nominated_rows
        search = CandidateSearch(
            columns or self._results(), len(potential) if request.everything else num_candidates
        )
        # Nodes without a pod of lower priority need no dry run; their number goes into the message.
        if is_alone:
            lowest = self._lowest_priorities.column()
            with_victims = potential[lowest[potential] < pod.priority]
            search.without_victims = len(potential) - len(with_victims)
            potential = with_victims
        if len(potential):
            explain = partial(self._explain, pod) if request.detailed else None
            search.run(potential, self._dry_run(state, pod, search.columns, explain, groups))
        return search

    def _dry_run(
        self,
        state: CycleState,
        pod: PodInfo,
        results: DryRunColumns,
        explain: Explanation | None,
        groups: PodGroups | None,
    ) -> Callable[[Rows], None]:
        """Return a function that runs the dry run on rows and adds its results to `results`.

        explain: see DryRun; groups: where some are evicted together
        """
        filtering, disruptions = self._framework.filtering, self._disruptions
        nodes, no_victims = self._snapshot, self._without_victims(pod)
        if groups is not None:
            by_entity = EntityDryRun(
                filtering, nodes, groups, state, pod, disruptions, no_victims, explain
            )
            return lambda rows: self._add_each(by_entity, rows, results)
        dry_run = DryRun(filtering, nodes, state, pod, disruptions, no_victims, self._ages, explain)
        requests = None if explain else filtering.compared_requests(state, pod)
        if requests is None:
            return lambda rows: self._add_each(dry_run, rows, results)
        in_columns = ColumnDryRun(dry_run, requests, self._snapshot.index(self._pod_columns))

        def run(rows: Rows) -> None:
            # Where only requests and free amounts decide, all rows are computed at once as columns.
            # Nodes with nominated pods, and those that the columns leave out, are done one by one.
            is_nominated = np.isin(rows, self._nominated_rows())
            left_out = in_columns.select(rows[~is_nominated], results)
            self._add_each(dry_run, np.concatenate((rows[is_nominated], left_out)), results)

        return run

    def _add_each(self, dry_run: DryRun | EntityDryRun, rows: Rows, results: DryRunColumns) -> None:
        """Add the results of dry runs node by node: pods are removed from a copy, and Filter is
        asked again."""
        if not len(rows):
            return
        for row, result in zip(rows.tolist(), dry_run.victims_on(rows), strict=True):
            results.add(row, result)

    def _without_victims(self, pod: PodInfo) -> Callable[[str], Victims | Rejection]:
        """Return what becomes of a node where all pods may stay: extenders that support
        preemption may name victims. Upstream: hasInterestedPreemptExtender."""
        if self._allows_no_victims and any(
            extender.supports_preemption and extender.is_interested(pod)
            for extender in self._handle.extenders
        ):
            return lambda node: Victims((), 0)
        return partial(no_victim, allowed=self._allows_no_victims)

    def _results(self) -> DryRunColumns:
        return DryRunColumns(self._snapshot, len(CRITERIA))

    def _nominated_rows(self) -> list[int]:
        """Return the nodes that some pod is nominated to."""
        row = self._snapshot.row
        return [row[name] for name in self._handle.nominator.nodes() if name in row]

    @property
    def _framework(self) -> PluginsRunner:
        framework = self._handle.framework
        assert framework is not None, "set before any plugin is called"
        return framework

    def _explain(
        self, pod: PodInfo, plugin: str, state: CycleState, node: NodeInfo
    ) -> tuple[str, ...]:
        """Return the details of a rejection; or the nominated pods, where the pod fits without
        them."""
        without_nominated = self._framework.filtering.run_filters(state, pod, Nodes.of(node))
        if not without_nominated.ids[0]:
            others = self._handle.nominator.on_node(node.name)
            counted = [o.key for o in others if o.priority >= pod.priority and o.uid != pod.uid]
            return (f"with the nominated pods counted: {', '.join(counted)}",)
        return self._framework.explain_rejection(plugin, state, pod, node)


CONDEMNED = "DefaultPreemption.condemned"


class ReservingPreemption(DefaultPreemption, ReservePlugin, RankNodesPlugin):
    """DefaultPreemption where it extends Reserve: while it makes room for a group, the pods of the
    group condemn victims, and the next ones go where there are none or cheaper ones."""

    _potential: PotentialVictims | None = None

    def pod_group_post_filter(self, rejected: RejectedGroup) -> tuple[Status, GroupRoom]:
        preemption = CondemningPreemption(
            self._snapshot,
            self._groups,
            self._handle.nominator,
            self._disruptions,
            self._framework,
            self._offer,
        )
        return _prefixed(*preemption.find(rejected))

    def _offer(self, victims: PotentialVictims | None) -> None:
        self._potential = victims

    def rank_nodes(self, state: CycleState, pod: PodInfo, rows: Rows) -> RankedNodes | None:
        return None if self._potential is None else self._potential.rank(rows)

    def reserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        if self._potential is not None:
            condemned = self._potential.surviving(node.row)
            state.write(CONDEMNED, condemned)
            self._potential.condemn(condemned)
        return SUCCESS

    def unreserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> None:
        if self._potential is not None:
            self._potential.spare(state.data.get(CONDEMNED, ()))
            state.delete(CONDEMNED)


def _prefixed(status: Status, room: GroupRoom) -> tuple[Status, GroupRoom]:
    """Return the status as the plugin words it."""
    if status.message:
        status = Status(status.code, (f"pod group preemption: {status.message}",))
    return status, room


def call_extenders(
    extenders: Sequence[PreemptionExtender],
    pod: PodInfo,
    candidates: Mapping[str, Victims],
    snapshot: Snapshot,
) -> Mapping[str, Victims]:
    """Return the candidates after all extenders, one after the other. Raises ExtenderError."""
    for extender in extenders:
        if not candidates:
            break
        # Each extender sees what the one before left.
        if not extender.supports_preemption or not extender.is_interested(pod):
            continue
        try:
            victims_by_node = extender.process_preemption(pod, candidates, snapshot)
        except ExtenderError:
            if extender.ignorable:
                continue
            raise
        # A node that came without victims may wait for the next extender.
        without_victims = [
            node
            for node, victims in victims_by_node.items()
            if not victims.pods and (node not in candidates or candidates[node].pods)
        ]
        if without_victims and not extender.ignorable:
            # Upstream names any of them: it iterates over a map.
            name = quote(without_victims[0])
            raise ExtenderError(f"expected at least one victim pod on node {name}")
        candidates = {
            node: victims
            for node, victims in victims_by_node.items()
            if node not in without_victims
        }
    return {node: victims for node, victims in candidates.items() if victims.pods}
