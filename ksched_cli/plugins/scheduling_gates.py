"""Holds pods back until their scheduling gates are gone.

Upstream: plugins/schedulinggates/scheduling_gates.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.cluster_events import POD, Action, ClusterEvent, Registration
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interface import PreEnqueuePlugin, Proposal, Proposes
from ksched_cli.framework.status import SUCCESS, Status
from ksched_cli.plugins.controllers import KUEUE_GATES, owner_of_gate

BYPASSING = 30


class SchedulingGates(PreEnqueuePlugin, Proposes):
    name = "SchedulingGates"

    def __init__(self, args: Any, handle: Handle) -> None:
        pass

    def events_to_register(self) -> Iterable[Registration]:
        event = ClusterEvent(POD, Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)
        yield event, lambda pod, old, new: bool(new.key == pod.key)

    def pre_enqueue(self, pod: PodInfo) -> Status:
        gates = [gate.name for gate in pod.spec.scheduling_gates]
        if not gates:
            return SUCCESS
        return Status.unresolvable(f"waiting for scheduling gates: [{' '.join(gates)}]")

    def propose_for_pod(self, pod: PodInfo) -> Iterator[Proposal]:
        gates = [gate.name for gate in pod.spec.scheduling_gates]
        if gates:
            noun = "gate" if len(gates) == 1 else "gates"
            text = f"remove the scheduling {noun} {' and '.join(gates)}"
            owners = dict.fromkeys(owner.name for gate in gates if (owner := owner_of_gate(gate)))
            if owners:
                text += f", which bypasses {' and '.join(owners)}"
            if any(gate.startswith(KUEUE_GATES) for gate in gates):
                text += " and its quota"
            # Controllers remove theirs: to do it for them comes last.
            amount = BYPASSING if owners else 0
            yield Proposal("gate", text, patch={"spec": {"schedulingGates": None}}, amount=amount)
