"""Evicts pods of lower priority from a node, for a pod that fits on none.

Upstream: plugins/defaultpreemption/default_preemption.go and pkg/scheduler/framework/preemption.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Rows
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.extender import ExtenderError
from ksched_cli.framework.fit_error import counts_message
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interface import (
    PostFilterPlugin,
    PostFilterResult,
    PreEnqueuePlugin,
)
from ksched_cli.framework.node_statuses import NodeStatuses
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.plugins_runner import PluginsRunner
from ksched_cli.framework.preemption import (
    REQUEST_KEY,
    STATE_KEY,
    Preemption,
    PreemptionRequest,
    Victims,
)
from ksched_cli.framework.status import SUCCESS, Code, Rejection, Status
from ksched_cli.plugins.default_preemption.args import DefaultPreemptionArgs
from ksched_cli.plugins.default_preemption.choice import pick_one_node
from ksched_cli.plugins.default_preemption.disruption_budgets import Disruptions, budgets_of
from ksched_cli.plugins.default_preemption.extenders import call_extenders
from ksched_cli.plugins.default_preemption.lowest_priorities import LowestPriorities
from ksched_cli.plugins.default_preemption.victims import NO_VICTIMS, DryRun

NEVER = "not eligible due to preemptionPolicy=Never."
TERMINATING = "not eligible due to a terminating pod on the nominated node."
NO_CANDIDATE = "no candidate node for preemption"
NOT_HELPFUL = Status.unresolvable("Preemption is not helpful for scheduling")

DISRUPTION_TARGET = "DisruptionTarget"
BY_SCHEDULER = "PreemptionByScheduler"

MIN_BATCH_SIZE = 16


class DefaultPreemption(PreEnqueuePlugin, PostFilterPlugin):
    name = "DefaultPreemption"

    def __init__(self, args: DefaultPreemptionArgs, handle: Handle) -> None:
        self._handle = handle
        self._snapshot = handle.snapshot
        self._percentage = args.min_candidate_nodes_percentage or 0
        self._absolute = args.min_candidate_nodes_absolute or 0
        self._lowest_priorities = LowestPriorities(handle.snapshot)
        self._budgets = budgets_of(handle.cluster.pod_disruption_budgets.values())

    def pre_enqueue(self, pod: PodInfo) -> Status:
        """Upstream gates pods whose victims are being evicted; here evictions take no time."""
        return SUCCESS

    def post_filter(
        self, state: CycleState, pod: PodInfo, filtered: NodeStatuses
    ) -> tuple[PostFilterResult | None, Status]:
        preemption, result, status = self._preempt(state, pod, filtered)
        state.write(STATE_KEY, preemption)
        if status.message:
            status = Status(status.code, (f"preemption: {status.message}",))
        return result, status

    def _preempt(
        self, state: CycleState, pod: PodInfo, filtered: NodeStatuses
    ) -> tuple[Preemption, PostFilterResult | None, Status]:
        reason = self._ineligible(pod, filtered)
        if reason:
            return Preemption(ineligible=reason), None, Status.unschedulable(reason)
        search = self._search(state, pod, filtered)
        preemption = Preemption(
            num_candidates=search.num_candidates,
            candidates=search.candidates,
            rejected=search.rejected,
        )
        candidates = search.selected()
        if not candidates:
            if search.error:
                return preemption, None, Status.error(search.error)
            message = self._fit_error(search)
            return preemption, PostFilterResult(""), Status.unschedulable(message)
        try:
            remaining = call_extenders(self._handle.extenders, pod, candidates, self._snapshot)
        except ExtenderError as error:
            return preemption, None, Status.error(str(error))
        if not remaining:
            return preemption, None, Status.unschedulable(NO_CANDIDATE)
        choice = pick_one_node(remaining)
        chosen = replace(
            preemption,
            node=choice.node,
            victims=remaining[choice.node].pods,
            ties=choice.ties,
            steps=choice.steps,
        )
        return chosen, PostFilterResult(choice.node), SUCCESS

    def _ineligible(self, pod: PodInfo, filtered: NodeStatuses) -> str:
        """Why the pod may not preempt, or "". Upstream: PodEligibleToPreemptOthers."""
        if pod.spec.preemption_policy == "Never":
            return NEVER
        nominated = self._handle.nominator.node_of(pod)
        row = self._snapshot.row.get(nominated)
        if row is None or filtered.at(row).code == Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
            return ""
        terminating = (
            other.priority < pod.priority and _is_terminating_by_preemption(other)
            for other in self._snapshot.pods[row]
        )
        return TERMINATING if any(terminating) else ""

    def _search(self, state: CycleState, pod: PodInfo, filtered: NodeStatuses) -> _CandidateSearch:
        """Upstream: findCandidates and DryRunPreemption, which try nodes one by one from the first.
        Nodes are tried in batches here, and results that upstream would not compute are dropped."""
        potential = filtered.rows_with(Code.UNSCHEDULABLE)
        request: PreemptionRequest = state.data.get(REQUEST_KEY, PreemptionRequest())
        share = len(potential) * self._percentage // 100
        num_candidates = min(max(share, self._absolute), len(potential))
        search = _CandidateSearch(len(potential) if request.everything else num_candidates)
        if not request.detailed:
            with_victims = self._with_lower_priorities(potential, pod.priority)
            search.without_victims = len(potential) - len(with_victims)
            potential = with_victims
        if not len(potential):
            return search
        dry_run = DryRun(
            self._framework.filtering,
            self._snapshot,
            state,
            pod,
            Disruptions(self._budgets),
            partial(self._explain, pod) if request.detailed else None,
            None if request.detailed else self._cached_results(state, pod),
        )
        tried, batch_size = 0, MIN_BATCH_SIZE
        while tried < len(potential) and not search.is_over:
            batch = potential[tried : tried + max(search.nodes_to_try(tried), batch_size)]
            names = [self._snapshot.names[row] for row in batch.tolist()]
            search.add(names, dry_run.victims_on(batch))
            tried, batch_size = tried + len(batch), batch_size * 2
        self._drop_nominated(dry_run.cached)
        return search

    def _with_lower_priorities(self, rows: Rows, priority: int) -> Rows:
        """The rows with pods of a lower priority."""
        lowest = self._lowest_priorities.column()
        if lowest.min() >= priority:
            return rows[:0]
        return rows[lowest[rows] < priority]

    def _cached_results(
        self, state: CycleState, pod: PodInfo
    ) -> dict[int, Victims | Rejection] | None:
        """Results for earlier pods like this one, by row; None where a result depends on more than
        its node."""
        filtering = self._framework.filtering
        if not filtering.is_node_local(state, pod) or filtering.has_extensions(state):
            return None
        cached = self._framework.dry_runs(pod)
        self._drop_nominated(cached)
        return cached

    def _drop_nominated(self, cached: dict[int, Victims | Rejection] | None) -> None:
        """Drops results of nodes with nominated pods, which hold only while those are nominated."""
        if cached:
            for node in self._handle.nominator.nodes():
                cached.pop(self._snapshot.row.get(node, -1), None)

    @property
    def _framework(self) -> PluginsRunner:
        framework = self._handle.framework
        assert framework is not None, "set before any plugin is called"
        return framework

    def _explain(
        self, pod: PodInfo, plugin: str, state: CycleState, node: NodeInfo
    ) -> tuple[str, ...]:
        """The details of a rejection; or the nominated pods, where the pod fits without them."""
        without_nominated = self._framework.filtering.run_filters(state, pod, Nodes.of(node))
        if not without_nominated.ids[0]:
            nominated = [
                other.key
                for other in self._handle.nominator.on_node(node.name)
                if other.priority >= pod.priority and other.uid != pod.uid
            ]
            return (f"with the nominated pods counted: {', '.join(nominated)}",)
        return self._framework.explain_rejection(plugin, state, pod, node)

    def _fit_error(self, search: _CandidateSearch) -> str:
        """kube-scheduler's message; nodes that were not tried count as unresolvable."""
        counts = Counter(rejection.status for rejection in search.rejected.values())
        if search.without_victims:
            counts[NO_VICTIMS.status] += search.without_victims
        return counts_message(len(self._snapshot), counts, NOT_HELPFUL)


@dataclass(slots=True)
class _CandidateSearch:
    """The candidates so far.

    num_candidates:  enough, where one of them violates no budget
    without_victims: how many nodes have no pods of lower priority and are not in `rejected`
    """

    num_candidates: int
    without_victims: int = 0
    candidates: dict[str, Victims] = field(default_factory=dict)
    rejected: dict[str, Rejection] = field(default_factory=dict)
    non_violating: int = 0
    violating: int = 0

    @property
    def is_over(self) -> bool:
        non_violating, violating = (
            min(self.non_violating, self.num_candidates),
            min(self.violating, self.num_candidates),
        )
        return non_violating > 0 and non_violating + violating >= self.num_candidates

    def nodes_to_try(self, tried: int) -> int:
        """How many nodes to try next for the missing candidates, at the rate of those so far."""
        missing = self.num_candidates - min(
            self.non_violating + self.violating, self.num_candidates
        )
        count = len(self.candidates)
        return missing * tried // count + 1 if count else max(missing, tried)

    def add(self, names: list[str], answers: list[Victims | Rejection]) -> None:
        """Adds results, up to the last node that upstream tries."""
        for name, answer in zip(names, answers, strict=True):
            if isinstance(answer, Rejection):
                self.rejected[name] = answer
                continue
            self.candidates[name] = answer
            if answer.pdb_violations:
                self.violating += 1
            else:
                self.non_violating += 1
            # Fewer candidates cannot be enough.
            if len(self.candidates) >= self.num_candidates and self.is_over:
                return

    def selected(self) -> dict[str, Victims]:
        """The first num_candidates of those with and of those without violations, as upstream."""
        if not self.violating and len(self.candidates) <= self.num_candidates:
            return self.candidates
        non_violating = [
            name for name, victims in self.candidates.items() if not victims.pdb_violations
        ]
        violating = [name for name, victims in self.candidates.items() if victims.pdb_violations]
        names = non_violating[: self.num_candidates] + violating[: self.num_candidates]
        return {name: self.candidates[name] for name in names}

    @property
    def error(self) -> str:
        """The plugins' errors as Go's Aggregate prints them, or ""."""
        statuses = [rejection.status for rejection in self.rejected.values()]
        messages = [status.message for status in statuses if status.code == Code.ERROR]
        distinct = list(dict.fromkeys(messages))
        return f"[{', '.join(distinct)}]" if len(distinct) > 1 else "".join(distinct)


def _is_terminating_by_preemption(pod: PodInfo) -> bool:
    """Upstream: podTerminatingByPreemption. The first condition of the type decides."""
    if not pod.pod.deleting:
        return False
    for condition in pod.pod.status.conditions:
        if condition.type == DISRUPTION_TARGET:
            return condition.status == "True" and condition.reason == BY_SCHEDULER
    return False
