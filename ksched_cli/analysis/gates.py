"""Who holds a gated pod back, and what they say about it: Kueue's Workload is read and quoted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.state import ClusterState
from ksched_cli.plugins.controllers import KUEUE_GATES, owner_of_gate

KUEUE_WORKLOAD = "Workload.kueue.x-k8s.io"
READS = frozenset({KUEUE_WORKLOAD})
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"


def held_by(pod: Pod, state: ClusterState) -> str:
    """Return who takes the pod's scheduling gates away, and when; "" where that is not known."""
    texts = []
    for gate in pod.spec.scheduling_gates:
        controller = owner_of_gate(gate.name)
        if controller is None:
            continue
        waits = controller.waits_for and f" {controller.waits_for}"
        texts.append(f"{controller.name} holds it back{waits}")
        workload = _workload(pod, state) if gate.name.startswith(KUEUE_GATES) else None
        if workload is not None:
            # Kueue's Workload says its queue, and why it is not admitted.
            metadata = workload.get("metadata") or {}
            name = f"{metadata.get('namespace', 'default')}/{metadata.get('name', '')}"
            queue = (workload.get("spec") or {}).get("queueName", "")
            messages = [
                f": {each.get('message')}"
                for each in _conditions(workload)
                if each.get("status") == "False" and each.get("message")
            ]
            why = messages[0] if messages else ""
            texts.append(f"its Workload {name} waits in queue {queue}{why}")
    return "; ".join(dict.fromkeys(texts))


def _workload(pod: Pod, state: ClusterState) -> Mapping[str, Any] | None:
    """Return Kueue's Workload of the pod: one that the pod or its controller owns, else the only
    one of its queue that is not admitted."""
    own = [
        each
        for each in state.others.get(KUEUE_WORKLOAD, ())
        if (each.get("metadata") or {}).get("namespace", pod.namespace) == pod.namespace
    ]
    _, controller = pod.owner
    for workload in own:
        owners = (workload.get("metadata") or {}).get("ownerReferences") or ()
        if any(owner.get("name") in (pod.name, controller) for owner in owners):
            return workload
    queue = pod.metadata.labels.get(QUEUE_LABEL)
    waiting = [
        each
        for each in own
        if (each.get("spec") or {}).get("queueName") == queue
        and not any(
            condition.get("type") == "Admitted" and condition.get("status") == "True"
            for condition in _conditions(each)
        )
    ]
    return waiting[0] if len(waiting) == 1 else None


def _conditions(workload: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from (workload.get("status") or {}).get("conditions") or ()
