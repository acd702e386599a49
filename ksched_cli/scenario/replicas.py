"""The next replicas of a workload, as its controller would make them were it scaled up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec

from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.state import ClusterState
from ksched_cli.errors import UsageError
from ksched_cli.scenario.change import ChangeError
from ksched_cli.scenario.objects import kind_of
from ksched_cli.scenario.scale import SCALABLE, Scale
from ksched_cli.scenario.targets import WORKLOADS, Target, Workload, find_workload
from ksched_cli.scenario.workloads import make_pods


def workload_target(text: str, namespace: str) -> Target | None:
    """Of KIND/NAME, with KIND a workload's; else None. namespace: "" to look everywhere."""
    word, slash, name = text.partition("/")
    kind = kind_of(word) if slash and name else None
    if kind is None or kind.name not in WORKLOADS:
        return None
    return Target(kind.name, name, namespace)


def next_replicas(
    state: ClusterState, target: Target, maximum: int
) -> tuple[ClusterState, Workload, tuple[Pod, ...]]:
    """A state with the claims and ReplicaSets of the workload's next replicas, the workload, and
    these replicas, which are not in that state: as many as `maximum` where each has claims of its
    own, else one for all.

    Raises UsageError where there is no such workload, or it is not made of replicas.
    """
    if target.kind not in SCALABLE:
        kinds = ", ".join(kind.lower() for kind in SCALABLE)
        raise UsageError(
            f"{target.text}: a {target.kind} has no next replica; name a {kinds}, or a pod"
        )
    change = Scale(target.text, (target,), 0)
    try:
        workload = find_workload(change, state, target)
        count = maximum if _has_claim_templates(workload) else 1
        change = replace(change, replicas=len(workload.pods) + count)
        scaled = make_pods(change.apply(state)[0])[0]
    except ChangeError as error:
        raise UsageError(error.problem) from None
    existing = {pod.key for pod in state.pods}
    owned = {pod.key: pod for pod in find_workload(change, scaled, target).pods}
    added = tuple(owned[key] for key in owned if key not in existing)
    if not added:
        raise UsageError(f"{workload.text} has no template that a replica could be made from")
    remaining = tuple(pod for pod in scaled.pods if pod.key in existing)
    return replace(scaled, pods=remaining), workload, added


def _has_claim_templates(workload: Workload) -> bool:
    raw = bytes(getattr(workload.obj, "raw", b""))
    spec: dict[str, Any] = (msgspec.json.decode(raw).get("spec") or {}) if raw else {}
    return bool(spec.get("volumeClaimTemplates"))
