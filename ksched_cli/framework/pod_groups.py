"""Groups of pods that are scheduled together: the PodGroups of a state, and their pods in a run.

Upstream: k8s.io/api/scheduling/v1alpha2 and v1beta1 (PodGroup),
pkg/scheduler/backend/cache/podgroupstate.go.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from ksched_cli.cluster.loading.defaults import PriorityAdmission, UnknownPriorityClassError
from ksched_cli.cluster.objects import Pod, PodSpec
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Rows, Snapshot
from ksched_cli.cluster.state import ClusterState
from ksched_cli.errors import UsageError
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.status import PluginError, Status
from ksched_cli.kube.versions import Release

KIND = "PodGroup.scheduling.k8s.io"
# Those that a scheduler whose queue has groups reads, and those of the one before it.
API_VERSIONS = ("scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha3")
FORMER_API_VERSIONS = ("scheduling.k8s.io/v1alpha2",)

GroupKey: TypeAlias = tuple[str, str]
"""Namespace and name."""


class _Gang(msgspec.Struct, frozen=True, rename="camel"):
    min_count: int = 0


class _Policy(msgspec.Struct, frozen=True):
    gang: _Gang | None = None


class _Topology(msgspec.Struct, frozen=True):
    key: str = ""


class _Constraints(msgspec.Struct, frozen=True):
    topology: tuple[_Topology, ...] = ()


class _DisruptionMode(msgspec.Struct, frozen=True):
    all: dict[str, Any] | None = None


class _WorkloadReference(msgspec.Struct, frozen=True, rename="camel"):
    workload_name: str = ""


class _TemplateReference(msgspec.Struct, frozen=True):
    workload: _WorkloadReference | None = None


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    """disruption_mode: a word in the former API, whose template pod_group_template_ref names"""

    workload_ref: _WorkloadReference | None = None
    pod_group_template_ref: _TemplateReference | None = None
    scheduling_policy: _Policy = _Policy()
    scheduling_constraints: _Constraints | None = None
    disruption_mode: str | _DisruptionMode | None = None
    priority: int | None = None
    priority_class_name: str = ""
    preemption_policy: str = ""


class PodGroup(msgspec.Struct, frozen=True):
    """A PodGroup as the scheduler reads it.

    min_count: how many pods of a gang have to be placed at once; None where any number may be
    priority:  of all its pods together, when they are victims or preempt
    is_indivisible: its pods are evicted together, or not at all
    is_constrained: it has scheduling constraints; topology_key: of the first, or ""
    preemption_policy: whether it may evict others; "" where it says nothing of that
    workload: the name of the Workload that it was made for, or ""
    """

    namespace: str
    name: str
    min_count: int | None
    priority: int = 0
    is_indivisible: bool = False
    is_constrained: bool = False
    topology_key: str = ""
    preemption_policy: str = ""
    workload: str = ""

    @property
    def key(self) -> GroupKey:
        return self.namespace, self.name


# A pod, and the row of the node that it is on.
PlacedPod: TypeAlias = tuple[PodInfo, int]


class Placement(msgspec.Struct, frozen=True, eq=False):
    """Nodes that a group may be placed on. rows: in the order of visits; name: "" of all nodes"""

    name: str
    rows: Rows


class Assignment(msgspec.Struct, frozen=True, eq=False):
    """A pod of a group, and the node that it was given in a trial. state: of its attempt there"""

    pod: PodInfo
    row: int
    state: CycleState


class RejectedGroup(msgspec.Struct, frozen=True, eq=False):
    """A group that does not fit.

    pods:   those without a node, in the order in which they are tried
    states: by uid, of those that were tried, of their last attempts
    try_group: whether the group fits on the nodes as they are now, and where
    """

    group: PodGroup
    pods: Sequence[PodInfo]
    states: Mapping[str, CycleState]
    try_group: Callable[[], tuple[Status, Sequence[Assignment]]]


class GroupRoom(msgspec.Struct, frozen=True):
    """What makes room for a group.

    victims:     of all its pods, the most important first
    nominations: by uid, the node of a pod
    afterwards:  what else is done, whether there is room or not
    """

    victims: tuple[PlacedPod, ...] = ()
    nominations: Mapping[str, str] = msgspec.field(default_factory=dict)
    afterwards: tuple[Callable[[], None], ...] = ()


class TrialListing(msgspec.Struct, frozen=True):
    """What plugins see of the pods that are assumed in a trial: kube-scheduler's snapshot adds them
    to their nodes, but not to its lists of nodes with affinity and of claims in use.

    pods:   UIDs of those that are tried
    claims: namespace and name of those that were in use when the trial began
    with_affinity, with_anti_affinity: rows of the nodes with pods that had affinity of either
        sign, and required anti-affinity, then; empty where no pod tried has any
    """

    pods: frozenset[str]
    claims: frozenset[GroupKey] = frozenset()
    with_affinity: frozenset[int] = frozenset()
    with_anti_affinity: frozenset[int] = frozenset()

    @classmethod
    def of(cls, pods: Sequence[PodInfo], snapshot: Snapshot) -> TrialListing:
        uids = frozenset(pod.uid for pod in pods)
        claims = frozenset[GroupKey]()
        if any(pod.spec.volumes for pod in pods):
            claims = frozenset(
                key for on_node in snapshot.pods for p in on_node for key in _claims(p)
            )
        if not any(pod.spec.affinity is not None for pod in pods):
            return cls(uids, claims)
        by_row = [(row, pod) for row, on_node in enumerate(snapshot.pods) for pod in on_node]
        return cls(
            uids,
            claims,
            frozenset(row for row, pod in by_row if _has_affinity(pod)),
            frozenset(row for row, pod in by_row if _has_required_anti_affinity(pod)),
        )


def _claims(pod: PodInfo) -> Iterator[GroupKey]:
    """The keys of the pod's claims for volumes."""
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            yield pod.namespace, volume.persistent_volume_claim.claim_name


def _has_affinity(pod: PodInfo) -> bool:
    """Upstream: podWithAffinity."""
    affinity = pod.spec.affinity
    return affinity is not None and bool(affinity.pod_affinity or affinity.pod_anti_affinity)


def _has_required_anti_affinity(pod: PodInfo) -> bool:
    affinity = pod.spec.affinity
    terms = affinity.pod_anti_affinity if affinity is not None else None
    return bool(terms and terms.required_during_scheduling_ignored_during_execution)


def group_key(pod: Pod) -> GroupKey | None:
    """The group that the pod names, or None."""
    group = pod.spec.scheduling_group
    return None if group is None else (pod.namespace, group.pod_group_name)


class PodGroups:
    """The groups of a state, and their pods; which of these have a node follows the snapshot.

    groups: the PodGroup objects
    trial:  of the trial under way, or None
    preempts: a group may evict others to fit
    places:   a group may be limited to nodes of one topology domain
    are_entities: see Rules.queues_groups
    have_policies: a group says whether it may evict others; else its pods do
    api_version: of the objects
    warnings: what of the objects is not followed
    """

    def __init__(
        self,
        state: ClusterState,
        snapshot: Snapshot,
        scheduler_names: Container[str],
        release: Release,
    ) -> None:
        """scheduler_names: of the profiles; pods without a node of others are no members. Raises
        UsageError for a PodGroup of another shape."""
        self.preempts = release.rules.queues_groups or release.enabled("WorkloadAwarePreemption")
        self.places = release.enabled("TopologyAwareWorkloadScheduling")
        self.are_entities = release.rules.queues_groups
        self.have_policies = release.enabled("PodGroupPreemptionPolicy")
        self.api_version = (API_VERSIONS if self.are_entities else FORMER_API_VERSIONS)[0]
        self._objects = state.others.get(KIND, ())
        self._snapshot = snapshot
        self._scheduler_names = scheduler_names
        self.groups = _read_groups(state, release, self.preempts)
        self.warnings = tuple(_warnings(self._objects, release))
        self.trial: TrialListing | None = None
        self.list_members(state.pods)
        snapshot.subscribe(self)

    def get(self, pod: PodInfo) -> PodGroup | None:
        """The object of the pod's group, or None."""
        key = group_key(pod.pod)
        return None if key is None else self.groups.get(key)

    def spec_of(self, key: GroupKey) -> dict[str, Any]:
        """The spec of the group's object, as it was read; {} where there is none."""
        for plain in self._objects:
            if key_of(plain) == key:
                return dict(plain.get("spec") or {})
        return {}

    def priority_of(self, pod: PodInfo) -> int:
        """A victim's priority: its group's, where it has one. Upstream: GetPodPriority."""
        group = self.get(pod)
        return pod.priority if group is None else group.priority

    @property
    def have_victims(self) -> bool:
        """Whether pods of groups are on nodes, and count there as their groups say."""
        return self.are_entities and any(self._scheduled.values())

    def list_members(self, pods: Iterable[Pod]) -> None:
        """These are all pods now; those on nodes are in the snapshot."""
        # By UID, those of nodes that are not there.
        self._elsewhere: defaultdict[GroupKey, dict[str, Pod]] = defaultdict(dict)
        self._scheduled: Counter[GroupKey] = Counter()
        self._members: defaultdict[GroupKey, dict[str, str]] = defaultdict(dict)
        for pod in pods:
            self.join(pod)
        for on_node in self._snapshot.pods:
            for info in on_node:
                self.count(info, 1)

    def join(self, pod: Pod) -> None:
        """A pod is there. Nothing where it is of no group, or finished, or another scheduler's."""
        key = group_key(pod)
        if key is None or pod.finished:
            return
        if not pod.node_name and pod.spec.scheduler_name not in self._scheduler_names:
            return
        self._members[key][pod.metadata.uid] = pod.key
        if pod.node_name and pod.node_name not in self._snapshot.row:
            self._elsewhere[key][pod.metadata.uid] = pod

    def members(self, key: GroupKey) -> tuple[str, ...]:
        """The keys of the group's pods, with a node or without."""
        return tuple(self._members[key].values())

    def pod_count(self, key: GroupKey) -> int:
        """The group's pods, with a node or without."""
        return len(self._members[key])

    def scheduled_count(self, key: GroupKey) -> int:
        """The group's pods that are on a node, bound or assumed."""
        return self._scheduled[key] + len(self._elsewhere[key])

    def scheduled_specs(self, key: GroupKey) -> list[PodSpec]:
        """The specs of the group's pods that are on a node."""
        if not self.scheduled_count(key):
            return []
        specs = [pod.spec for pod in self._elsewhere[key].values()]
        members = self._members[key]
        return specs + [
            pod.spec for pods in self._snapshot.pods for pod in pods if pod.uid in members
        ]

    def placed_pods(self, key: GroupKey) -> list[PlacedPod]:
        """The group's pods that are on a node. Raises PluginError where one is on a node that is
        not there."""
        for missing in self._elsewhere[key].values():
            name = missing.node_name
            cause = f'nodeinfo not found for node name "{name}"'
            raise PluginError(f"getting node for pod {missing.key}: {cause}")
        return [
            (pod, row)
            for row, pods in enumerate(self._snapshot.pods)
            for pod in pods
            if group_key(pod.pod) == key
        ]

    def forget(self, pod: PodInfo) -> None:
        """The pod is no more."""
        key = group_key(pod.pod)
        if key is not None:
            self._members[key].pop(pod.uid, None)
            self._elsewhere[key].pop(pod.uid, None)

    def pod_added(self, pod: PodInfo, row: int) -> None:
        self.count(pod, 1)

    def pod_removed(self, pod: PodInfo, row: int) -> None:
        self.count(pod, -1)

    def count(self, pod: PodInfo, number: int) -> None:
        """number: 1 where the pod has a node now, -1 where it has none any more"""
        key = group_key(pod.pod)
        if key is not None:
            self._scheduled[key] += number


def _read_groups(state: ClusterState, release: Release, admits: bool) -> dict[GroupKey, PodGroup]:
    """admits: priorities are set as the API server sets them, by class"""
    admission = PriorityAdmission(state.priority_classes) if admits else None
    versions = API_VERSIONS if release.rules.queues_groups else FORMER_API_VERSIONS
    groups = (
        _read(plain, admission, has_policy=release.enabled("PodGroupPreemptionPolicy"))
        for plain in state.others.get(KIND, ())
        if plain.get("apiVersion") in versions
    )
    return {group.key: group for group in groups}


def _warnings(objects: Sequence[Mapping[str, Any]], release: Release) -> Iterator[str]:
    """A line about objects of versions that the minor does not read, and one about parts of
    composite groups."""
    versions = API_VERSIONS if release.rules.queues_groups else FORMER_API_VERSIONS
    others = [plain for plain in objects if plain.get("apiVersion") not in versions]
    if others:
        reads = f"Kubernetes {release.minor} reads {' and '.join(versions)}"
        yield f"not read: {_listed(others)} of {others[0].get('apiVersion')}; {reads}"
    parts = [plain for plain in objects if plain not in others and _is_part(plain)]
    if parts:
        yield (
            f"scheduled without regard to its CompositePodGroup: {_listed(parts)}; ksched does not"
            " follow the gate CompositePodGroup"
        )


def _is_part(plain: Mapping[str, Any]) -> bool:
    return bool((plain.get("spec") or {}).get("parentCompositePodGroupName"))


def _listed(groups: Sequence[Mapping[str, Any]]) -> str:
    more = f" and {len(groups) - 1:,} more" if len(groups) > 1 else ""
    return f"PodGroup {'/'.join(key_of(groups[0]))}{more}"


def key_of(group: Mapping[str, Any]) -> GroupKey:
    """The key of an object."""
    meta = group.get("metadata") or {}
    return meta.get("namespace") or "default", meta.get("name", "")


def min_count_of(group: Mapping[str, Any]) -> int | None:
    """How many pods of a gang an object wants at once, which is of the right shape; None where it
    is no gang."""
    gang = msgspec.convert(group.get("spec") or {}, _Spec).scheduling_policy.gang
    return None if gang is None else gang.min_count


def _read(
    plain: Mapping[str, Any], admission: PriorityAdmission | None, *, has_policy: bool
) -> PodGroup:
    namespace, name = key_of(plain)
    try:
        spec = msgspec.convert(plain.get("spec") or {}, _Spec)
    except msgspec.ValidationError as error:
        raise UsageError(f"PodGroup {namespace}/{name}: spec: {error}") from None
    gang, constraints = spec.scheduling_policy.gang, spec.scheduling_constraints
    own = PodSpec(
        priority=spec.priority,
        priority_class_name=spec.priority_class_name,
        preemption_policy=spec.preemption_policy,
    )
    if admission is not None and (has_policy or spec.priority is None):
        try:
            own = admission.admit(own)
        except UnknownPriorityClassError as error:
            raise UsageError(f"PodGroup {namespace}/{name}: {error}") from None
    mode, former = spec.disruption_mode, spec.pod_group_template_ref
    reference = spec.workload_ref or (former.workload if former is not None else None)
    return PodGroup(
        namespace,
        name,
        None if gang is None else gang.min_count,
        own.priority or 0,
        mode == "PodGroup" or (isinstance(mode, _DisruptionMode) and mode.all is not None),
        constraints is not None,
        constraints.topology[0].key if constraints is not None and constraints.topology else "",
        own.preemption_policy if has_policy else "",
        reference.workload_name if reference is not None else "",
    )
