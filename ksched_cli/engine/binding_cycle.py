"""From the node chosen to the pod bound: assume, Reserve, Permit, waiting, PreBind, Bind, PostBind,
and the way back.

Upstream: pkg/scheduler/schedule_one.go (schedulingCycle's end, bindingCycle,
handleBindingCycleError).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.engine.extender_runner import ExtenderRunner
from ksched_cli.engine.records import Attempt
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.nodes import NodeInfo
from ksched_cli.framework.nominator import Nominator
from ksched_cli.framework.preemption import Preemption
from ksched_cli.framework.resource_claims import ClaimStore, held_devices
from ksched_cli.framework.runtime import Framework
from ksched_cli.framework.status import SUCCESS, Status
from ksched_cli.framework.waiting_pods import WaitingPod, WaitingPods


class Outcome(Struct, frozen=True):
    """An attempt, and what the engine must do about it.

    row:        where the pod was assumed, or None
    preemption: the room that PostFilter could make, or None
    nomination: the node name to nominate; "" withdraws a nomination, None keeps it
    left:       the node that the pod was assumed on and has left again, or ""
    waits:      the pod is assumed and reserved, but Permit told it to wait
    activated:  keys of the pods that plugins want tried again
    afterwards: what PostFilter wants done besides evictions
    unschedulable_plugins: those that rejected the pod before a node was chosen; pending_plugins:
                those of them whose rejection is pending
    """

    attempt: Attempt
    row: int | None = None
    preemption: Preemption | None = None
    nomination: str | None = None
    left: str = ""
    waits: bool = False
    activated: tuple[str, ...] = ()
    afterwards: tuple[Callable[[], None], ...] = ()
    unschedulable_plugins: frozenset[str] = frozenset()
    pending_plugins: frozenset[str] = frozenset()


class Assumed(Struct, frozen=True):
    """A pod on its node, not bound yet, and its attempt so far."""

    framework: Framework
    state: CycleState
    pod: PodInfo
    node: NodeInfo
    record: Attempt


@dataclass(slots=True)
class BindingCycle:
    """Brings chosen nodes to an end, good or bad."""

    snapshot: Snapshot
    nominator: Nominator
    waiting: WaitingPods
    extenders: ExtenderRunner = field(default_factory=ExtenderRunner)
    _held: dict[str, Assumed] = field(default_factory=dict)

    def assume(
        self, framework: Framework, state: CycleState, pod: PodInfo, row: int, record: Attempt
    ) -> Outcome:
        """Puts the pod on its node, and binds it unless Permit tells it to wait."""
        self.snapshot.add(pod, row)
        self.nominator.clear(pod)
        node = NodeInfo(self.snapshot, row)
        assumed = Assumed(framework, state, pod, node, record)
        status = framework.reserve(state, pod, node)
        if status is not SUCCESS and not status.is_success:
            return self._undo(assumed, replace(record, reserve=status))
        permit = framework.permit(state, pod, node)
        if permit.status is SUCCESS or permit.status.is_success:
            return self._bind(assumed)
        record = replace(record, permit=permit.status)
        if not permit.status.is_wait:
            return self._undo(assumed, record)
        self._held[pod.uid] = replace(assumed, record=record)
        self.waiting.add(pod, node.name, permit.waits)
        return Outcome(record, row, waits=True, activated=state.take_activated())

    def settle(self, decided: WaitingPod, now: float) -> Outcome:
        """Resumes a pod that was allowed or rejected while it waited."""
        assumed = self._held.pop(decided.pod.uid)
        self.waiting.remove(decided.pod.uid)
        record = replace(assumed.record, waited=now - decided.since)
        status = decided.decision
        if status is None or status.is_success:
            return self._bind(replace(assumed, record=record))
        return self._undo(assumed, replace(record, permit=status))

    def _bind(self, assumed: Assumed) -> Outcome:
        framework, state = assumed.framework, assumed.state
        pod, node = assumed.pod, assumed.node
        activated = state.activated
        # 1. PreBind prepares what the pod needs on the node, such as volumes and claims.
        status = framework.pre_bind(state, pod, node)
        # 2. An extender binds the pod if one wants to, else the Bind plugins do.
        if status is SUCCESS or status.is_success:
            called = None
            if self.extenders.extenders:
                called = self.extenders.extenders_bind(pod, node.name)
            if called is None:
                status = framework.bind(state, pod, node)
            else:
                assumed = replace(assumed, record=replace(assumed.record, extender_binding=called))
                if called.error:
                    status = Status.error(called.error)
        # 3. A failure takes the pod off its node again.
        if status is not SUCCESS and not status.is_success:
            broken = replace(assumed.record, bind=status, error=status.message)
            undone = self._undo(assumed, broken)
            return replace(undone, activated=activated)
        # 4. PostBind informs the plugins; the record notes the devices that the pod holds now.
        framework.post_bind(state, pod, node)
        record = assumed.record
        claims: ClaimStore | None = framework.handle.services.get(ClaimStore)
        if claims is not None and (
            pod.spec.resource_claims or (claims.extended and claims.extended_of(pod))
        ):
            record = replace(record, claims=held_devices(pod, claims))
        if state.notes is not None:
            record = replace(record, notes=state.notes)
        return Outcome(record, node.row, activated=state.activated)

    def _undo(self, assumed: Assumed, record: Attempt) -> Outcome:
        """Takes the pod off its node again."""
        assumed.framework.unreserve(assumed.state, assumed.pod, assumed.node)
        self.snapshot.remove(assumed.pod, assumed.node.row)
        return Outcome(replace(record, node=""), nomination="", left=assumed.node.name)
