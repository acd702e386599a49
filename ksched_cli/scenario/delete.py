"""delete KIND/NAME: the object, and what the garbage collector and the controllers do then.

Upstream: pkg/controller/{garbagecollector,podgc}.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ksched_cli.cluster.change_record import Effect
from ksched_cli.cluster.loading.kinds import KINDS
from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.state import ClusterState
from ksched_cli.scenario.arguments import Arguments
from ksched_cli.scenario.change import Changed
from ksched_cli.scenario.objects import objects_of, removed
from ksched_cli.scenario.owned_pods import OwnedPods
from ksched_cli.scenario.pod_passes import select_by_id, select_on_nodes
from ksched_cli.scenario.pods import (
    is_of_daemon_set,
    is_static,
    moved,
    pending_again,
    without_pods,
)
from ksched_cli.scenario.targets import (
    WORKLOADS,
    Target,
    TargetsChange,
    find_object,
    find_workload,
    read_targets,
)


@dataclass(frozen=True, slots=True)
class Delete(TargetsChange):
    @staticmethod
    def parse(arguments: Arguments) -> Delete:
        if arguments.flags.get("--cascade") == "orphan":
            raise arguments.error(
                "--cascade=orphan is not supported: the objects that it owns are deleted too"
            )
        return Delete(arguments.text, read_targets(arguments, tuple(KINDS)))

    def apply_to(self, state: ClusterState, target: Target) -> Changed:
        if target.kind in WORKLOADS:
            return self._workload(state, target)
        kind, obj = find_object(self, state, target)
        if isinstance(obj, Pod):
            return _leave(state, [obj])
        state = removed(state, kind, [(obj.namespace if kind.namespaced else "", obj.name)])
        effects = [Effect(f"{kind.name} {obj.key}", "deleted")]
        if target.kind == "Namespace":
            state, more = _empty_namespace(state, obj.name)
            return state, effects + more
        if target.kind != "Node":
            return state, effects
        state, more = _leave(state, select_on_nodes(state.pods, {obj.name}), gone=True)
        return state, effects + more

    def _workload(self, state: ClusterState, target: Target) -> Changed:
        """Delete a workload with all that it owns, as kubectl does without --cascade=orphan."""
        workload = find_workload(self, state, target)
        effects = [Effect(workload.text, "deleted")]
        key = (workload.namespace, workload.name)
        if workload.obj is not None:
            state = removed(state, KINDS[workload.kind], [key])
        owners = {(workload.kind, workload.name)}
        owned_kinds = (("ReplicaSet", state.replica_sets), ("Job", state.jobs))
        for name, objects in owned_kinds:
            owned = [
                obj_key
                for obj_key, obj in objects.items()
                if obj.namespace == workload.namespace
                and (owner := obj.metadata.controller) is not None
                and (owner.kind, owner.name) in owners
            ]
            owners |= {(name, obj_name) for _, obj_name in owned}
            state = removed(state, KINDS[name], owned) if owned else state
        pods = _owned_pods(state, workload.namespace, owners)
        return without_pods(state, pods), effects + moved(pods, "deleted")


def _owned_pods(
    state: ClusterState, namespace: str, owners: Iterable[tuple[str, str]]
) -> list[Pod]:
    """Return the owned pods in the order of the state. owners: kinds and names"""
    keys = {(namespace, kind, name) for kind, name in owners}
    owned = OwnedPods.of(state.pods).all_of(keys.__contains__)
    return select_by_id(state.pods, set(map(id, owned)))


def _empty_namespace(state: ClusterState, namespace: str) -> Changed:
    """All that is in the namespace goes with it."""
    pods = [pod for pod in state.pods if pod.namespace == namespace]
    effects = moved(pods, "deleted")
    state = without_pods(state, pods)
    for kind in KINDS.values():
        if kind.namespaced and kind.name != "Pod":
            keys = [key for key in objects_of(state, kind) if key[0] == namespace]
            state = removed(state, kind, keys) if keys else state
            effects += [Effect(f"{kind.name} {namespace}/{name}", "deleted") for _, name in keys]
    return state, effects


def _leave(state: ClusterState, pods: Iterable[Pod], *, gone: bool = False) -> Changed:
    """Pods that are deleted: their controllers make them anew, others are gone.

    gone: their node is too, so that daemon and static pods do not come back
    """
    anew, deleted = [], []
    effects = []
    for pod in pods:
        own = is_static(pod) or is_of_daemon_set(pod)
        if is_static(pod) and not gone:
            effects.append(Effect(pod.key, "stays", "static pod"))
        elif _comes_back(pod) and not (own and gone):
            anew.append(pod)
            effects += moved([pod])
        else:
            deleted.append(pod)
            effects += moved([pod], "deleted")
    return pending_again(without_pods(state, deleted), anew), effects


def _comes_back(pod: Pod) -> bool:
    """Whether its controller makes it anew."""
    return pod.metadata.controller is not None and not pod.deleting and not pod.finished
