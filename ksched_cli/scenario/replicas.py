"""The next replicas of a workload, as its controller would make them were it scaled up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.state import ClusterState
from ksched_cli.errors import InputError, UsageError, first_names
from ksched_cli.kube.plain_json import plain_json
from ksched_cli.scenario.apply import Apply
from ksched_cli.scenario.arguments import WORKLOADS, Target, Workload, find_workload
from ksched_cli.scenario.change import ChangeError
from ksched_cli.scenario.objects import kind_of
from ksched_cli.scenario.scale import SCALABLE, Scale
from ksched_cli.scenario.workloads import make_pods


def workload_target(text: str, namespace: str) -> Target | None:
    """The target KIND/NAME, where KIND is a workload's; else None. namespace: "" for any."""
    word, slash, name = text.partition("/")
    kind = kind_of(word) if slash and name else None
    if kind is None or kind.name not in WORKLOADS:
        return None
    return Target(kind.name, name, namespace)


def applied_target(apply: Apply) -> Target:
    """The pod or the workload that is applied. Raises InputError where that is not one."""
    targets = [
        Target(manifest["kind"], name, metadata.get("namespace") or apply.namespace)
        for manifest in apply.manifests
        if manifest["kind"] in ("Pod", *WORKLOADS)
        and (name := (metadata := manifest.get("metadata") or {}).get("name"))
    ]
    if len(targets) != 1:
        names = [f"{target.kind} {target.namespace}/{target.name}" for target in targets]
        raise _subject_error(apply.source, names)
    return targets[0]


def _subject_error(path: str, names: Sequence[str]) -> InputError:
    listed = first_names(names) or "none"
    return InputError(path, f"expected one Pod or one workload, found {listed}")


def next_replicas(
    state: ClusterState, target: Target, maximum: int
) -> tuple[ClusterState, Workload, tuple[Pod, ...]]:
    """A state with the claims and ReplicaSets of the workload's next replicas, the workload, and
    these replicas, which are not in that state: as many as `maximum` where each has claims of its
    own, else one for all.

    Raises UsageError if there is no such workload, or it is not made of replicas.
    """
    if target.kind not in SCALABLE:
        kinds = ", ".join(kind.lower() for kind in SCALABLE)
        raise UsageError(
            f"{target.text}: a {target.kind} has no next replica; name a {kinds}, or a pod"
        )
    change = Scale(target.text, (target,), 0)
    try:
        workload = find_workload(change, state, target)
        raw = bytes(getattr(workload.obj, "raw", b""))
        spec: dict[str, Any] = (plain_json(raw).get("spec") or {}) if raw else {}
        count = maximum if spec.get("volumeClaimTemplates") else 1
        change = replace(change, replicas=len(workload.pods) + count)
        scaled = make_pods(change.apply(state)[0])[0]
    except ChangeError as error:
        raise UsageError(error.problem) from None
    existing = {pod.key for pod in state.pods}
    owned = {pod.key: pod for pod in find_workload(change, scaled, target).pods}
    added = tuple(owned[key] for key in owned if key not in existing)
    if not added:
        raise UsageError(f"{workload.text} has no pod template")
    remaining = tuple(pod for pod in scaled.pods if pod.key in existing)
    return replace(scaled, pods=remaining), workload, added
