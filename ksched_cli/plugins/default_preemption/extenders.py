"""Passes the candidates to extenders, which may drop nodes and change victims.

Upstream: pkg/scheduler/framework/preemption/preemption.go (callExtenders).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.framework.extender import ExtenderError, PreemptionExtender
from ksched_cli.framework.preemption import Victims
from ksched_cli.kube.formatting import quote


def call_extenders(
    extenders: Sequence[PreemptionExtender],
    pod: PodInfo,
    candidates: Mapping[str, Victims],
    snapshot: Snapshot,
) -> Mapping[str, Victims]:
    """The candidates after all extenders, one after the other. Raises ExtenderError."""
    for extender in extenders:
        if not candidates:
            break
        if not extender.supports_preemption or not extender.is_interested(pod):
            continue
        try:
            victims_by_node = extender.process_preemption(pod, candidates, snapshot)
        except ExtenderError:
            if extender.ignorable:
                continue
            raise
        without_victims = [node for node, victims in victims_by_node.items() if not victims.pods]
        if without_victims and not extender.ignorable:
            # Upstream names any of them: it iterates over a map.
            name = quote(without_victims[0])
            raise ExtenderError(f"expected at least one victim pod on node {name}")
        candidates = {node: victims for node, victims in victims_by_node.items() if victims.pods}
    return candidates
