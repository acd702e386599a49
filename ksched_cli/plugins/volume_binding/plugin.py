"""Rejects nodes that a bound volume cannot be used from, and nodes for which no volume can be found
or provisioned for an unbound claim; reserves the volumes.

Upstream: plugins/volumebinding/volume_binding.go, with StorageCapacityScoring off: PreScore skips
Score.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import numpy as np
from msgspec import Struct

from ksched_cli.cluster.objects import (
    CSINode,
    CSIStorageCapacity,
    PersistentVolumeClaim,
    StorageClass,
)
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.resources import MEMORY
from ksched_cli.cluster.snapshot import Column, Mask
from ksched_cli.cluster.state import ClusterState
from ksched_cli.framework import cluster_events as events
from ksched_cli.framework.cluster_events import Action, ClusterEvent, Registration
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interface import (
    PreBindPlugin,
    PreScorePlugin,
    Proposal,
    Proposes,
    ReservePlugin,
    Scope,
    ScorePlugin,
)
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.results import Ids, Scores, Verdicts
from ksched_cli.framework.status import SKIP, SUCCESS, PluginError, Status
from ksched_cli.kube.formatting import quote
from ksched_cli.kube.quantity import amount_text, exact_text, rounded_down
from ksched_cli.plugins.args import DEFAULT_SHAPE, VolumeBindingArgs
from ksched_cli.plugins.helper import (
    FilteringPlugin,
    Fragments,
    PreFiltered,
    applied,
    refers_to,
    sign_volumes,
)
from ksched_cli.plugins.node_affinity import label_text, labels_text, terms_text
from ksched_cli.plugins.node_resources.scoring import requested_to_capacity_ratio
from ksched_cli.plugins.volume_binding.binder import (
    NO_CAPACITY,
    NODE_CONFLICT,
    REASON_BITS,
    SELECTED_NODE,
    VOLUME_MISSING,
    PodClaims,
    PodVolumes,
    VolumeBinder,
    claim_selector,
    provisions,
    volume_limit,
)
from ksched_cli.plugins.volumes import (
    AVAILABLE,
    CLAIM,
    NO_VOLUME,
    STORAGE,
    WAIT_FOR_FIRST_CONSUMER,
    TranslationError,
    binds_late,
    capacity,
    claim_class,
    claim_uses,
    is_bound_to,
    is_compatible,
    mask_of,
    migrated_plugins,
    not_found_message,
    ownership_error,
    requested,
    used_claims,
)

STATE_KEY = "VolumeBinding"
UNBOUND_IMMEDIATE = Status.unresolvable("pod has unbound immediate PersistentVolumeClaims")


class BindingState(Struct):
    """The claims of one attempt's pod. Upstream: stateData.

    volumes: for the claims on every node, set by Filter, where not every node passes; verdicts: the
    resulting ones; explanation: set by explain. Clones of the cycle state share them.
    """

    claims: PodClaims
    volumes: PodVolumes | None = None
    verdicts: tuple[Ids, Sequence[Status]] | None = None
    explanation: BindingExplanation | None = None


class VolumeBinding(
    FilteringPlugin, ReservePlugin, PreScorePlugin, ScorePlugin, PreBindPlugin, Proposes
):
    name = "VolumeBinding"
    idle_after_skip = True

    def __init__(self, args: VolumeBindingArgs, handle: Handle) -> None:
        self.binder = VolumeBinder(handle)
        self._cluster = handle.cluster

    def carry_over(self, previous: VolumeBinding) -> None:
        """See CarriesOver."""
        before, after = previous.binder.assumed, self.binder.assumed
        after.carry_over(before, previous._cluster, self._cluster)

    def scope_for(self, pod: PodInfo) -> Scope:
        return Scope.CLUSTER if any(claim_uses(pod.pod)) else Scope.NODE

    def sign_pod(self, pod: PodInfo) -> Fragments:
        return sign_volumes(pod)

    def events_to_register(self) -> Iterable[Registration]:
        return REGISTRATIONS

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> PreFiltered:
        if not any(claim_uses(pod.pod)):
            state.write(STATE_KEY, BindingState(PodClaims()))
            return None, SKIP
        # A claim that cannot be used rejects the pod. Upstream: podHasPVCs.
        for use, claim in used_claims(pod.pod, self._cluster.persistent_volume_claims):
            name, problem = quote(use.claim), ""
            if claim is None and use.ephemeral:
                problem = f"waiting for ephemeral volume controller to create the {CLAIM} {name}"
            elif claim is None:
                problem = not_found_message(CLAIM, use.claim)
            elif claim.status.phase == "Lost":
                volume = quote(claim.spec.volume_name)
                problem = f"{CLAIM} {name} bound to non-existent persistentvolume {volume}"
            elif claim.metadata.deletion_timestamp:
                problem = f"{CLAIM} {name} is being deleted"
            elif use.ephemeral:
                problem = ownership_error(pod.pod, claim)
            if problem:
                return None, Status.unresolvable(problem)
        claims = self.binder.claims(pod.pod)
        if claims.unbound_immediate:
            return None, UNBOUND_IMMEDIATE
        state.write(STATE_KEY, BindingState(claims))
        return None, SUCCESS

    def filter_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Verdicts:
        binding_state = read_state(state)
        if binding_state.verdicts is None:
            if self.binder.reach_every_node(binding_state.claims):
                return Verdicts.passing(len(nodes))
            # Volumes do not change during an attempt: computed once, for every node.
            binding_state.volumes = self.binder.find(binding_state.claims)
            binding_state.verdicts = binding_state.volumes.verdicts()
        ids, statuses = binding_state.verdicts
        return Verdicts(np.array(nodes.gather(ids)), list(statuses))

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Status:
        return SKIP

    def score_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Scores:
        return np.zeros(len(nodes), dtype=np.int64)

    def reserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        volumes = read_state(state).volumes
        if volumes is not None:
            self.binder.assume(volumes, node.row)
        return SUCCESS

    def unreserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> None:
        binding_state: BindingState | None = state.data.get(STATE_KEY)
        if binding_state is not None and binding_state.volumes is not None:
            self.binder.revert(binding_state.volumes, node.row)

    def pre_bind(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        """Return success. Upstream waits for the volume controller here; a simulation has none."""
        return SUCCESS

    def explain_filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> list[str]:
        binding_state: BindingState | None = state.data.get(STATE_KEY)
        if binding_state is None or binding_state.volumes is None:
            return []
        if binding_state.explanation is None:
            binding_state.explanation = BindingExplanation(
                self.binder, self._cluster, binding_state.claims, binding_state.volumes
            )
        return binding_state.explanation.rejection(node)

    def propose(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Iterator[Proposal]:
        volumes = read_state(state).volumes
        if volumes is None:
            return
        claims = volumes.dynamic_provisions_at(node.row)
        selected = [(claim, self.binder.assumed.selected_node(claim)) for claim in claims]
        gone = [(claim, name) for claim, name in selected if name and name not in node.snapshot.row]
        if gone:
            # The volumes may be made for another node than the one that is gone.
            without = {"metadata": {"annotations": {SELECTED_NODE: None}}}
            patch = json.dumps(without, separators=(",", ":"))
            what = f"remove the annotation {SELECTED_NODE}"
            texts = [f"{what} of claim {each.key}, as node {name} is gone" for each, name in gone]
            lines = [f"patch pvc/{c.name} -n {c.namespace} -p '{patch}'" for c, _ in gone]
            yield Proposal("claim", " and ".join(texts), tuple(lines))
            return
        # The data of a bound volume is where the volume is; a node that was selected stays so.
        lost = REASON_BITS[NODE_CONFLICT] | REASON_BITS[VOLUME_MISSING]
        if volumes.reason_bits[node.row] & lost or any(
            self.binder.assumed.selected_node(claim) for claim in claims
        ):
            return
        makes = partial(self._makes_volume, node)
        unmade = [each for each in claims if not makes(each, claim_class(each))]
        yield from other_classes(unmade, self._cluster, makes)
        yield from self._smaller(unmade, node)

    def _smaller(
        self, claims: Sequence[PersistentVolumeClaim], node: NodeInfo
    ) -> Iterator[Proposal]:
        """Yield the proposal to claim no more than the largest volume that their classes may make
        for the node."""
        lines, texts = [], []
        for claim in claims:
            storage_class = self._cluster.storage_classes[claim_class(claim)]
            largest = self.binder.capacity.largest(storage_class, node.row)
            size = claim.spec.resources.requests.get(STORAGE)
            limit = largest if largest is None or isinstance(largest, int) else largest.value()
            where = self.binder.provisioning_nodes(storage_class)
            if not limit or size is None or limit >= size.value() or not where[node.row]:
                return
            # Both count bytes.
            amount, before = exact_text(MEMORY, rounded_down(MEMORY, limit)), str(size)
            patch = {"spec": {"resources": {"requests": {STORAGE: amount}}}}
            text = json.dumps(patch, separators=(",", ":"))
            lines.append(f"patch pvc/{claim.name} -n {claim.namespace} -p '{text}'")
            texts.append(f"claim {amount} of storage instead of {before} in {claim.key}")
        if texts:
            yield Proposal("claim", " and ".join(texts), tuple(lines), amount=1)

    def _makes_volume(self, node: NodeInfo, claim: PersistentVolumeClaim, class_name: str) -> bool:
        """Return whether the class makes a volume for the claim that the node can use."""
        storage_class = self._cluster.storage_classes[class_name]
        where = self.binder.provisioning_nodes(storage_class)
        has_capacity = self.binder.has_enough_capacity(claim, storage_class)
        return bool(where[node.row] and has_capacity[node.row])

    def propose_for_pod(self, pod: PodInfo) -> Iterator[Proposal]:
        return proposals(pod, self._cluster)


def read_state(state: CycleState) -> BindingState:
    """Return the state of PreFilter. Raises PluginError where it did not run, with the text of
    upstream's CycleState."""
    binding_state: BindingState | None = state.data.get(STATE_KEY)
    if binding_state is None:
        raise PluginError("not found")
    return binding_state


def after_class_change(pod: PodInfo, old: StorageClass | None, new: StorageClass) -> bool:
    return old is None or old.allowed_topologies != new.allowed_topologies


def after_claim_change(
    pod: PodInfo, old: PersistentVolumeClaim | None, new: PersistentVolumeClaim
) -> bool:
    return refers_to(pod, new, ephemeral=True)


def after_csi_node_change(pod: PodInfo, old: CSINode | None, new: CSINode) -> bool:
    """Return whether other in-tree plugins have been migrated on the node."""
    return old is None or migrated_plugins(old) != migrated_plugins(new)


def after_capacity_change(
    pod: PodInfo, old: CSIStorageCapacity | None, new: CSIStorageCapacity
) -> bool:
    """Return whether there is room for a greater volume."""
    if old is None:
        return True
    limit, before = volume_limit(new), volume_limit(old)
    return limit is not None and (before is None or limit > before)


_COMES_OR_CHANGES = Action.ADD | Action.UPDATE
# Changes of CSIDrivers matter upstream to pods with CSI volumes of their own,
# which are not read here.
REGISTRATIONS: tuple[Registration, ...] = (
    (ClusterEvent(events.STORAGE_CLASS, _COMES_OR_CHANGES), after_class_change),
    (ClusterEvent(events.PERSISTENT_VOLUME_CLAIM, _COMES_OR_CHANGES), after_claim_change),
    (ClusterEvent(events.PERSISTENT_VOLUME, _COMES_OR_CHANGES), None),
    (ClusterEvent(events.NODE, Action.ADD | Action.UPDATE_NODE_LABEL), None),
    (ClusterEvent(events.CSI_NODE, _COMES_OR_CHANGES), after_csi_node_change),
    (ClusterEvent(events.CSI_STORAGE_CAPACITY, _COMES_OR_CHANGES), after_capacity_change),
)


# -- StorageCapacityScoring ------------------------------------------------------------------------
#
# VolumeBinding with StorageCapacityScoring: by the default shape, prefers the nodes whose storage
# a pod's claims would use least.
#
# Upstream: plugins/volumebinding/volume_binding.go (Score), scorer.go.


class ClassUse(Struct):
    """The use of one storage class by a pod's claims, per row. Upstream: StorageResource.

    counts: the rows where the class counts at all
    """

    requested: Column
    capacity: Column
    counts: Mask


class ScoringVolumeBinding(VolumeBinding):
    def __init__(self, args: VolumeBindingArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._version = handle.release.version
        self._class_score = requested_to_capacity_ratio(args.shape or DEFAULT_SHAPE, exact=False)

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Status:
        read_state(state)
        return SUCCESS

    def score_nodes(  # noqa: C901  # one algorithm, from top to bottom
        self, state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> Scores:
        """Return the mean over storage classes, rounded half up; 0 where nothing is to be bound.
        Existing volumes count; only on nodes where none is to be bound do volumes to be
        provisioned."""
        volumes = read_state(state).volumes
        if volumes is None:
            return np.zeros(len(nodes), dtype=np.int64)
        count = len(nodes.snapshot)

        def no_use() -> ClassUse:
            amounts, capacities = np.zeros((2, count), dtype=np.int64)
            return ClassUse(amounts, capacities, np.zeros(count, dtype=np.bool_))

        uses = defaultdict[str, ClassUse](no_use)
        # Existing volumes of the claims are used where there are any.
        is_static = np.zeros(len(volumes.reason_bits), dtype=np.bool_)
        for binding in volumes.static_bindings:
            chosen = binding.chosen
            sizes = np.array([capacity(v).value() for v in binding.table.volumes], dtype=np.int64)
            class_names = np.array([v.spec.storage_class_name for v in binding.table.volumes])
            is_static |= chosen != NO_VOLUME
            for class_name in np.unique(class_names[chosen[chosen != NO_VOLUME]]).tolist():
                rows = (chosen != NO_VOLUME) & (class_names[chosen] == class_name)
                use = uses[class_name]
                use.requested[rows] += requested(binding.claim).value()
                use.capacity[rows] += sizes[chosen[rows]]
                use.counts |= rows
        # Volumes to be provisioned are added; the capacity of each replaces that of the claim
        # before it. Upstream panics where one has no capacity or class.
        scored = mask_of(nodes.indices(), count) & ~is_static
        for claim, claim_rows in volumes.provisions():
            fitting = self.binder.first_fitting_capacity(claim)
            if fitting is None:
                continue
            rows = scored & (fitting.index != NO_CAPACITY)
            if claim_rows is not None:
                rows &= claim_rows
            if not rows.any():
                continue
            problem, name = "", claim.spec.storage_class_name
            objects = [fitting.capacities[i] for i in np.unique(fitting.index[rows]).tolist()]
            broken = next((item for item in objects if item.capacity is None), None)
            if broken is not None:
                subject = f"CSIStorageCapacity {broken.key}"
                problem = f"{subject} has a maximumVolumeSize and no capacity"
            elif name is None:
                problem = f"claim {claim.key} has no storageClassName"
            if problem or name is None:
                raise PluginError(f"kube-scheduler {self._version} panics here: {problem}")
            use = uses[name]
            use.requested[rows] += requested(claim).value()
            use.capacity[rows] = fitting.amounts[fitting.index[rows]]
            use.counts |= rows
        sums, weights = np.zeros((2, count), dtype=np.int64)
        for use in uses.values():
            # Without capacity a class counts as full.
            amounts = np.where(use.capacity == 0, 2, use.requested)
            scores = self._class_score(amounts, np.maximum(use.capacity, 1))
            sums += np.where(use.counts, scores, 0)
            weights += use.counts
        return nodes.gather((2 * sums + weights) // np.maximum(2 * weights, 1))


# -- proposals -------------------------------------------------------------------------------------
#
# Changes that would let a pod's claims be bound: a missing claim or class, or another class.


IS_DEFAULT = "storageclass.kubernetes.io/is-default-class"
CLAIM_SIZE = "1Gi"  # of a claim of which nothing but the name is known


def proposals(pod: PodInfo, cluster: ClusterState) -> Iterator[Proposal]:
    """Yield proposals for the first claim of the pod that is in its way."""
    classes = _binding_late(cluster)
    for use, claim in used_claims(pod.pod, cluster.persistent_volume_claims):
        if claim is None:
            if classes and not use.ephemeral:
                of_class = classes[0].name
                spec = {
                    "accessModes": ["ReadWriteOnce"],
                    "storageClassName": of_class,
                    "resources": {"requests": {"storage": CLAIM_SIZE}},
                }
                metadata = {"name": use.claim, "namespace": pod.namespace}
                where = f"{pod.namespace}/{use.claim} of class {of_class}"
                text = f"create PersistentVolumeClaim {where}"
                line = applied("v1", "PersistentVolumeClaim", metadata, {"spec": spec})
                yield Proposal("object", text, (line,))
            return
        name = claim_class(claim)
        storage_class = cluster.storage_classes.get(name)
        if claim.spec.volume_name or binds_late(storage_class):
            continue
        if name and storage_class is None and classes:
            model, binding_mode = classes[0], WAIT_FOR_FIRST_CONSUMER
            fields = {"provisioner": model.provisioner, "volumeBindingMode": binding_mode}
            line = applied("storage.k8s.io/v1", "StorageClass", {"name": name}, fields)
            yield Proposal("object", f"create StorageClass {name}, like {model.name}", (line,))
        for other in classes:
            yield _with_class([claim], other.name)
        return


def other_classes(
    claims: Sequence[PersistentVolumeClaim],
    cluster: ClusterState,
    makes: Callable[[PersistentVolumeClaim, str], bool],
) -> Iterator[Proposal]:
    """Yield proposals of another class for claims whose own class makes no volume for a node.

    makes: returns whether a class makes a claim's volume for that node
    """
    for other in _binding_late(cluster) if claims else ():
        if all(makes(claim, other.name) for claim in claims):
            yield _with_class(claims, other.name)


def _binding_late(cluster: ClusterState) -> list[StorageClass]:
    """Return the classes that make a volume where the pod goes: the default one first, then by
    name."""
    by_name = sorted(filter(binds_late, cluster.storage_classes.values()), key=lambda c: c.name)
    return sorted(by_name, key=lambda c: c.metadata.annotations.get(IS_DEFAULT) != "true")


def _with_class(claims: Sequence[PersistentVolumeClaim], name: str) -> Proposal:
    patch = json.dumps({"spec": {"storageClassName": name}}, separators=(",", ":"))
    lines = tuple(f"patch pvc/{each.name} -n {each.namespace} -p '{patch}'" for each in claims)
    noun = "claim" if len(claims) == 1 else "claims"
    keys = " and ".join(claim.key for claim in claims)
    return Proposal("class", f"create {noun} {keys} with class {name}", lines, amount=len(claims))


# -- explain ---------------------------------------------------------------------------------------
#
# Explains why VolumeBinding rejects a node: which claim, which volume, and what does not match.


class MismatchCounts(Struct, frozen=True):
    """The reasons why the volumes of a claim's class do not match it.

    everywhere: reason → how many volumes it excludes on every node
    suitable:   how many volumes match
    reaching:   per row, how many of those the node can use
    """

    everywhere: Counter[str]
    suitable: int
    reaching: Column


class BindingExplanation:
    """Explains one attempt: its claims, and the volumes found for them."""

    def __init__(
        self, binder: VolumeBinder, cluster: ClusterState, claims: PodClaims, volumes: PodVolumes
    ) -> None:
        self._binder = binder
        self._cluster = cluster
        self._claims = claims
        self._volumes = volumes
        self._mismatches: dict[str, MismatchCounts] = {}

    def rejection(self, node: NodeInfo) -> list[str]:
        """Return one line per claim that rejects the node."""
        lines = []
        for claim in self._claims.bound:
            name = claim.spec.volume_name
            subject = f"claim {claim.key} is bound to volume {name}"
            volume = self._cluster.persistent_volumes.get(name)
            if volume is None:
                lines.append(f"{subject}, which does not exist")
                continue
            try:
                affinity = self._binder.affinity_at(volume, node.row)
            except TranslationError as error:
                lines.append(f"{subject}: {error}")
                continue
            if node.row not in self._binder.volumes.reach.rows(affinity):
                required = affinity.required if affinity else None
                terms = required.node_selector_terms if required else ()
                text = "no term at all"
                if terms:
                    text = f"{terms_text(terms)}{labels_text(terms, node)}"
                lines.append(f"{subject}, which is for nodes with {text}")
        # A volume that will be made for another node keeps the pod there.
        selected_node_lines = []
        for claim in self._claims.delayed_binding:
            selected = self._binder.assumed.selected_node(claim)
            if selected is not None and selected != node.name:
                line = f"claim {claim.key}: its volume will be provisioned for node {selected}"
                selected_node_lines.append(line)
        unmatched = () if selected_node_lines else self._volumes.dynamic_provisions_at(node.row)
        for claim in unmatched:
            reason, name = self._no_provisioning_reason(claim, node), claim_class(claim)
            if reason:
                line = f"claim {claim.key} wants {requested(claim)} of class {name}: {reason}"
                lines.append(line)
        return list(dict.fromkeys(lines + selected_node_lines))

    def _no_provisioning_reason(self, claim: PersistentVolumeClaim, node: NodeInfo) -> str:
        """Return why no volume can be provisioned for the claim, or ""."""
        storage_class = self._cluster.storage_classes[claim_class(claim)]
        if not provisions(storage_class):
            return f"{self._no_match_reason(claim, node)}, and the class provisions none"
        if not self._binder.provisioning_nodes(storage_class)[node.row]:
            terms = storage_class.allowed_topologies
            topologies = (
                " and ".join(
                    f"{e.key} is {' or '.join(e.values)}" for e in t.match_label_expressions
                )
                for t in terms
            )
            keys = dict.fromkeys(each.key for t in terms for each in t.match_label_expressions)
            labels = ", ".join(label_text(node, key) for key in keys)
            where = f"{' or '.join(topologies)}, the node has {labels}"
            return f"the class provisions volumes only where {where}"
        if self._binder.has_enough_capacity(claim, storage_class)[node.row]:
            return ""
        largest = self._binder.capacity.largest(storage_class, node.row)
        if largest is None:
            return "no CSIStorageCapacity covers the node"
        amount = largest if isinstance(largest, int) else largest.value()
        return f"the node can get at most {amount_text('memory', amount)}"

    def _no_match_reason(self, claim: PersistentVolumeClaim, node: NodeInfo) -> str:
        """Return why the volumes of the class do not match, and how many of them."""
        table = self._binder.volumes.of_class(claim_class(claim))
        if not table.volumes:
            return "there are no volumes"
        counts = self._mismatches.get(claim.key)
        if counts is None:
            selector = claim_selector(claim)
            everywhere: Counter[str] = Counter()
            reached = np.zeros(len(self._volumes.reason_bits), dtype=np.int64)
            for volume in table.volumes:
                # The first reason why the volume does not match the claim on any node.
                ref, mode = self._binder.assumed.claim_ref(volume), volume.spec.volume_mode
                has_modes = set(claim.spec.access_modes) <= set(volume.spec.access_modes)
                is_selected = selector is None or selector.matches(volume.metadata.labels)
                reasons = (
                    (ref is not None and not is_bound_to(ref, claim), "taken by other claims"),
                    (capacity(volume) < requested(claim), "too small"),
                    (mode != claim.spec.volume_mode, f"of mode {mode}"),
                    (bool(volume.metadata.deletion_timestamp), "being deleted"),
                    (not is_compatible(claim, volume), "with another attributes class"),
                    # What follows bars volumes that have no claim yet.
                    (ref is not None, ""),
                    (volume.status.phase != AVAILABLE, f"in phase {volume.status.phase}"),
                    (not has_modes, "without the access modes"),
                    (not is_selected, "not selected"),
                )
                mismatch = next((reason for applies, reason in reasons if applies), "")
                if mismatch:
                    everywhere[mismatch] += 1
                else:
                    reached[self._binder.volumes.reach.rows(volume.spec.node_affinity)] += 1
            suitable = len(table.volumes) - everywhere.total()
            counts = MismatchCounts(everywhere, suitable, reached)
            self._mismatches[claim.key] = counts
        mismatches = counts.everywhere.copy()
        reaching = int(counts.reaching[node.row])
        mismatches["out of the node's reach"] = counts.suitable - reaching
        mismatches["taken by another claim of the pod"] = reaching
        parts = [f"{count} {reason}" for reason, count in mismatches.most_common() if count]
        if len(table.volumes) == 1:
            return f"the only volume is {parts[0][2:]}"
        return f"of {len(table.volumes)} volumes {', '.join(parts)}"
