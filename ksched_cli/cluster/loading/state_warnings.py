"""Warnings about kinds of objects that a state lacks and its pods need, and about parts of its
cluster that it lacks, a line each.

Each line about a kind names what is less exact without it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

from ksched_cli.cluster.loading.kinds import DUMP_COMMAND, KINDS, SYSTEM_PRIORITIES, resource_of
from ksched_cli.cluster.objects import Node, Pod, PodAffinityTerm, PodSpec
from ksched_cli.cluster.objects.pod import FINISHED_PHASES
from ksched_cli.cluster.pod_info import has_volume_claims
from ksched_cli.cluster.state import ClusterState
from ksched_cli.errors import UsageError, first_names, shortened
from ksched_cli.kube.near_names import nearest

# What every node offers, or none where its status is not known.
_OF_EVERY_NODE = ("cpu", "memory", "ephemeral-storage", "pods")
_IMPLICIT_CLASS = "deviceclass.resource.kubernetes.io/"
# Upstream: HighestUserDefinablePriority.
_HIGHEST_USER_PRIORITY = 1_000_000_000
# Operators that no node without the label satisfies.
_NEEDING = ("In", "Exists", "Gt", "Lt")
_OWNERS = ("ReplicationController", "ReplicaSet", "StatefulSet")
SYSTEM_NAMESPACE = "kube-system"
_PAUSE = "pause"  # the image of pods' sandboxes, which no container names
# Fargate's nodes take no DaemonSet's pods.
_FARGATE = ("eks.amazonaws.com/compute-type", "fargate")
# registry.example.com:5000/team/web:1@sha256:… → web
_REPOSITORY = re.compile(r"([^/@:]+)(:[^/@]*)?(@.*)?$")


def skipped_warnings(skipped: Mapping[str, int]) -> tuple[str, ...]:
    """Return a line about the kinds that no plugin reads, where a state's files have some."""
    if not skipped:
        return ()
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(skipped.items()))
    return (f"skipped kinds that no plugin reads: {shortened(kinds)}",)


def empty_state_error(source: str, *details: str) -> UsageError:
    """Return the error for a state without a node that was to have some, most often: of such a
    state, an expectation that no pod stays pending holds. details: lines about the source"""
    lines = [f"{source}: the state has no Node", *details]
    lines.append("this command writes a state, with every kind that plugins read:")
    lines.append(DUMP_COMMAND)
    lines.append("--allow-empty-state (in a file: allowEmptyState: true) accepts one without nodes")
    return UsageError("\n  ".join(lines))


def absent_kind(state: ClusterState, kind: str) -> str:
    """Return that the state has no object of a kind, if the cluster may have some; else ""."""
    if getattr(state, KINDS[kind].attribute) or kind in state.whole_kinds:
        return ""
    plural = f"{kind}{'es' if kind[-1] == 's' else 's'}"
    return f"the state has no {plural} (add those of kubectl get {resource_of(kind)} -A)"


def state_warnings(state: ClusterState) -> Iterator[str]:
    """Yield the warnings about a state, in a fixed order."""
    pods = [pod for pod in state.pods if pod.status.phase not in FINISHED_PHASES]
    specs = Counter(map(attrgetter("spec"), pods))
    yield from nothing_to_schedule(state)
    if state.pods and not state.nodes:
        yield "no Nodes in the state: every pod stays pending"
    empty = [node.name for node in state.nodes if not node.status.allocatable]
    if empty:
        yield (
            f"{_count(len(empty), 'node')} without status.allocatable and status.capacity "
            f"({first_names(empty)}): no pod fits there"
        )
    names = {node.name for node in state.nodes}
    pods_by_node = Counter(map(attrgetter("node_name"), pods))
    absent = {name: count for name, count in pods_by_node.items() if name and name not in names}
    if absent:
        yield (
            f"{_pods(sum(absent.values()))} bound to {_count(len(absent), 'node')} "
            f"not in the state ({first_names(list(absent))}); they are left out"
        )
    yield from _storage_warnings(state, specs)
    yield from _device_warnings(state, specs)
    yield from _namespace_warnings(state)
    classes = sum(
        count
        for spec, count in specs.items()
        if spec.priority_class_name not in ("", *SYSTEM_PRIORITIES) and not spec.preemption_policy
    )
    if classes and not state.priority_classes:
        yield (
            f"no PriorityClasses in the state, but {_pods(classes)} naming one: "
            "ksched cannot tell whether they may preempt"
        )
    # PodTopologySpread's default constraints use the selectors of a pod's services and owners.
    pending = (pod for pod in pods if not pod.node_name)
    users = Counter(pod.owner[0] for pod in pending if not pod.spec.topology_spread_constraints)
    for kind, count in users.items():
        if kind in _OWNERS and not getattr(state, KINDS[kind].attribute):
            yield (
                f"no {kind}s in the state, but {_count(count, 'pending pod')} with such an "
                "owner: the default constraints of PodTopologySpread miss their selectors"
            )
    yield from _priority_class_warnings(state)
    yield from unmet_warnings(state)


def without_touching(state: ClusterState, pods: Sequence[Pod]) -> frozenset[str]:
    """Return the warnings of a state that do not touch a question about these pods: those about
    other pods, other kinds, and their fields."""
    from ksched_cli.cluster.loading.unknown_fields import unknown_in_pod

    # 1. What would be said in the same words without the pods, and is said because of other pods.
    keys = {pod.key for pod in pods}
    others = replace(state, pods=tuple(each for each in state.pods if each.key not in keys))
    of_others = set(state_warnings(others)) - set(state_warnings(replace(state, pods=())))
    # Running pods keep them away, too, by the namespaces that they select.
    of_others -= set(_namespace_warnings(state))
    # 2. Unknown fields of other pods, and of kinds that no decision about the pods reads.
    fields, own = state.unknown_fields, set[tuple[str, Any]]()
    has_pods = any(kind == "Pod" for kind, _ in fields.values())
    touching = {"Node", "PriorityClass", "Service", "PodDisruptionBudget"}
    for pod in pods:
        if has_pods:
            own.update(unknown_in_pod(pod))
        if has_volume_claims(pod.spec):
            touching |= {"PersistentVolumeClaim", "PersistentVolume", "StorageClass"}
        if pod.owner[0]:
            # It may be made of such an object.
            touching |= {pod.owner[0], "Deployment"}
    return frozenset(
        of_others | {line for line, at in fields.items() if at not in own and at[0] not in touching}
    )


def nothing_to_schedule(state: ClusterState) -> Iterator[str]:
    """Yield the warning about a state without pods."""
    if not state.pods:
        kinds = "no Pods" if state.nodes else "no Nodes and no Pods"
        yield f"{kinds} in the state: nothing to schedule"


def replayed_anew(state: ClusterState) -> frozenset[str]:
    """Return the warnings that are out of place where pods come with a timeline, and nodes with an
    autoscaler; those of the replay are in their place."""
    return frozenset((*nothing_to_schedule(state), *unmet_warnings(state)))


def unmet_warnings(
    state: ClusterState, joining: Iterable[Node] = (), templates: Iterable[Pod] | None = None
) -> Iterator[str]:
    """Return lines about resources and labels that pods without a node ask for and no node has.

    joining: nodes that are not in the state yet; templates: of pods that come with a timeline, to
    be judged in place of those of the state
    """
    nodes = [*state.nodes, *joining]
    waiting = (pod for pod in state.pods if not pod.node_name and not pod.finished)
    specs = Counter(pod.spec for pod in (waiting if templates is None else templates))
    if not nodes or not specs:
        return
    resources: Counter[str] = Counter()
    labels: Counter[str] = Counter()
    for spec, count in specs.items():
        requested = {
            name
            for container in (*spec.containers, *spec.init_containers)
            for name, amount in container.resources.requests.items()
            if amount.sign() > 0 and name not in _OF_EVERY_NODE
        }
        resources.update(dict.fromkeys(requested, count))
        # The labels that a node must have for the pod: those of a required affinity only if it has
        # one term, for else another term may do.
        terms = spec.required_nodes.node_selector_terms if spec.required_nodes else ()
        expressions = terms[0].match_expressions if len(terms) == 1 else ()
        needed = {*spec.node_selector, *(e.key for e in expressions if e.operator in _NEEDING)}
        labels.update(dict.fromkeys(needed, count))
    offered = {name for node in nodes for name in node.status.allocatable}
    for each in state.device_classes.values():
        offered |= {each.spec.extended_resource_name or "", f"{_IMPLICIT_CLASS}{each.name}"}
    present = {key for node in nodes for key in node.metadata.labels}
    # A timeline may bring nodes.
    nobody = "no node" if templates is None else "no node of the state"
    noun = "pending pod" if templates is None else "template of the timeline"
    lacking = f"{nobody} has the"
    yield from _absent(f"{lacking} resource", resources, offered, noun, "requests", "request")
    yield from _absent(f"{lacking} label", labels, present, noun, "requires", "require")


def _absent(
    lacking: str, askers: Counter[str], present: set[str], noun: str, *verbs: str
) -> Iterator[str]:
    """Yield a line of what pods ask for and no object has. lacking: how a line begins; noun: of
    those that ask; verbs: of one, and of several"""
    for name, count in sorted(askers.items()):
        if name not in present:
            who = f"{_count(count, noun)} {verbs[count > 1]} it"
            near = nearest(name, present)
            hint = f'; did you mean "{near}"?' if near else ""
            yield f"{lacking} {shortened(name)}, and {who}{hint}"


def _storage_warnings(state: ClusterState, specs: Counter[PodSpec]) -> Iterator[str]:
    users = sum(count for spec, count in specs.items() if has_volume_claims(spec))
    if not users:
        return
    claims = state.persistent_volume_claims.values()
    if not claims:
        yield (
            f"no PersistentVolumeClaims in the state, but {_pods(users)} with claims: "
            "volume plugins find none"
        )
    if any(claim.spec.volume_name for claim in claims) and not state.persistent_volumes:
        yield (
            "no PersistentVolumes in the state, but some claims are bound: volume "
            "plugins cannot tell which nodes reach the volumes"
        )
    unbound = any(not c.spec.volume_name and c.spec.storage_class_name for c in claims)
    if unbound and not state.storage_classes:
        yield (
            "no StorageClasses in the state, but unbound claims name some: VolumeBinding "
            "cannot tell where volumes can be provisioned"
        )
    csi = any(volume.spec.csi for volume in state.persistent_volumes.values())
    if csi and not state.csi_nodes:
        yield (
            "no CSINodes in the state, but volumes of CSI drivers: NodeVolumeLimits "
            "applies no limit"
        )


def _device_warnings(state: ClusterState, specs: Counter[PodSpec]) -> Iterator[str]:
    users = sum(count for spec, count in specs.items() if spec.resource_claims)
    if not users:
        return
    for objects, kind, consequence in (
        (state.resource_claims, "ResourceClaims", "DynamicResources finds no claim"),
        (state.resource_slices, "ResourceSlices", "DynamicResources finds no device"),
        (state.device_classes, "DeviceClasses", "DynamicResources cannot match devices"),
    ):
        if not objects:
            yield f"no {kind} in the state, but {_pods(users)} with resource claims: {consequence}"


def _namespace_warnings(state: ClusterState) -> Iterator[str]:
    pods = [pod for pod in state.pods if pod.status.phase not in FINISHED_PHASES]
    specs = Counter(map(attrgetter("spec"), pods))
    users = sum(count for spec, count in specs.items() if _selects_namespaces(spec))
    if users and not state.namespaces:
        yield (
            f"no Namespaces in the state, but {_pods(users)} selecting some by label: "
            "InterPodAffinity matches none of them"
        )
    elif users:
        namespaces = dict.fromkeys(pod.metadata.namespace for pod in pods)
        absent = [name for name in namespaces if name not in state.namespaces]
        if absent:
            yield (
                f"{_count(len(absent), 'namespace')} of pods not in the state "
                f"({first_names(absent)}), but {_pods(users)} selecting some by label: "
                "InterPodAffinity does not match them"
            )


def _selects_namespaces(spec: PodSpec) -> bool:
    if spec.affinity is None:
        return False
    terms: list[PodAffinityTerm] = []
    for each in (spec.affinity.pod_affinity, spec.affinity.pod_anti_affinity):
        if each is not None:
            preferred = each.preferred_during_scheduling_ignored_during_execution
            terms += each.required_during_scheduling_ignored_during_execution
            terms += (weighted.pod_affinity_term for weighted in preferred)
    selectors = [term.namespace_selector for term in terms]
    # An empty selector matches all namespaces, in the state or not.
    return any(s is not None and (s.match_labels or s.match_expressions) for s in selectors)


def _priority_class_warnings(state: ClusterState) -> Iterator[str]:
    """Yield the classes that no API server accepts. Upstream: ValidatePriorityClass."""
    for each in state.priority_classes.values():
        if each.name.startswith("system-"):
            if SYSTEM_PRIORITIES.get(each.name) != each.value or each.global_default:
                yield (
                    f"PriorityClass {each.name}: an API server refuses it: names that begin with "
                    "system- are reserved"
                )
        elif each.value > _HIGHEST_USER_PRIORITY:
            yield (
                f"PriorityClass {each.name}: an API server refuses it: its value {each.value} is "
                f"above {_HIGHEST_USER_PRIORITY}"
            )


def _pods(count: int) -> str:
    return _count(count, "pod")


def _count(count: int, noun: str) -> str:
    """Count a noun: "2 pods", "1 template of the timeline"."""
    word, blank, rest = noun.partition(" of ")
    return f"{count} {word}{'' if count == 1 else 's'}{blank}{rest}"


# -- parts of its cluster that a state lacks. Only states that an API server wrote are judged:
# whoever writes one by hand leaves out what does not matter to them ------------------------------


def is_dump(state: ClusterState) -> bool:
    """Return whether an API server wrote the nodes."""
    return any(map(_is_served, state.nodes))


def _is_served(node: Node) -> bool:
    """Return whether an API server wrote the node. Those of KWOK have no images, and a file that
    kubectl neat cleaned has no revisions."""
    meta = node.metadata
    is_stamped = meta.creation_timestamp or meta.resource_version
    return bool(meta.uid and (is_stamped or _has_images(node)))


def _has_images(node: Node) -> bool:
    """Return whether a real kubelet wrote the node's status."""
    return bool(node.status.images)


def part_warnings(state: ClusterState) -> Iterator[str]:
    """Return a line where the state seems to be part of a cluster, with the signs of it."""
    if "Node" in state.whole_kinds or not is_dump(state):
        return
    signs: list[str] = []
    # Namespaces without pods, and images that no pod uses.
    namespaces = sorted({pod.namespace for pod in state.pods})
    if not namespaces:
        signs.append("it has no pods")
    elif SYSTEM_NAMESPACE not in namespaces:
        others = "only pods of other namespaces"
        if len(namespaces) == 1:
            others = f"all pods are in {namespaces[0]}"
        signs.append(f"no pods of namespace {SYSTEM_NAMESPACE}, {others}")
    elif len(namespaces) <= 2:  # what cluster-info dump writes of a namespace
        names = {
            name for node in state.nodes for image in node.status.images for name in image.names
        }
        images = {_repository(name) for name in names} - {_PAUSE}
        used = images & {
            _repository(container.image)
            for spec in {id(pod.spec): pod.spec for pod in state.pods}.values()
            for container in (*spec.containers, *spec.init_containers)
        }
        if len(used) * 2 < len(images):
            counts = f"{len(images) - len(used)} of {len(images)} images on the nodes"
            unused = f"{counts} belong to other pods"
            signs.append(f"only pods of {' and '.join(namespaces)}, and {unused}")
    signs += _daemon_signs(state)
    if signs:
        yield (
            f"the state looks like part of a cluster: {'; '.join(signs)}. Missing pods "
            "use no capacity here. Read all namespaces: kubectl get -A, cluster-info "
            "dump --all-namespaces"
        )


def budget_warnings(state: ClusterState) -> Iterator[str]:
    """Yield a line where pods are evicted, and nothing tells whether the cluster has budgets."""
    is_settled = state.pod_disruption_budgets or "PodDisruptionBudget" in state.whole_kinds
    if not is_settled and is_dump(state):
        yield (
            "no PodDisruptionBudgets in the state: evictions are decided as if the cluster had none"
            " (add those of kubectl get poddisruptionbudgets -A)"
        )


def _repository(image: str) -> str:
    match = _REPOSITORY.search(image)
    return match[1] if match else image


def _daemon_signs(state: ClusterState) -> Iterator[str]:
    """Yield how many nodes run no DaemonSet's pod, though every one has some of the cluster's own.
    A cluster of KWOK nodes alone may have no DaemonSet."""
    served = {pod.node_name for pod in state.pods if pod.owner[0] == "DaemonSet"}
    key, value = _FARGATE  # whose nodes take no DaemonSet's pods
    nodes = [
        node
        for node in state.nodes
        if _is_served(node) and not node.is_not_ready and node.metadata.labels.get(key) != value
    ]
    bare = [node.name for node in nodes if node.name not in served]
    if bare and len(bare) == len(nodes):
        if any(map(_has_images, nodes)):
            yield "no node has a pod of a DaemonSet"
    elif bare:
        lack = "has" if len(bare) == 1 else "have"
        listed = first_names(bare)
        yield f"{len(bare)} of {len(nodes)} nodes {lack} no pod of a DaemonSet ({listed})"
