"""Extenders revise what preemption found: they drop nodes and change victims.

Upstream: pkg/scheduler/framework/preemption/preemption.go (callExtenders).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.framework.extender import ExtenderError, PreemptionExtender
from ksched_cli.framework.preemption import Victims
from ksched_cli.kube.formatting import quote


def revised(
    extenders: Sequence[PreemptionExtender],
    pod: PodInfo,
    candidates: Mapping[str, Victims],
    snapshot: Snapshot,
) -> Mapping[str, Victims]:
    """What the extenders leave, one after another. Raises ExtenderError."""
    for extender in extenders:
        if not candidates:
            break
        if not extender.supports_preemption or not extender.is_interested(pod):
            continue
        try:
            answer = extender.process_preemption(pod, candidates, snapshot)
        except ExtenderError:
            if extender.ignorable:
                continue
            raise
        spared = [node for node, victims in answer.items() if not victims.pods]
        if spared and not extender.ignorable:
            # Upstream names whichever its map gives first.
            raise ExtenderError(f"expected at least one victim pod on node {quote(spared[0])}")
        candidates = {node: victims for node, victims in answer.items() if victims.pods}
    return candidates
