"""Namespaces are guaranteed the `min` of their ElasticQuota, may use up to its `max` of what others
leave, and take back what others have borrowed by preemption.

Upstream: kubernetes-sigs/scheduler-plugins, pkg/capacityscheduling/capacity_scheduling.go.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from ksched_capacity_scheduling.quotas import (
    KIND,
    Amounts,
    Quota,
    Quotas,
    quotas_of,
    request_of,
    total,
)
from ksched_cli.api import (
    SUCCESS,
    Action,
    ClusterEvent,
    Code,
    CycleState,
    Handle,
    NodeInfo,
    Nodes,
    NodeStatuses,
    PodInfo,
    PostFilterPlugin,
    PostFilterResult,
    PreemptionTrial,
    PreFilterExtensions,
    PreFilterPlugin,
    PreFilterResult,
    ReservePlugin,
    Status,
)

REQUESTS, QUOTAS = "CapacityScheduling/requests", "CapacityScheduling/quotas"
NEVER = "not eligible due to preemptionPolicy=Never."
TERMINATING = "not eligible due to a terminating pod on the nominated node."
NOT_HELPFUL = "Preemption is not helpful for scheduling"


class Requests(msgspec.Struct, frozen=True):
    """What the pod requests; together with the nominated pods of its quota that come before it; and
    with those of other quotas, too, that do not borrow."""

    own: Amounts
    in_quota: Amounts
    in_all: Amounts


class CapacityScheduling(PreFilterPlugin, PreFilterExtensions, PostFilterPlugin, ReservePlugin):
    name = "CapacityScheduling"
    reads = (KIND,)

    def __init__(self, args: object, handle: Handle) -> None:
        super().__init__(args, handle)
        self._quotas = handle.service(quotas_of)

    def events_to_register(self) -> Iterable[tuple[ClusterEvent, None]]:
        yield ClusterEvent("Pod", Action.DELETE), None
        yield ClusterEvent(KIND, Action.ADD | Action.UPDATE | Action.DELETE), None

    # -- may the pod run ? ------------------------------------------------------------------------

    def pre_filter(
        self, state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> tuple[PreFilterResult | None, Status]:
        """Reject a pod with which its quota is over max, or all quotas together over min. Evicting
        others may help."""
        requests = self._requests(pod)
        state.write(QUOTAS, self._quotas.clone())
        state.write(REQUESTS, requests)
        quota = self._quotas.of(pod)
        if quota is None:
            return None, SUCCESS
        rejected = f"Pod {pod.key} is rejected in PreFilter because"
        if quota.over_max_with(requests.in_quota):
            return None, Status.unschedulable(
                f"{rejected} ElasticQuota {pod.namespace} is more than Max"
            )
        if self._quotas.over_all_min_with(requests.in_all):
            return None, Status.unschedulable(
                f"{rejected} total ElasticQuota used is more than min"
            )
        return None, SUCCESS

    def _requests(self, pod: PodInfo) -> Requests:
        own = request_of(pod)
        if self._quotas.of(pod) is None:
            return Requests(own, {}, {})
        in_quota, in_all = [own], [own]
        nominator = self.handle.nominator
        for other in (other for node in nominator.nodes() for other in nominator.on_node(node)):
            quota = self._quotas.of(other)
            if quota is None or other.uid == pod.uid:
                continue
            if other.namespace == pod.namespace and other.priority >= pod.priority:
                in_quota.append(request_of(other))
                in_all.append(request_of(other))
            elif other.namespace != pod.namespace and not quota.over_min:
                in_all.append(request_of(other))
        return Requests(own, total(*in_quota), total(*in_all))

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> Status:
        quotas: Quotas = state.read(QUOTAS)
        quotas.pod_added(added, node.row)
        return SUCCESS

    def remove_pod(
        self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo
    ) -> Status:
        quotas: Quotas = state.read(QUOTAS)
        quotas.pod_removed(removed, node.row)
        return SUCCESS

    # -- the quota is used ------------------------------------------------------------------------

    def reserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        self._quotas.pod_added(pod, node.row)
        return SUCCESS

    def unreserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> None:
        self._quotas.pod_removed(pod, node.row)

    # -- preemption -------------------------------------------------------------------------------

    def post_filter(
        self, state: CycleState, pod: PodInfo, filtered: NodeStatuses
    ) -> tuple[PostFilterResult | None, Status]:
        reason = self._ineligible(state, pod, filtered)
        if reason:
            return None, Status.unschedulable(reason)
        trial = PreemptionTrial(self.handle, state, pod, filtered)
        candidates: dict[str, Sequence[PodInfo]] = {}
        reasons: Counter[str] = Counter()
        errors: list[str] = []
        for node in trial.nodes:
            with trial.branch():
                victims, status = self._victims(trial, pod, node)
            if victims:
                candidates[node] = victims
            elif status.code == Code.ERROR:
                errors.append(status.message)
            else:
                reasons.update(status.reasons)
        if candidates:
            best = trial.best(candidates)
            return PostFilterResult(best, tuple(candidates[best])), SUCCESS
        if errors:
            return None, Status.error("; ".join(errors))
        count = len(self.handle.snapshot.names)
        if len(trial.nodes) < count:
            reasons[NOT_HELPFUL] += count - len(trial.nodes)
        texts = ", ".join(sorted(f"{number} {text}" for text, number in reasons.items()))
        message = f"0/{count} nodes are available: {texts}."
        return PostFilterResult(""), Status.unschedulable(message)

    def _ineligible(self, state: CycleState, pod: PodInfo, filtered: NodeStatuses) -> str:
        """Return why the pod may not preempt, or "". Upstream: PodEligibleToPreemptOthers."""
        if pod.spec.preemption_policy == "Never":
            return NEVER
        snapshot, node = self.handle.snapshot, self.handle.nominator.node_of(pod)
        row = snapshot.row.get(node)
        if row is None or filtered[node].code == Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
            return ""
        quotas, requests = state.read(QUOTAS), state.read(REQUESTS)
        own = quotas.of(pod)
        leaving = [other for other in snapshot.pods[row] if other.pod.deleting]
        for other in leaving:
            quota = quotas.of(other)
            if own is None:
                frees = quota is None and other.priority < pod.priority
            elif quota is None:
                frees = False
            elif other.namespace == pod.namespace:
                frees = other.priority < pod.priority
            else:
                frees = quota.over_min and not own.over_min_with(requests.in_quota)
            if frees:
                return TERMINATING
        return ""

    def _victims(
        self, trial: PreemptionTrial, pod: PodInfo, node: str
    ) -> tuple[list[PodInfo], Status]:
        """The victims on a node, or why there are none. Upstream: SelectVictimsOnNode."""
        quotas: Quotas = trial.state.read(QUOTAS)
        requests: Requests = trial.state.read(REQUESTS)
        own = quotas.of(pod)
        # 1. A pod that is over its min with this one takes from its own namespace, one that is not
        #    from those who borrow, and one without a quota from others without. Whoever borrows is
        #    found pod by pod: the less important ones have left before the others are looked at.
        over_min = own is not None and own.over_min_with(requests.in_quota)
        potential: list[PodInfo] = []
        for other in reversed(trial.pods(node)):
            if _may_leave(pod, other, own, quotas.of(other), over_min=over_min):
                trial.remove(other)
                potential.insert(0, other)
        if not potential:
            message = f"No victims found on node {node} for preemptor pod {pod.name}"
            return [], Status.unresolvable(message)
        # 2. The pod must fit without them, and so must its quota.
        status = trial.status(node)
        if not status.is_success:
            return [], status
        if own is not None and (
            own.over_max_with(requests.own) or quotas.over_all_min_with(requests.own)
        ):
            return [], Status.unschedulable("global quota max exceeded")
        return self._reprieve(trial, node, own, potential)

    def _reprieve(
        self, trial: PreemptionTrial, node: str, own: Quota | None, potential: Sequence[PodInfo]
    ) -> tuple[list[PodInfo], Status]:
        """As many as possible of the pods stay, those first whose eviction violates budgets."""
        quotas: Quotas = trial.state.read(QUOTAS)
        requests: Requests = trial.state.read(REQUESTS)
        violating = trial.violated_budgets(potential)
        victims = []
        for other in sorted(potential, key=lambda other: other.uid not in violating):
            trial.add(other)
            fits = trial.status(node).is_success
            if not fits:
                trial.remove(other)
                victims.append(other)
            if own is not None and (
                own.over_max_with(requests.in_quota) or quotas.over_all_min_with(requests.in_all)
            ):
                if not fits:
                    # Upstream removes the pod once more, and gives the node up.
                    message = f"no corresponding pod {other.name} in pods of node {node}"
                    return [], Status.error(message)
                trial.remove(other)
                victims.append(other)
        if not victims:
            return [], Status.error(f'expected at least one victim pod on node "{node}"')
        return sorted(victims, key=potential.index), SUCCESS


def _may_leave(
    pod: PodInfo, other: PodInfo, own: Quota | None, quota: Quota | None, *, over_min: bool
) -> bool:
    """Whether the other pod may be a victim. own, quota: of the pod's and the other's namespace;
    over_min: the pod's quota is over min with it"""
    if own is None:
        return quota is None and other.priority < pod.priority
    if quota is None:
        return False
    if over_min:
        return other.namespace == pod.namespace and other.priority < pod.priority
    return other.namespace != pod.namespace and quota.over_min
