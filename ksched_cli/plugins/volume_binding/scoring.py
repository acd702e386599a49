"""VolumeBinding with StorageCapacityScoring: by the default shape, prefers the nodes whose storage
a pod's claims would use least.

Upstream: plugins/volumebinding/volume_binding.go (Score), scorer.go.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from ksched_cli.cluster.objects import PersistentVolumeClaim
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Column, Mask
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.results import Scores
from ksched_cli.framework.status import SUCCESS, PluginError, Status
from ksched_cli.plugins.node_resources.scoring import requested_to_capacity_ratio
from ksched_cli.plugins.volume_binding.args import DEFAULT_SHAPE, VolumeBindingArgs
from ksched_cli.plugins.volume_binding.binder import PodVolumes
from ksched_cli.plugins.volume_binding.plugin import VolumeBinding, read_state
from ksched_cli.plugins.volume_binding.storage_capacity import NO_CAPACITY, FittingCapacities
from ksched_cli.plugins.volumes.persistent_volumes import NO_VOLUME, capacity, requested


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
        self._class_score = requested_to_capacity_ratio(args.shape or DEFAULT_SHAPE)

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Status:
        read_state(state)
        return SUCCESS

    def score_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Scores:
        """The mean over storage classes, rounded half up; 0 where nothing is to be bound. Existing
        volumes count; only on nodes where none is to be bound do volumes to be provisioned."""
        volumes = read_state(state).volumes
        if volumes is None:
            return np.zeros(len(nodes), dtype=np.int64)
        use = _ClassUses(len(nodes.snapshot))
        is_static = use.add_static(volumes)
        scored = np.zeros(len(nodes.snapshot), dtype=np.bool_)
        scored[nodes.indices()] = True
        self._add_dynamic(use, volumes, scored & ~is_static)
        sums, weights = np.zeros((2, len(nodes.snapshot)), dtype=np.int64)
        for class_use in use.classes.values():
            scores = self._score_class(class_use)
            sums += np.where(class_use.counts, scores, 0)
            weights += class_use.counts
        return nodes.gather((2 * sums + weights) // np.maximum(2 * weights, 1))

    def _add_dynamic(self, use: _ClassUses, volumes: PodVolumes, rows: Mask) -> None:
        """Raises PluginError where upstream panics."""
        for claim, claim_rows in volumes.provisions():
            fitting = self.binder.first_fitting_capacity(claim)
            if fitting is None:
                continue
            counts = rows & (fitting.index != NO_CAPACITY)
            if claim_rows is not None:
                counts &= claim_rows
            if counts.any():
                use.add_dynamic(claim, fitting, counts, self._version)

    def _score_class(self, use: ClassUse) -> Scores:
        # Without capacity a class counts as full.
        amounts = np.where(use.capacity == 0, 2, use.requested)
        return self._class_score(amounts, np.maximum(use.capacity, 1))


class _ClassUses:
    """The use of storage classes, by their name."""

    def __init__(self, count: int) -> None:
        self._count = count
        self.classes: dict[str, ClassUse] = {}

    def _of(self, name: str) -> ClassUse:
        use = self.classes.get(name)
        if use is None:
            requested_amounts, capacities = np.zeros((2, self._count), dtype=np.int64)
            counts = np.zeros(self._count, dtype=np.bool_)
            use = self.classes[name] = ClassUse(requested_amounts, capacities, counts)
        return use

    def add_static(self, volumes: PodVolumes) -> Mask:
        """Adds what existing volumes have; returns the rows where there are any."""
        is_static = np.zeros(self._count, dtype=np.bool_)
        for binding in volumes.static_bindings:
            chosen = binding.chosen
            sizes = np.array([capacity(v).value() for v in binding.table.volumes], dtype=np.int64)
            names = np.array([v.spec.storage_class_name for v in binding.table.volumes])
            is_static |= chosen != NO_VOLUME
            for name in np.unique(names[chosen[chosen != NO_VOLUME]]).tolist():
                rows = (chosen != NO_VOLUME) & (names[chosen] == name)
                use = self._of(name)
                use.requested[rows] += requested(binding.claim).value()
                use.capacity[rows] += sizes[chosen[rows]]
                use.counts |= rows
        return is_static

    def add_dynamic(
        self, claim: PersistentVolumeClaim, fitting: FittingCapacities, rows: Mask, version: str
    ) -> None:
        """Adds a volume to be provisioned; its capacity replaces that of the claim before it."""
        objects = [fitting.capacities[i] for i in np.unique(fitting.index[rows]).tolist()]
        broken = next((item for item in objects if item.capacity is None), None)
        if broken is not None:
            raise PluginError(
                f"kube-scheduler {version} panics here: CSIStorageCapacity {broken.key} has a"
                " maximumVolumeSize and no capacity"
            )
        name = claim.spec.storage_class_name
        if name is None:
            raise PluginError(
                f"kube-scheduler {version} panics here: claim {claim.key} has no storageClassName"
            )
        use = self._of(name)
        use.requested[rows] += requested(claim).value()
        use.capacity[rows] = fitting.amounts[fitting.index[rows]]
        use.counts |= rows
