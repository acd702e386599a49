"""Groups of pods that are scheduled together: the PodGroups of a state, and their pods in a run.

A CompositePodGroup is a group of groups: its children are PodGroups and CompositePodGroups that
name it as their parent, and the whole tree is scheduled together.

Upstream: k8s.io/api/scheduling/v1alpha2, v1alpha3 (CompositePodGroup) and v1beta1 (PodGroup),
pkg/scheduler/backend/cache/podgroupstate.go, backend/queue/workload_forest.go.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from operator import attrgetter
from typing import Any, TypeAlias

import msgspec

from ksched_cli.cluster.loading.kinds import PriorityAdmission, UnknownPriorityClassError
from ksched_cli.cluster.objects import Pod, PodResourceClaim, PodSpec
from ksched_cli.cluster.objects.pod import PodResourceClaimStatus
from ksched_cli.cluster.objects.workloads import DisruptionMode, PodGroupSpec, PodGroupStatus
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Rows, Snapshot
from ksched_cli.cluster.state import ClusterState
from ksched_cli.errors import UsageError
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.status import PluginError, Status
from ksched_cli.kube.gates import COMPOSITE_GATE, COMPOSITE_POD_GROUP, PLACEMENT_GATE, POD_GROUP
from ksched_cli.kube.time import unix_seconds
from ksched_cli.kube.versions import Release

# Those that a scheduler whose queue has groups reads, and those of the one before it.
API_VERSIONS = ("scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha3")
FORMER_API_VERSIONS = ("scheduling.k8s.io/v1alpha2",)
# Without v1beta1, where trees are not checked.
COMPOSITE_API_VERSIONS = ("scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha3")
NO_NODE_OF_POD = 'getting node for pod {pod}: nodeinfo not found for node name "{node}"'
# How many levels a tree has at most. Upstream: WorkloadMaxTreeDepth.
MAX_DEPTH = 4

GroupKey: TypeAlias = tuple[str, str]
"""Namespace and name; see composite_key."""


def composite_key(namespace: str, name: str) -> GroupKey:
    """Return the key of a CompositePodGroup, which no PodGroup has."""
    return namespace, f"compositepodgroup/{name}"


class PodGroup(msgspec.Struct, frozen=True):
    """A PodGroup or CompositePodGroup as the scheduler reads it.

    min_count: how many pods, or groups, of a gang have to be placed at once; None where any number
        may be
    priority:  of all its pods together, when they are victims or preempt
    is_basic:  its policy is basic; a group may have no policy
    is_indivisible: its pods are evicted together, or not at all
    is_constrained: it has scheduling constraints; topology_key: of the first, or ""
    preemption_policy: whether it may evict others; "" where it says nothing of that
    workload: the name of the Workload that it was made for, or ""
    is_composite: it is a CompositePodGroup; parent: the name of the one that it is in, or ""
    created: seconds since 1970
    claims: those of its pods that are the group's
    claim_statuses: those that its controller has made from templates
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
    is_composite: bool = False
    parent: str = ""
    created: float = 0.0
    is_basic: bool = False
    uid: str = ""
    claims: tuple[PodResourceClaim, ...] = ()
    claim_statuses: tuple[PodResourceClaimStatus, ...] = ()

    @property
    def key(self) -> GroupKey:
        if self.is_composite:
            return composite_key(self.namespace, self.name)
        return self.namespace, self.name

    @property
    def parent_key(self) -> GroupKey | None:
        """Return the key of the group that it is in."""
        return composite_key(self.namespace, self.parent) if self.parent else None

    @property
    def entity(self) -> str:
        """Return its name in messages. Upstream: EntityKey.String."""
        return f"{self.kind.lower()}/{self.namespace}/{self.name}"

    @property
    def kind(self) -> str:
        return "CompositePodGroup" if self.is_composite else "PodGroup"


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
    """A group that does not fit, and the nodes to try evictions out on.

    pods:   those without a node, in the order in which they are tried
    states: by uid, of those that were tried, of their last attempts
    snapshot: of the nodes
    attempt: tries the group on the nodes as they are now, see `try_group`
    """

    group: PodGroup
    pods: Sequence[PodInfo]
    states: Mapping[str, CycleState]
    snapshot: Snapshot
    attempt: Callable[[], tuple[Status, Sequence[Assignment]]]

    def try_group(self) -> tuple[Status, Sequence[Assignment]]:
        """Return whether the group fits on the nodes as they are now, and where."""
        with self.snapshot.unsealed():
            return self.attempt()

    @contextmanager
    def branch(self) -> Iterator[None]:
        """Take back in the end what was removed and added meanwhile."""
        with ExitStack() as stack:
            with self.snapshot.unsealed():
                stack.enter_context(self.snapshot.trial())
            try:
                yield
            finally:
                with self.snapshot.unsealed():
                    stack.close()

    def remove(self, pod: PodInfo, row: int) -> None:
        """Remove a pod from its node, within `branch`."""
        with self.snapshot.unsealed():
            self.snapshot.remove(pod, row)

    def add(self, pod: PodInfo, row: int) -> None:
        """Put a pod back on its node, within `branch`."""
        with self.snapshot.unsealed():
            self.snapshot.add(pod, row)


class GroupRoom(msgspec.Struct, frozen=True):
    """The room made for a group.

    victims:     of all its pods, the most important first
    nominations: by uid, the node of a pod
    afterwards:  what else is done, whether there is room or not
    nodes:       on which less important pods are nominated no more
    """

    victims: tuple[PlacedPod, ...] = ()
    nominations: Mapping[str, str] = msgspec.field(default_factory=dict)
    afterwards: tuple[Callable[[], None], ...] = ()
    nodes: tuple[str, ...] = ()


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
                (pod.namespace, volume.persistent_volume_claim.claim_name)
                for on_node in snapshot.pods
                for pod in on_node
                for volume in pod.spec.volumes
                if volume.persistent_volume_claim is not None
            )
        if not any(pod.spec.affinity is not None for pod in pods):
            return cls(uids, claims)
        with_affinity, with_anti_affinity = set[int](), set[int]()
        for row, on_node in enumerate(snapshot.pods):
            for affinity in (pod.spec.affinity for pod in on_node):
                # Affinity and anti-affinity to pods count. Upstream: podWithAffinity.
                if affinity is None or not (affinity.pod_affinity or affinity.pod_anti_affinity):
                    continue
                with_affinity.add(row)
                terms = affinity.pod_anti_affinity
                if terms and terms.required_during_scheduling_ignored_during_execution:
                    with_anti_affinity.add(row)
        return cls(uids, claims, frozenset(with_affinity), frozenset(with_anti_affinity))


def group_key(pod: Pod) -> GroupKey | None:
    """Return the group that the pod names, or None."""
    group = pod.spec.scheduling_group
    return None if group is None else (pod.namespace, group.pod_group_name)


class PodGroups:
    """The groups of a state, and their pods; which of these have a node follows the snapshot.

    groups: the objects, those of CompositePodGroups too where their gate is on
    trial:  of the trial under way, or None
    preempts: a group may evict others to fit
    places:   a group may be limited to nodes of one topology domain
    are_entities: see Rules.queues_groups
    have_policies: a group says whether it may evict others; else its pods do
    weigh_pods_alone: see Rules.weighs_pods_alone
    compose: groups may be parts of CompositePodGroups
    api_version: of the objects
    warnings: what of the objects is not followed
    version: how often a pod joined a group, or was gone
    """

    def __init__(
        self,
        state: ClusterState,
        snapshot: Snapshot,
        scheduler_names: Container[str],
        release: Release,
    ) -> None:
        """Read the groups of the state and count their pods.

        scheduler_names: of the profiles; pods without a node of other schedulers are no members

        Raises UsageError for a PodGroup of another shape.
        """
        self.preempts = release.rules.queues_groups or release.enabled("WorkloadAwarePreemption")
        self.places = release.enabled(PLACEMENT_GATE)
        self.are_entities = release.rules.queues_groups
        self.have_policies = _have_policies(release)
        self.weigh_pods_alone = release.rules.weighs_pods_alone
        self.compose = release.enabled(COMPOSITE_GATE)
        self.api_version = (API_VERSIONS if self.are_entities else FORMER_API_VERSIONS)[0]
        self._objects = state.others.get(POD_GROUP, ())
        self._snapshot = snapshot
        self._scheduler_names = scheduler_names
        self.groups = _read_groups(state, release, self.preempts)
        self._children: defaultdict[GroupKey, list[PodGroup]] = defaultdict(list)
        for group in sorted(self.groups.values(), key=attrgetter("created", "name")):
            if group.parent_key is not None:
                self._children[group.parent_key].append(group)
        self.warnings = tuple(_warnings(state, release))
        self.trial: TrialListing | None = None
        self.version = 0
        self._list_members(state.pods)
        snapshot.subscribe(self)

    def get(self, pod: PodInfo) -> PodGroup | None:
        """Return the object of the pod's group, or None."""
        key = group_key(pod.pod)
        return None if key is None else self.groups.get(key)

    # -- trees ----------------------------------------------------------------------------------

    def ancestors(self, group: PodGroup) -> Iterator[PodGroup]:
        """Yield the group, and those that it is in, from the inside, as far as they have objects
        and trees may be deep. Upstream: TraverseHierarchyUp, which has no such limit from 1.38 on:
        no deeper tree is ever placed."""
        current: PodGroup | None = group
        for _ in range(MAX_DEPTH):
            if current is None:
                return
            yield current
            key = current.parent_key
            current = self.groups.get(key) if key is not None else None

    def root_of(self, key: GroupKey) -> PodGroup | None:
        """Return the group around all others that the group is in. Return None where an object is
        missing, or groups are in each other. Upstream: GetRootKeyForGroup."""
        seen: set[GroupKey] = set()
        while (group := self.groups.get(key)) is not None and key not in seen:
            seen.add(key)
            parent = group.parent_key
            if parent is None:
                return group
            key = parent
        return None

    def entity_of(self, pod: Pod) -> GroupKey | None:
        """Return what the pod is tried with: the key of its group's root, or of its group where
        there is no root. Return None for a pod without a group."""
        key = group_key(pod)
        root = None if key is None else self.root_of(key)
        return key if root is None else root.key

    def are_related(self, first: GroupKey, second: GroupKey) -> bool:
        """Return whether two groups are in one tree. Upstream: areSameHierarchy."""
        if not self.compose:
            return first == second
        root = self.root_of(first)
        return root is not None and root is self.root_of(second)

    def children(self, group: PodGroup) -> Sequence[PodGroup]:
        """Return the groups that name it as their parent, the oldest first. Upstream:
        GetChildGroups."""
        return self._children[group.key]

    def leaves(self, group: PodGroup) -> Iterator[PodGroup]:
        """Return the PodGroups of its tree, in the order in which they are tried."""
        return (each for each in self.tree(group) if not each.is_composite)

    def tree(self, group: PodGroup, around: tuple[PodGroup, ...] = ()) -> Iterator[PodGroup]:
        """Yield the group and those in it, from the outside.

        around: groups that it is in, which may be in each other
        """
        if group not in around:
            yield group
            for child in self.children(group):
                yield from self.tree(child, (*around, group))

    def _leaf_keys(self, key: GroupKey) -> list[GroupKey]:
        group = self.groups.get(key)
        return [key] if group is None else [leaf.key for leaf in self.leaves(group)]

    def is_ready(self, group: PodGroup, count: Callable[[GroupKey], int]) -> bool:
        """Return whether enough of its pods or groups count, at each level. count: pods of a
        PodGroup. Upstream: isCPGTreeReady."""
        least = 1 if group.min_count is None else group.min_count
        if not group.is_composite:
            return count(group.key) >= least
        return sum(self.is_ready(child, count) for child in self.children(group)) >= least

    def evicted_with(self, pod: PodInfo) -> PodGroup | None:
        """Return the largest group around the pod that is evicted together. Upstream:
        getHighestAllAncestor."""
        group = self.get(pod)
        around = self.ancestors(group) if group is not None else ()
        indivisible = [each for each in around if each.is_indivisible]
        return indivisible[-1] if indivisible else None

    # -- pods -----------------------------------------------------------------------------------

    def spec_of(self, key: GroupKey) -> dict[str, Any]:
        """Return the spec of the group's object, as it was read, or {} where there is no object."""
        for plain in self._objects:
            if key_of(plain) == key:
                return dict(plain.get("spec") or {})
        return {}

    def priority_of(self, pod: PodInfo) -> int:
        """Return the priority of the outermost of the pod's groups, where it has one. Upstream:
        GetPodPriority."""
        group = self.get(pod)
        return pod.priority if group is None else [*self.ancestors(group)][-1].priority

    def victim_priority(self, pod: PodInfo) -> int:
        return pod.priority if self.weigh_pods_alone else self.priority_of(pod)

    @property
    def have_victims(self) -> bool:
        """Return whether pods of groups are on nodes, and count there with their groups."""
        return self.are_entities and any(self._scheduled.values())

    def _list_members(self, pods: Iterable[Pod]) -> None:
        """List the members among `pods`, which are all pods now; those on nodes are in the
        snapshot."""
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
        """Add a pod to its group. Do nothing for a pod without a group, a finished one, or one of
        another scheduler."""
        key = group_key(pod)
        if key is None or pod.finished:
            return
        if not pod.node_name and pod.spec.scheduler_name not in self._scheduler_names:
            return
        self.version += 1
        self._members[key][pod.metadata.uid] = pod.key
        if pod.node_name and pod.node_name not in self._snapshot.row:
            self._elsewhere[key][pod.metadata.uid] = pod

    def members(self, key: GroupKey) -> tuple[str, ...]:
        """Return the keys of the group's pods, with a node or without."""
        return tuple(pod for leaf in self._leaf_keys(key) for pod in self._members[leaf].values())

    def pod_count(self, key: GroupKey) -> int:
        """Return the group's pods, with a node or without."""
        return sum(len(self._members[leaf]) for leaf in self._leaf_keys(key))

    def scheduled_count(self, key: GroupKey) -> int:
        """Return the group's pods that are on a node, bound or assumed."""
        return sum(
            self._scheduled[leaf] + len(self._elsewhere[leaf]) for leaf in self._leaf_keys(key)
        )

    def scheduled_pods(self, key: GroupKey) -> list[Pod]:
        """Return the group's pods that are on a node."""
        if not self.scheduled_count(key):
            return []
        leaves = self._leaf_keys(key)
        elsewhere = [pod for leaf in leaves for pod in self._elsewhere[leaf].values()]
        members = {uid for leaf in leaves for uid in self._members[leaf]}
        placed = (pod for pods in self._snapshot.pods for pod in pods)
        return elsewhere + [pod.pod for pod in placed if pod.uid in members]

    def placed_pods(self, key: GroupKey, missing: str = NO_NODE_OF_POD) -> list[PlacedPod]:
        """Return the group's pods that are on a node. Raises PluginError where one is on a node
        that is not there. missing: the error, of a `pod` and its `node`"""
        leaves = self._leaf_keys(key)
        for pod in (pod for leaf in leaves for pod in self._elsewhere[leaf].values()):
            raise PluginError(missing.format(pod=pod.key, node=pod.node_name))
        return [
            (pod, row)
            for row, pods in enumerate(self._snapshot.pods)
            for pod in pods
            if group_key(pod.pod) in leaves
        ]

    def forget(self, pod: PodInfo) -> None:
        """Remove a pod that is gone."""
        key = group_key(pod.pod)
        if key is not None:
            self.version += 1
            self._members[key].pop(pod.uid, None)
            self._elsewhere[key].pop(pod.uid, None)

    def pod_added(self, pod: PodInfo, row: int) -> None:
        self.count(pod, 1)

    def pod_removed(self, pod: PodInfo, row: int) -> None:
        self.count(pod, -1)

    def count(self, pod: PodInfo, number: int) -> None:
        """Count the pod among those of its group with a node.

        number: 1 where the pod has a node now, -1 where it no longer has one
        """
        key = group_key(pod.pod)
        if key is not None:
            self._scheduled[key] += number


def _read_groups(state: ClusterState, release: Release, admits: bool) -> dict[GroupKey, PodGroup]:
    """Return the groups of the state by key.

    admits: priorities are set by class, as the API server sets them
    """
    admission = PriorityAdmission(state.priority_classes) if admits else None
    groups = (
        _read(kind, plain, admission, release)
        for kind, versions in _versions_read(release).items()
        for plain in state.others.get(kind, ())
        if plain.get("apiVersion") in versions
    )
    return {group.key: group for group in groups}


def _versions_read(release: Release) -> dict[str, Sequence[str]]:
    """Return kind → the versions of its objects that the scheduler reads."""
    versions = API_VERSIONS if release.rules.queues_groups else FORMER_API_VERSIONS
    if not release.enabled(COMPOSITE_GATE):
        return {POD_GROUP: versions}
    composite = COMPOSITE_API_VERSIONS if release.rules.checks_trees else COMPOSITE_API_VERSIONS[1:]
    return {POD_GROUP: versions, COMPOSITE_POD_GROUP: composite}


def _have_policies(release: Release) -> bool:
    """Return whether a group may say that it evicts no others."""
    return release.rules.checks_trees or release.enabled("PodGroupPreemptionPolicy")


def _warnings(state: ClusterState, release: Release) -> Iterator[str]:
    """Yield a line about objects of versions that the minor does not read, and one about parts of
    composite groups where their gate is off."""
    for kind, versions in _versions_read(release).items():
        objects = state.others.get(kind, ())
        others = [plain for plain in objects if plain.get("apiVersion") not in versions]
        if others:
            reads = f"Kubernetes {release.minor} reads {' and '.join(versions)}"
            yield f"not read: {_listed(others)} of {others[0].get('apiVersion')}; {reads}"
        parts = [
            plain
            for plain in objects
            if plain not in others and (plain.get("spec") or {}).get("parentCompositePodGroupName")
        ]
        if parts and not release.enabled(COMPOSITE_GATE):
            yield (
                f"ignored the CompositePodGroup of {_listed(parts)}; the feature gate"
                f" {COMPOSITE_GATE} is off"
            )


def _listed(groups: Sequence[Mapping[str, Any]]) -> str:
    more = f" and {len(groups) - 1:,} more" if len(groups) > 1 else ""
    return f"{groups[0].get('kind')} {'/'.join(key_of(groups[0]))}{more}"


def key_of(group: Mapping[str, Any]) -> GroupKey:
    """Return the namespace and name of an object."""
    meta = group.get("metadata") or {}
    return meta.get("namespace") or "default", meta.get("name", "")


def min_count_of(group: Mapping[str, Any]) -> int | None:
    """Return how many pods or groups a gang wants at once, or None for a group that is no gang. The
    object must be of the right shape."""
    gang = msgspec.convert(group.get("spec") or {}, PodGroupSpec).scheduling_policy.gang
    if gang is None:
        return None
    return gang.min_group_count if group.get("kind") == "CompositePodGroup" else gang.min_count


def _read(
    kind: str, plain: Mapping[str, Any], admission: PriorityAdmission | None, release: Release
) -> PodGroup:
    namespace, name = key_of(plain)
    is_composite = kind == COMPOSITE_POD_GROUP
    has_policy = _have_policies(release)
    what = f"{kind.partition('.')[0]} {namespace}/{name}"
    try:
        spec = msgspec.convert(plain.get("spec") or {}, PodGroupSpec)
    except msgspec.ValidationError as error:
        raise UsageError(f"{what}: spec: {error}") from None
    try:
        status = msgspec.convert(plain.get("status") or {}, PodGroupStatus)
    except msgspec.ValidationError as error:
        raise UsageError(f"{what}: status: {error}") from None
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
            raise UsageError(f"{what}: {error}") from None
    mode, former = spec.disruption_mode, spec.pod_group_template_ref
    reference = spec.workload_ref or (former.workload if former is not None else None)
    least = None if gang is None else gang.min_group_count if is_composite else gang.min_count
    composes = release.enabled(COMPOSITE_GATE)
    return PodGroup(
        namespace,
        name,
        least,
        own.priority or 0,
        mode == "PodGroup" or (isinstance(mode, DisruptionMode) and mode.all is not None),
        constraints is not None,
        constraints.topology[0].key if constraints is not None and constraints.topology else "",
        own.preemption_policy if has_policy else "",
        reference.workload_name if reference is not None else "",
        is_composite,
        (spec.parent_composite_pod_group_name or "") if composes else "",
        _created(plain, what),
        spec.scheduling_policy.basic is not None,
        (plain.get("metadata") or {}).get("uid") or "",
        spec.resource_claims,
        status.resource_claim_statuses,
    )


def _created(plain: Mapping[str, Any], what: str) -> float:
    """Return the time of its creation in seconds since 1970, 0 where it has none. Raises
    UsageError."""
    created = (plain.get("metadata") or {}).get("creationTimestamp")
    try:
        return unix_seconds(str(created)) if created else 0.0
    except ValueError:
        problem = f'"{created}" is not a time such as 2026-01-31T12:00:00Z'
        raise UsageError(f"{what}: metadata.creationTimestamp: {problem}") from None
