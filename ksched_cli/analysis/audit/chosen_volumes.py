"""The volumes that claims got between two states. The initial state lacks the scheduler's choice,
which is taken over once the pod has been judged.

Among equally small volumes upstream takes whichever its map gives it first.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import structs

from ksched_cli.cluster.objects import PersistentVolume, PersistentVolumeClaim, Pod
from ksched_cli.cluster.objects.storage import PersistentVolumeClaimStatus, PersistentVolumeStatus
from ksched_cli.cluster.state import ClusterState, Key
from ksched_cli.engine.simulation import Simulation
from ksched_cli.plugins.volume_binding.assumed_volumes import SELECTED_NODE
from ksched_cli.plugins.volume_binding.binder import BIND_COMPLETED, provisions
from ksched_cli.plugins.volume_binding.plugin import VolumeBinding
from ksched_cli.plugins.volumes.pod_claims import (
    WAIT_FOR_FIRST_CONSUMER,
    claim_class,
    claim_uses,
    volume_class,
)

_OF_BINDING = frozenset((BIND_COMPLETED, "pv.kubernetes.io/bound-by-controller", SELECTED_NODE))


def storage_between(
    before: ClusterState, after: ClusterState
) -> tuple[dict[Key, PersistentVolumeClaim], dict[str, PersistentVolume], dict[Key, str]]:
    """Return the claims and volumes to begin with, and by claim the volume that it got for its
    pod's node. Claims that wait for a pod are unbound until the pod is placed. Others are bound by
    a controller, and pods wait for that: they are as they are in the end."""
    classes = {**after.storage_classes, **before.storage_classes}
    claims: dict[Key, PersistentVolumeClaim] = {}
    chosen: dict[Key, str] = {}
    for key, now in {**before.persistent_volume_claims, **after.persistent_volume_claims}.items():
        earlier = before.persistent_volume_claims.get(key)
        if not now.spec.volume_name or (earlier is not None and earlier.spec.volume_name):
            claims[key] = earlier or now
            continue
        storage_class = classes.get(claim_class(now))
        if storage_class and storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER:
            claims[key] = earlier or _unbound(now)
            chosen[key] = now.spec.volume_name
        else:
            claims[key] = now
    volumes = dict(before.persistent_volumes)
    for name, volume in after.persistent_volumes.items():
        ref = volume.spec.claim_ref
        if ref is None or (ref.namespace, ref.name) not in chosen:
            first = volumes.get(name)
            if first is None or first.spec.claim_ref is None:
                volumes[name] = volume
        elif name not in volumes:
            storage_class = classes.get(volume_class(volume))
            if storage_class is None or not provisions(storage_class):
                volumes[name] = _unclaimed(volume)
    return claims, volumes, chosen


def take_chosen_volumes(simulation: Simulation, pod: Pod, chosen: Mapping[Key, str]) -> None:
    """Gives the claims of a placed pod the volumes that they really got."""
    keys = [(pod.namespace, use.claim) for use in claim_uses(pod)]
    state = simulation.state
    pairs = [
        (state.persistent_volume_claims[key], state.persistent_volumes.get(chosen[key]))
        for key in keys
        if key in chosen
    ]
    for framework in simulation.frameworks.values() if pairs else ():
        plugin = framework.plugin(VolumeBinding.name)
        if isinstance(plugin, VolumeBinding):
            plugin.binder.assumed.assume_alone(pairs)


def _unbound(claim: PersistentVolumeClaim) -> PersistentVolumeClaim:
    annotations = claim.metadata.annotations
    remaining = {key: value for key, value in annotations.items() if key not in _OF_BINDING}
    return structs.replace(
        claim,
        metadata=structs.replace(claim.metadata, annotations=remaining),
        spec=structs.replace(claim.spec, volume_name=""),
        status=PersistentVolumeClaimStatus(),
    )


def _unclaimed(volume: PersistentVolume) -> PersistentVolume:
    return structs.replace(
        volume,
        spec=structs.replace(volume.spec, claim_ref=None),
        status=PersistentVolumeStatus("Available"),
    )
