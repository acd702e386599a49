"""Pods that leave: drain, reschedule, delete; and what keeps a node from being drained.

drain NODE... cordons the nodes, and their pods are pending again.

Upstream: staging/src/k8s.io/kubectl/pkg/drain/filters.go (which pods), and
pkg/registry/core/pod/storage/eviction.go (what budgets allow).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import msgspec

from ksched_cli.cluster.change_record import Effect
from ksched_cli.cluster.loading.kinds import KINDS
from ksched_cli.cluster.objects import Node, Pod
from ksched_cli.cluster.state import ClusterState
from ksched_cli.kube.formatting import DurationError, parse_duration
from ksched_cli.kube.plain_json import typed_json
from ksched_cli.kube.time import unix_seconds
from ksched_cli.scenario.arguments import (
    Arguments,
    Target,
    TargetsChange,
    choose_pods,
    find_object,
    find_workload,
    read_selector,
    read_targets,
)
from ksched_cli.scenario.change import Change, Changed
from ksched_cli.scenario.nodes import NodeChoice, cordon
from ksched_cli.scenario.objects import objects_of, removed
from ksched_cli.scenario.owned_pods import WORKLOADS, OwnedPods
from ksched_cli.scenario.pods import (
    budget_matcher,
    is_of_daemon_set,
    is_ready,
    is_running,
    is_static,
    moved,
    pending_again,
    select_by_id,
    select_on_nodes,
    unbound,
    with_counts,
    without_pods,
)

# -- what keeps a node ----------------------------------------------------------------------------
# What keeps a node from being drained for good: annotations of nodes and pods, pods that nobody
# makes anew, local storage.
#
# Upstream: cluster-autoscaler's simulator/drainability/rules and utils/drain, Karpenter's
# pkg/controllers/state/statenode.go (ValidateNodeDisruptable, ValidatePodsDisruptable) and
# pkg/utils/pod/scheduling.go (IsDoNotDisruptActive).


SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"
SAFE_VOLUMES = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
SCALE_DOWN_DISABLED = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"
NO_CONTROLLER = "no controller would create it again"


class _Volume(msgspec.Struct, rename="camel"):
    name: str = ""
    empty_dir: dict[str, Any] | None = None
    host_path: dict[str, Any] | None = None

    @property
    def is_local(self) -> bool:
        in_memory = self.empty_dir is not None and self.empty_dir.get("medium") == "Memory"
        return self.host_path is not None or (self.empty_dir is not None and not in_memory)


class _Spec(msgspec.Struct):
    volumes: list[_Volume] | None = None


class _WithVolumes(msgspec.Struct):
    spec: _Spec | None = None


def goes_with_node(pod: Pod) -> bool:
    """Return whether the pod needs no other node when its own is removed."""
    return pod.finished or is_of_daemon_set(pod) or is_static(pod)


def local_volumes(pod: Pod) -> list[str]:
    """Return the pod's volumes whose contents are lost on another node, without those that an
    annotation calls safe."""
    safe = pod.metadata.annotations.get(SAFE_VOLUMES, "").split(",")
    return [each.name for each in _volumes(pod) if each.is_local and each.name not in safe]


def has_empty_dir(pod: Pod) -> bool:
    return any(volume.empty_dir is not None for volume in _volumes(pod))


def _volumes(pod: Pod) -> Sequence[_Volume]:
    """Return the pod's volumes, if any is an emptyDir or a hostPath. They are read from its JSON,
    as the scheduler does not look at such volumes."""
    raw = bytes(pod.raw)
    if b'"emptyDir"' not in raw and b'"hostPath"' not in raw:
        return ()
    spec = typed_json(raw, _WithVolumes).spec
    return (spec and spec.volumes) or ()


def node_stays(node: Node) -> str:
    """Return the annotation that keeps the node, or ""."""
    annotations = node.metadata.annotations
    for key in (SCALE_DOWN_DISABLED, DO_NOT_DISRUPT):
        if annotations.get(key) == "true":
            return f"it is annotated {key}=true"
    return ""


@dataclass(frozen=True, slots=True)
class PodRules:
    """Which pods keep their node, whatever budgets allow and wherever they would fit.

    now: seconds since 1970, for annotations that hold for a time
    force: pods without a controller leave
    loses_local_storage: pods with emptyDir and hostPath volumes leave
    """

    now: float
    force: bool = False
    loses_local_storage: bool = False

    def pod_stays(self, pod: Pod) -> str:
        """Return why the pod keeps its node, or ""."""
        if pod.finished or pod.deleting:
            return ""
        if value := self._undisrupted(pod):
            return f"annotated {DO_NOT_DISRUPT}={value}"
        if goes_with_node(pod):
            return ""
        safe = pod.metadata.annotations.get(SAFE_TO_EVICT)
        if safe in ("false", "on-completion"):
            return f"annotated {SAFE_TO_EVICT}={safe}"
        if safe == "true":
            return ""
        if pod.metadata.controller is None and not self.force:
            return NO_CONTROLLER
        volumes = [] if self.loses_local_storage else local_volumes(pod)
        return f"local storage: {', '.join(volumes)}" if volumes else ""

    def _undisrupted(self, pod: Pod) -> str:
        """Return the annotation's value while it holds, "true" or a time since the pod's start,
        else ""."""
        value = pod.metadata.annotations.get(DO_NOT_DISRUPT, "")
        if value in ("", "true"):
            return value
        try:
            seconds = parse_duration(value) / 1e9
        except DurationError:
            return ""
        started = pod.status.start_time
        holds = not started or self.now - unix_seconds(started) < seconds
        return value if seconds > 0 and holds else ""


# -- drain ----------------------------------------------------------------------------------------

LEFT = "stays"
NEVER, WAITS, FINISHES = (
    "drain never finishes",
    "drain waits for a disruption budget",
    "drain finishes",
)


@dataclass(frozen=True, slots=True)
class Drain(Change):
    """drain NODE...

    Without flags as if told to go on: pods without a controller and those with emptyDir volumes
    leave too, DaemonSets' pods stay, and the record says that kubectl would refuse.

    force:               pods without a controller are deleted, and nobody makes them anew
    ignore_daemonsets, delete_emptydir: kubectl's flags; the record is silent about such pods
    disable_eviction:    pods are deleted, whatever budgets allow
    pod_selector:        the other pods stay; "" for all
    """

    nodes: NodeChoice
    force: bool = False
    ignore_daemonsets: bool = False
    delete_emptydir: bool = False
    disable_eviction: bool = False
    pod_selector: str = ""
    evicts: ClassVar[bool] = True

    @staticmethod
    def parse(arguments: Arguments) -> Drain:
        pod_selector = arguments.flags.get("--pod-selector", "")
        read_selector(arguments.text, pod_selector)
        return Drain(
            arguments.text,
            NodeChoice.read(arguments, arguments.names),
            arguments.has("--force"),
            arguments.has("--ignore-daemonsets"),
            arguments.has("--delete-emptydir-data"),
            arguments.has("--disable-eviction"),
            pod_selector,
        )

    def apply(self, state: ClusterState) -> Changed:
        nodes = self.nodes.of(self, state)
        state, effects = cordon(state, nodes)
        place = {name: index for index, name in enumerate(nodes)}
        selector = read_selector(self.text, self.pod_selector)
        pods = select_on_nodes(state.pods, place)
        pods.sort(key=lambda pod: (place[pod.node_name], pod.key))
        budgets = Evictions(state)
        leaving: list[Pod] = []
        gone: list[Pod] = []
        refused: list[Pod] = []
        left: list[Effect] = []
        for pod in (pod for pod in pods if selector.matches(pod.metadata.labels)):
            refusal = _never_leaves(pod)
            if not refusal and not self.disable_eviction:
                refusal = budgets.evict(pod)
                if refusal:
                    refused.append(pod)
            if refusal:
                left.append(Effect(pod.key, LEFT, refusal))
                if is_of_daemon_set(pod) and is_running(pod) and not self.ignore_daemonsets:
                    left.append(Effect(pod.key, "kubectl would refuse without --ignore-daemonsets"))
                continue
            has_controller = pod.metadata.controller is not None
            if self.force and not has_controller:
                gone.append(pod)
                reason = f"was on {pod.node_name}; no controller"
                effects.append(Effect(pod.key, "deleted", reason))
            else:
                leaving.append(pod)
                effects += moved([pod])
            if not self.force and not has_controller:
                reason = "no controller, so nothing creates it again"
                effects.append(Effect(pod.key, "kubectl would refuse without --force", reason))
            if not self.delete_emptydir and has_empty_dir(pod):
                refused_for = "kubectl would refuse without --delete-emptydir-data"
                effects.append(Effect(pod.key, refused_for))
        # Evictions counted the budgets down; pods that count as healthy are not counted twice.
        state = with_budgets(pending_again(without_pods(state, gone), leaving), state, budgets)
        # How the drain of each node ends, the worst first.
        obstacles: dict[str, dict[tuple[str, str], None]] = {node: {} for node in nodes}
        for pod in refused:
            obstacles[pod.node_name][budgets.outlook(pod)] = None
        verdicts = [
            Effect(node, *outlook)
            for node, outlooks in obstacles.items()
            for outlook in outlooks or {(FINISHES, ""): None}
        ]
        verdicts.sort(key=lambda effect: (NEVER, WAITS, FINISHES).index(effect.action))
        return state, [*verdicts, *effects, *left]


def _never_leaves(pod: Pod) -> str:
    """Return why a drain passes the pod over, or ""."""
    if pod.finished:
        return f"finished: {pod.status.phase}"
    if is_static(pod):
        return "static pod"
    if is_of_daemon_set(pod):
        return "pod of a DaemonSet"
    return "is being deleted" if pod.deleting else ""


class Evictions:
    """The evictions that a state's disruption budgets allow; each eviction uses some of them up.

    Upstream: EvictionREST.Create.
    """

    def __init__(self, state: ClusterState) -> None:
        self.budgets = dict(state.pod_disruption_budgets)
        self._matchers = {key: budget_matcher(budget) for key, budget in self.budgets.items()}
        self._allowed = {key: b.status.disruptions_allowed for key, b in self.budgets.items()}
        # The budgets of pods, by namespace and labels.
        self._keys: dict[tuple[str, frozenset[tuple[str, str]]], list[tuple[str, str]]] = {}

    def renewed(self, state: ClusterState) -> Evictions:
        """Return what budgets of the same selectors allow. state: that has them"""
        after = copy(self)
        after.budgets = dict(state.pod_disruption_budgets)
        after._allowed = {  # noqa: SLF001  # a copy's
            key: budget.status.disruptions_allowed for key, budget in after.budgets.items()
        }
        return after

    def _keys_of(self, pod: Pod) -> list[tuple[str, str]]:
        """Return the keys of the budgets that select the pod."""
        look = (pod.namespace, frozenset(pod.metadata.labels.items()))
        keys = self._keys.get(look)
        if keys is None:
            matchers = self._matchers.items()
            keys = self._keys[look] = [key for key, matches in matchers if matches(pod)]
        return keys

    def evict(self, pod: Pod) -> str:
        """Evict a pod. Return why that is refused; "" where it is granted, which uses the budget
        up."""
        if pod.status.phase == "Pending" and pod.status.conditions:
            return ""
        keys = self._keys_of(pod)
        if not keys:
            return ""
        if len(keys) > 1:
            names = ", ".join(name for _, name in keys)
            return (
                f"matches several disruption budgets ({names}), and the eviction API refuses "
                "such pods"
            )
        budget = self.budgets[keys[0]]
        status = budget.status
        always = budget.spec.unhealthy_pod_eviction_policy == "AlwaysAllow"
        is_healthy = status.current_healthy >= status.desired_healthy > 0
        if not is_ready(pod) and (always or is_healthy):
            return ""
        if status.disruptions_allowed <= 0:
            evicted = self._allowed[keys[0]] - status.disruptions_allowed
            after = f" after {evicted} eviction{'s' if evicted > 1 else ''}" if evicted else ""
            return (
                f"disruption budget {budget.key} allows no more disruptions: it needs "
                f"{status.desired_healthy} healthy pods and has "
                f"{status.current_healthy - evicted}{after}"
            )
        allowed = status.disruptions_allowed - 1
        self.budgets[keys[0]] = with_counts(budget, disruptions_allowed=allowed)
        return ""

    def outlook(self, pod: Pod) -> tuple[str, str]:
        """Return how long, and by which budgets, the pod's eviction is refused."""
        keys = self._keys_of(pod)
        names = ", ".join(self.budgets[key].key for key in keys)
        if len(keys) > 1:
            why = f"budgets {names} select the same pods, and the eviction API refuses such pods"
            return NEVER, why
        status = self.budgets[keys[0]].status
        if status.desired_healthy >= status.expected_pods > 0:
            why = f"budget {names} requires {status.desired_healthy} of {status.expected_pods} pods"
            return NEVER, why
        evicted = self._allowed[keys[0]] - status.disruptions_allowed
        missing = status.desired_healthy + 1 - (status.current_healthy - evicted)
        more = "1 more pod is" if missing == 1 else f"{missing} more pods are"
        return WAITS, f"{names}, until {more} healthy elsewhere"

    def is_final(self, pod: Pod) -> bool:
        """Return whether an eviction that is refused now is refused whenever it is tried."""
        return self.outlook(pod)[0] == NEVER


def with_budgets(after: ClusterState, before: ClusterState, evictions: Evictions) -> ClusterState:
    """Set each budget to the lower of what evictions left of it and what its healthy pods leave."""
    budgets = dict(after.pod_disruption_budgets)
    for key, evicted in evictions.budgets.items():
        if evicted is before.pod_disruption_budgets[key]:
            continue
        both = (each.status.disruptions_allowed for each in (budgets[key], evicted))
        budgets[key] = with_counts(budgets[key], disruptions_allowed=min(both))
    return replace(after, pod_disruption_budgets=budgets)


# -- reschedule -----------------------------------------------------------------------------------
# reschedule [--all | -l SELECTOR]: bound pods pending again, to be placed afresh.


@dataclass(frozen=True, slots=True)
class Reschedule(Change):
    """names: of pods; none where the selector chooses, "" all of the namespace ("": of all)."""

    names: tuple[str, ...]
    selector: str
    namespace: str

    @staticmethod
    def parse(arguments: Arguments) -> Reschedule:
        selector = arguments.flags.get("--selector", "")
        everything = arguments.has("--all") or arguments.has("--all-namespaces")
        if not arguments.names and not selector and not everything:
            raise arguments.error('expected "reschedule --all", -l SELECTOR or names of pods')
        read_selector(arguments.text, selector)
        namespace = "" if arguments.has("--all-namespaces") else arguments.namespace
        return Reschedule(arguments.text, arguments.names, selector, namespace)

    def apply(self, state: ClusterState) -> Changed:
        pods = [
            pod
            for pod in choose_pods(self, state, self.names, self.selector, self.namespace)
            if is_running(pod) and not is_static(pod) and not is_of_daemon_set(pod)
        ]
        return unbound(state, pods), moved(pods)


# -- delete ---------------------------------------------------------------------------------------
# delete KIND/NAME: the object, and what the garbage collector and the controllers do then.
#
# Upstream: pkg/controller/{garbagecollector,podgc}.


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
            # Everything in the namespace is deleted, too.
            pods = [pod for pod in state.pods if pod.namespace == obj.name]
            effects += moved(pods, "deleted")
            state = without_pods(state, pods)
            for each in KINDS.values():
                if each.namespaced and each.name != "Pod":
                    keys = [key for key in objects_of(state, each) if key[0] == obj.name]
                    state = removed(state, each, keys) if keys else state
                    names = (f"{each.name} {obj.name}/{name}" for _, name in keys)
                    effects += [Effect(name, "deleted") for name in names]
            return state, effects
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
                if obj.namespace == workload.namespace and obj.owner in owners
            ]
            owners |= {(name, obj_name) for _, obj_name in owned}
            state = removed(state, KINDS[name], owned) if owned else state
        keys = {(workload.namespace, kind, name) for kind, name in owners}
        ids = set(map(id, OwnedPods.of(state.pods).all_of(keys.__contains__)))
        pods = select_by_id(state.pods, ids)
        return without_pods(state, pods), effects + moved(pods, "deleted")


def _leave(state: ClusterState, pods: Iterable[Pod], *, gone: bool = False) -> Changed:
    """Delete pods: controllers recreate theirs, others are gone.

    gone: their node is too, so that daemon and static pods do not come back
    """
    anew, deleted = [], []
    effects = []
    for pod in pods:
        comes_back = pod.metadata.controller is not None and not pod.deleting and not pod.finished
        own = is_static(pod) or is_of_daemon_set(pod)
        if is_static(pod) and not gone:
            effects.append(Effect(pod.key, "stays", "static pod"))
        elif comes_back and not (own and gone):
            anew.append(pod)
            effects += moved([pod])
        else:
            deleted.append(pod)
            effects += moved([pod], "deleted")
    return pending_again(without_pods(state, deleted), anew), effects
