"""Makes room for a pod that fits nowhere, at the cost of pods of lower priority.

Upstream: plugins/defaultpreemption/default_preemption.go and pkg/scheduler/framework/preemption.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.config.types import DefaultPreemptionArgs
from ksched_cli.framework.cache.answer_cache import keeps
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.extender import ExtenderError
from ksched_cli.framework.fit_error import fit_error
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interface import (
    Explains,
    PostFilterPlugin,
    PostFilterResult,
    PreEnqueuePlugin,
)
from ksched_cli.framework.node_statuses import NodeStatuses
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.preemption import (
    REQUEST_KEY,
    STATE_KEY,
    Preemption,
    PreemptionRequest,
    Victims,
)
from ksched_cli.framework.runtime import Framework
from ksched_cli.framework.status import SUCCESS, Code, Rejection, Status
from ksched_cli.plugins.default_preemption.choice import choose
from ksched_cli.plugins.default_preemption.disruption_budgets import Disruptions, budgets_of
from ksched_cli.plugins.default_preemption.extenders import revised
from ksched_cli.plugins.default_preemption.victims import DryRun

NEVER = "not eligible due to preemptionPolicy=Never."
TERMINATING = "not eligible due to a terminating pod on the nominated node."
NO_CANDIDATE = "no candidate node for preemption"
NOT_HELPFUL = Status.unresolvable("Preemption is not helpful for scheduling")

DISRUPTION_TARGET = "DisruptionTarget"
BY_SCHEDULER = "PreemptionByScheduler"

SMALLEST_BATCH = 16


class DefaultPreemption(PreEnqueuePlugin, PostFilterPlugin):
    name = "DefaultPreemption"

    def __init__(self, args: DefaultPreemptionArgs, handle: Handle) -> None:
        self._handle = handle
        self._snapshot = handle.snapshot
        self._percentage = args.min_candidate_nodes_percentage or 0
        self._absolute = args.min_candidate_nodes_absolute or 0
        self._budgets = budgets_of(handle.cluster.pod_disruption_budgets.values())

    def pre_enqueue(self, pod: PodInfo) -> Status:
        """Upstream holds back pods whose victims are being evicted; here they leave at once."""
        return SUCCESS

    def post_filter(
        self, state: CycleState, pod: PodInfo, filtered: NodeStatuses
    ) -> tuple[PostFilterResult | None, Status]:
        found, result, status = self._preempt(state, pod, filtered)
        state.write(STATE_KEY, found)
        if status.message:
            status = Status(status.code, (f"preemption: {status.message}",))
        return result, status

    def _preempt(
        self, state: CycleState, pod: PodInfo, filtered: NodeStatuses
    ) -> tuple[Preemption, PostFilterResult | None, Status]:
        why_not = self._ineligible(pod, filtered)
        if why_not:
            return Preemption(ineligible=why_not), None, Status.unschedulable(why_not)
        search = self._search(state, pod, filtered)
        found = Preemption(
            wanted=search.wanted, candidates=search.candidates, rejected=search.rejected
        )
        candidates = search.kept()
        if not candidates:
            if search.error:
                return found, None, Status.error(search.error)
            said = self._no_room(search.rejected)
            return found, PostFilterResult(""), Status.unschedulable(said)
        try:
            left = revised(self._handle.extenders, pod, candidates, self._snapshot)
        except ExtenderError as failure:
            return found, None, Status.error(str(failure))
        if not left:
            return found, None, Status.unschedulable(NO_CANDIDATE)
        choice = choose(left)
        chosen = replace(
            found,
            node=choice.node,
            victims=left[choice.node].pods,
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
        leaving = (
            other.priority < pod.priority and _is_terminating_by_preemption(other)
            for other in self._snapshot.pods[row]
        )
        return TERMINATING if any(leaving) else ""

    def _search(self, state: CycleState, pod: PodInfo, filtered: NodeStatuses) -> _Search:
        """Upstream: findCandidates, DryRunPreemption, from the first node on and one by one."""
        order = self._snapshot.order
        potential = order[filtered.codes()[order] == Code.UNSCHEDULABLE]
        request: PreemptionRequest = state.data.get(REQUEST_KEY, PreemptionRequest())
        everything = len(potential)
        share = everything * self._percentage // 100
        enough = min(max(share, self._absolute), everything)
        search = _Search(everything if request.everything else enough)
        dry_run = DryRun(
            self._framework.filtering,
            self._snapshot,
            state,
            pod,
            Disruptions(self._budgets),
            partial(self._explain, pod) if request.detailed else None,
            None if request.detailed else self._kept(state, pod),
        )
        done, least = 0, SMALLEST_BATCH
        while done < everything and not search.is_over:
            batch = potential[done : done + max(search.nodes_to_try(done), least)]
            names = [self._snapshot.names[row] for row in batch.tolist()]
            search.take(names, dry_run.victims_on(batch))
            done, least = done + len(batch), least * 2
        self._forget_promised(dry_run.kept)
        return search

    def _kept(self, state: CycleState, pod: PodInfo) -> dict[int, Victims | Rejection] | None:
        """Earlier trials of pods like this one, where a trial depends on its node alone."""
        filtering = self._framework.filtering
        local = all(
            keeps(plugin, pod)
            for plugin in filtering.plugins
            if plugin.name not in state.skip_filter
        )
        if not local or filtering.follows(state):
            return None
        kept = self._framework.memory.trials(pod)
        self._forget_promised(kept)
        return kept

    def _forget_promised(self, kept: dict[int, Victims | Rejection] | None) -> None:
        """On nodes that are promised to somebody a trial holds as long as the promise does."""
        if kept:
            for node in self._handle.nominator.nodes():
                kept.pop(self._snapshot.row.get(node, -1), None)

    @property
    def _framework(self) -> Framework:
        framework = self._handle.framework
        assert framework is not None, "set before any plugin is asked"
        return framework

    def _explain(
        self, pod: PodInfo, plugin: str, state: CycleState, node: NodeInfo
    ) -> tuple[str, ...]:
        """The numbers behind a rejection; or whose nominations are, where the pod fits but for
        them."""
        here = Nodes(node.snapshot, np.array([node.row], dtype=np.intp))
        alone = self._framework.filtering.run_filters(state, pod, here)
        if not alone.ids[0]:
            promised = [
                other.key
                for other in self._handle.nominator.on_node(node.name)
                if other.priority >= pod.priority and other.uid != pod.uid
            ]
            return (f"with the nominated pods counted: {', '.join(promised)}",)
        explainer = self._framework.plugin(plugin)
        if not isinstance(explainer, Explains):
            return ()
        return tuple(explainer.explain_filter(state, pod, node))

    def _no_room(self, rejected: Mapping[str, Rejection]) -> str:
        """kube-scheduler's text; nodes that were not looked at count as hopeless."""
        statuses = NodeStatuses(self._snapshot)
        statuses.absent = NOT_HELPFUL
        for node, rejection in rejected.items():
            statuses.set(self._snapshot.row[node], rejection.status)
        return fit_error(statuses)


@dataclass(slots=True)
class _Search:
    """Candidates as they are found. wanted: how many are enough, if one violates no budget."""

    wanted: int
    candidates: dict[str, Victims] = field(default_factory=dict)
    rejected: dict[str, Rejection] = field(default_factory=dict)
    clean: int = 0
    violating: int = 0

    @property
    def is_over(self) -> bool:
        clean, violating = min(self.clean, self.wanted), min(self.violating, self.wanted)
        return clean > 0 and clean + violating >= self.wanted

    def nodes_to_try(self, tried: int) -> int:
        """Enough to find the missing candidates, at the rate of those found so far."""
        missing = self.wanted - min(self.clean + self.violating, self.wanted)
        found = len(self.candidates)
        return missing * tried // found + 1 if found else max(missing, tried)

    def take(self, names: list[str], answers: list[Victims | Rejection]) -> None:
        """What was found out beyond the last node that upstream looks at is dropped."""
        for name, answer in zip(names, answers, strict=True):
            if isinstance(answer, Rejection):
                self.rejected[name] = answer
                continue
            self.candidates[name] = answer
            if answer.pdb_violations:
                self.violating += 1
            else:
                self.clean += 1
            if self.is_over:
                return

    def kept(self) -> dict[str, Victims]:
        """Upstream has a list for either kind of candidate, with room for as many as wanted."""
        clean = [name for name, one in self.candidates.items() if not one.pdb_violations]
        violating = [name for name, one in self.candidates.items() if one.pdb_violations]
        names = clean[: self.wanted] + violating[: self.wanted]
        return {name: self.candidates[name] for name in names}

    @property
    def error(self) -> str:
        """The plugins' failures as Go's Aggregate prints them, or ""."""
        said = [
            one.status.message for one in self.rejected.values() if one.status.code == Code.ERROR
        ]
        distinct = list(dict.fromkeys(said))
        return f"[{', '.join(distinct)}]" if len(distinct) > 1 else "".join(distinct)


def _is_terminating_by_preemption(pod: PodInfo) -> bool:
    """Upstream: podTerminatingByPreemption; the first condition of the type has the word."""
    if not pod.pod.deleting:
        return False
    for condition in pod.pod.status.conditions:
        if condition.type == DISRUPTION_TARGET:
            return condition.status == "True" and condition.reason == BY_SCHEDULER
    return False
