"""Pods of a state that do not stay pending, by owner and reason: gated ones, those of another
scheduler, those that get a node, and those that a controller has not made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from msgspec import Struct, field
from msgspec.structs import replace

from ksched_cli.analysis.circumstances import RecordedMessages
from ksched_cli.analysis.gates import held_by
from ksched_cli.analysis.usage import CONTROL_PLANE
from ksched_cli.answers import Count, Part
from ksched_cli.cluster.loading.kinds import resource_of
from ksched_cli.cluster.loading.state_warnings import absent_kind, is_dump
from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.state import ClusterState
from ksched_cli.cluster.tolerations import tolerated
from ksched_cli.engine.records import RunRecord
from ksched_cli.engine.simulation import Simulation
from ksched_cli.errors import InputError
from ksched_cli.framework.pod_groups import GroupKey, PodGroups, group_key
from ksched_cli.kube.near_names import did_you_mean
from ksched_cli.kube.plain_json import typed_json
from ksched_cli.plugins.helper import listed
from ksched_cli.plugins.taint_toleration import HARD_EFFECTS, taint_text
from ksched_cli.scenario.owned_pods import POD, owner_of
from ksched_cli.scenario.workloads import daemon_model, should_run_on, target_node

GATED, LEFT_OUT = "gated", "left out"


class HeldPods(Part, frozen=True):
    """Pods of one owner that no attempt is made for, for one reason.

    owner: as in a group of pending pods; pods without a controller are together
    state: gated, or left out
    reason: the plugin's, or why the scheduler does not look at them
    notes: what else there is to say, a sentence each
    """

    owner: str
    namespace: str
    pods: tuple[str, ...]
    state: str
    reason: str
    notes: tuple[str, ...] = ()


class AbsentPods(Part, frozen=True):
    """Pods that a controller has not made.

    owner: Kind/name of the controller
    count: how many are missing
    reason: why
    """

    owner: str
    namespace: str
    count: Count
    reason: str


class PlacedPods(Part, frozen=True):
    """Pods of one owner that wait in the state and get a node.

    nodes: of each pod, in their order
    evicts: the pods that are evicted for them
    recorded: why they wait, by the cluster's own scheduler; empty where that is not known
    """

    owner: str
    namespace: str
    pods: tuple[str, ...]
    nodes: tuple[str, ...]
    evicts: tuple[str, ...] = ()
    recorded: str = ""


def placed_pods(simulation: Simulation, run: RunRecord) -> tuple[PlacedPods, ...]:
    """Return the pods that the run places; those of the most pods first."""
    pods = {pod.key: pod for pod in simulation.state.pods}
    groups: dict[tuple[str, str], list[str]] = {}
    for key in run.placements:
        if key in pods and not pods[key].node_name:
            groups.setdefault((owner_of(pods[key]), pods[key].namespace), []).append(key)
    ordered = sorted(groups.items(), key=lambda item: -len(item[1]))
    recorded = RecordedMessages(simulation.state)
    return tuple(
        PlacedPods(
            owner,
            namespace,
            tuple(keys),
            tuple(run.placements[key] for key in keys),
            tuple(each.pod for each in run.evicted if each.preemptor in keys),
            recorded.differing(pods[keys[0]]),
        )
        for (owner, namespace), keys in ordered
    )


def held_pods(simulation: Simulation, run: RunRecord) -> tuple[HeldPods, ...]:
    """Return the pods that are gated or of another scheduler; those of the most pods first."""
    reasons = {key: (GATED, status.message) for key, status in run.gated.items()}
    pods = {pod.key: pod for pod in simulation.state.pods}
    for ignored in run.ignored:
        pod = pods[ignored.pod]
        is_pending = not (pod.finished or pod.deleting or pod.node_name)
        if is_pending and pod.spec.scheduler_name not in simulation.frameworks:
            reasons[ignored.pod] = LEFT_OUT, f"it is {ignored.reason}"
    groups: dict[tuple[str, ...], list[str]] = {}
    notes: dict[tuple[str, ...], tuple[str, ...]] = {}
    for key, (state, reason) in reasons.items():
        pod = pods[key]
        owner = owner_of(pod) if pod.owner[0] else POD
        group = (owner, pod.namespace, state, reason.replace(key, "it"))
        groups.setdefault(group, []).append(key)
        holder = held_by(pod, simulation.state) if state == GATED else ""
        notes.setdefault(group, (*filter(None, (holder,)), *held_notes(pod, simulation)))
    ordered = sorted(groups.items(), key=lambda item: -len(item[1]))
    return tuple(
        HeldPods(
            owner_of(pods[keys[0]]),
            group[1],
            tuple(keys),
            group[2],
            reasons[keys[0]][1],
            notes[group],
        )
        for group, keys in ordered
    )


def held_notes(pod: Pod, simulation: Simulation) -> Iterator[str]:
    """Yield what a pod waits for that no attempt is made for, beside the plugin's reason."""
    if pod.spec.scheduler_name not in simulation.frameworks:
        names = {each.spec.scheduler_name for each in simulation.state.pods}
        others = (names | simulation.frameworks.keys()) - {pod.spec.scheduler_name}
        hint = did_you_mean(pod.spec.scheduler_name, others)
        if hint:
            yield hint
    groups = simulation.pod_groups
    key = group_key(pod)
    if groups is not None and key is not None:
        yield from group_notes(groups, key, simulation.state)
    templates = simulation.state.resource_claim_templates
    for reference in pod.spec.resource_claims:
        template = reference.resource_claim_template_name
        if template and (pod.namespace, template) not in templates:
            absent = absent_kind(simulation.state, "ResourceClaimTemplate")
            yield absent or f"there is no ResourceClaimTemplate {pod.namespace}/{template}"
    if any(reference.resource_claim_name for reference in pod.spec.resource_claims):
        absent = absent_kind(simulation.state, "ResourceClaim")
        if absent:
            yield absent


def group_notes(groups: PodGroups, key: GroupKey, state: ClusterState) -> Iterator[str]:
    """Yield what the pods of a group wait for."""
    namespace, name = key
    group = groups.groups.get(key)
    if group is None:
        yield no_group(groups, key, state)
    elif group.min_count is not None and groups.pod_count(key) < group.min_count:
        members = groups.members(key)
        yield (
            f"PodGroup {namespace}/{name} has {groups.pod_count(key)} of the {group.min_count:,} "
            f"pods that it needs: {listed(members)}"
        )
    elif group.min_count is not None and groups.scheduled_count(key) < group.min_count:
        yield (
            f"PodGroup {namespace}/{name}: {groups.scheduled_count(key)} of the "
            f"{group.min_count:,} pods that it needs have a node"
        )


def no_group(groups: PodGroups, key: GroupKey, state: ClusterState) -> str:
    """Return that there is no PodGroup of this name, and which is named nearly so."""
    namespace, name = key
    if not groups.groups and is_dump(state) and "PodGroup" not in state.whole_kinds:
        command = f"kubectl get {resource_of('PodGroup')}.scheduling.k8s.io -A"
        return (
            f"PodGroup {namespace}/{name} is not known: the state has no PodGroups (add those of "
            f"{command})"
        )
    names = [each.name for each in groups.groups.values() if each.namespace == namespace]
    hint = did_you_mean(name, names)
    return f"there is no PodGroup {namespace}/{name}{f'; {hint}' if hint else ''}"


# -- pods that a controller has not made -----------------------------------------------------------


class _Condition(Struct):
    type: str | None = ""
    status: str | None = ""
    reason: str | None = ""
    message: str | None = ""


class _Status(Struct):
    replicas: int | None = 0
    conditions: tuple[_Condition, ...] | None = ()


class _Spec(Struct):
    replicas: int | None = 1


class _Controller(Struct):
    spec: _Spec = field(default_factory=_Spec)
    status: _Status = field(default_factory=_Status)


def absent_pods(state: ClusterState) -> tuple[AbsentPods, ...]:
    """Return the pods that controllers failed to make, as their conditions say, and those that a
    DaemonSet does not make for tainted nodes."""
    answer = []
    for workloads in (state.replica_sets, state.replication_controllers):
        for workload in workloads.values():
            raw = bytes(workload.raw)
            if b"FailedCreate" not in raw:
                continue
            try:
                controller = typed_json(raw, _Controller)
            except InputError:  # of a status that no controller wrote
                continue
            failures = (
                each
                for each in controller.status.conditions or ()
                if each.type == "ReplicaFailure" and each.status == "True"
            )
            failure = next(failures, None)
            if failure is not None:
                missing = (controller.spec.replicas or 0) - (controller.status.replicas or 0)
                reason = f"{failure.reason or 'failed'}: {failure.message or 'no message'}"
                owner, namespace = f"{type(workload).__name__}/{workload.name}", workload.namespace
                answer.append(AbsentPods(owner, namespace, max(missing, 0), reason))
    answer += _of_daemon_sets(state)
    return tuple(answer)


def _of_daemon_sets(state: ClusterState) -> Iterator[AbsentPods]:
    """Yield the DaemonSets that make no pod for some nodes, for nothing but their taints. Those of
    the control plane are left out: few DaemonSets are meant for it."""
    existing = {
        (pod.namespace, pod.owner[1], target_node(pod) or pod.node_name)
        for pod in state.pods
        if pod.owner[0] == "DaemonSet"
    }
    for daemon_set in state.daemon_sets.values():
        model = None
        with suppress(InputError):
            model = daemon_model(state, daemon_set)
        if model is None:
            continue
        barred: dict[str, list[str]] = {}
        for node in state.nodes:
            key = (daemon_set.metadata.namespace, daemon_set.name, node.name)
            taints = [
                taint
                for taint in node.spec.taints
                if taint.effect in HARD_EFFECTS and not tolerated(model.spec.tolerations, taint)
            ]
            untainted = replace(node, spec=replace(node.spec, taints=()))
            is_usual = any(taint.key in CONTROL_PLANE for taint in taints)
            if taints and not is_usual and key not in existing and should_run_on(model, untainted):
                barred.setdefault(" and ".join(map(taint_text, taints)), []).append(node.name)
        for text, names in barred.items():
            yield AbsentPods(
                f"DaemonSet/{daemon_set.name}",
                daemon_set.metadata.namespace,
                len(names),
                f"it does not tolerate {text} ({listed(names)})",
            )
