"""scale KIND/NAME --replicas=N"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from msgspec import structs

from ksched_cli.cluster.change_record import Effect
from ksched_cli.cluster.loading.kinds import KINDS
from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.objects.pod import PENDING_AGAIN
from ksched_cli.cluster.state import ClusterState
from ksched_cli.scenario.arguments import Arguments
from ksched_cli.scenario.change import Change, Changed
from ksched_cli.scenario.manifests import suffix
from ksched_cli.scenario.nodes import edited_raw
from ksched_cli.scenario.objects import plain_object, replaced
from ksched_cli.scenario.pod_passes import names_in, newest_timestamp
from ksched_cli.scenario.pods import moved, without_pods
from ksched_cli.scenario.removal_order import removal_order
from ksched_cli.scenario.targets import (
    Target,
    TargetsChange,
    Workload,
    find_workload,
    read_targets,
)

SCALABLE = ("Deployment", "ReplicaSet", "StatefulSet", "ReplicationController")


@dataclass(frozen=True, slots=True)
class Scale(TargetsChange):
    replicas: int

    @staticmethod
    def parse(arguments: Arguments) -> Scale:
        targets = read_targets(arguments, SCALABLE)
        return Scale(arguments.text, targets, arguments.count("--replicas"))

    def apply_to(self, state: ClusterState, target: Target) -> Changed:
        return resize(self, state, find_workload(self, state, target), self.replicas)


def resize(change: Change, state: ClusterState, workload: Workload, replicas: int) -> Changed:
    """Sets the replicas, and removes the pods that are too many. Those that lack are made where the
    state has the workload's template (workloads.py), else here, as copies of its newest pod."""
    before = len(workload.pods)
    surplus = removal_order(state, workload)[: max(0, before - replicas)]
    effects = [Effect(workload.text, "scaled", f"{before} → {replicas} pods")]
    effects += moved(surplus, "removed")
    state = without_pods(state, surplus)
    state = _with_replicas(state, workload, surplus, replicas)
    if workload.obj is None and not workload.replica_sets and replicas > before:
        copies = _copies(change, state, workload, replicas - before)
        state = replace(state, pods=(*state.pods, *copies))
        effects += [Effect(pod.key, "pending", f"created for {workload.text}") for pod in copies]
    return state, effects


def _with_replicas(
    state: ClusterState, workload: Workload, surplus: Sequence[Pod], replicas: int
) -> ClusterState:
    if workload.obj is not None:
        kind = KINDS[workload.kind]
        state = replaced(state, kind, [plain_object(kind, workload.obj, replicas=replicas)])
    if not workload.replica_sets:
        return state
    lost = {id(pod) for pod in surplus}
    counts = Counter(
        owner.name
        for pod in workload.pods
        if id(pod) not in lost and (owner := pod.metadata.controller) is not None
    )
    # The newest takes what is added: the one with most pods, where a rollout is not under way.
    newest = max(workload.replica_sets, key=lambda rs: (rs.spec.replicas or 0, counts[rs.name]))
    counts[newest.name] += max(0, replicas - sum(counts.values()))
    kind = KINDS["ReplicaSet"]
    sets = [plain_object(kind, rs, replicas=counts[rs.name]) for rs in workload.replica_sets]
    return replaced(state, kind, sets)


def _copies(change: Change, state: ClusterState, workload: Workload, count: int) -> list[Pod]:
    """Pods like the workload's newest, with names of their own."""
    if workload.kind == "StatefulSet":
        raise change.error(
            f"the state has pods of {workload.text}, but not {workload.text} itself; add it "
            "to the state"
        )
    model = max(workload.pods, key=lambda pod: pod.metadata.creation_timestamp)
    owner = model.metadata.controller
    prefix = owner.name if owner is not None else workload.name
    names = names_in(state.pods, model.namespace)
    newest = newest_timestamp(state.pods)
    copies: list[Pod] = []
    number = 0
    while len(copies) < count:
        name = f"{prefix}-{suffix(number)}"
        number += 1
        if name not in names:
            copies.append(_copy(model, name, newest))
    return copies


def _copy(model: Pod, name: str, created: str) -> Pod:
    uid = f"{model.namespace}/{name}"
    metadata = structs.replace(model.metadata, name=name, uid=uid, creation_timestamp=created)

    def edit(data: dict[str, Any]) -> None:
        data["metadata"] |= {"name": name, "uid": uid}

    return Pod(metadata, model.spec, PENDING_AGAIN, "", edited_raw(model.raw, edit))
