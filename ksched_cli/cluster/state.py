"""The state of a cluster: immutable, decoded API objects by kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ksched_cli.cluster import objects
from ksched_cli.cluster.change_record import ChangeRecord
from ksched_cli.cluster.custom_objects import Plain, PodMaker

Key = tuple[str, str]
"""Namespace and name."""


@dataclass(frozen=True, slots=True)
class ClusterState:
    """Every object with the API server's defaults, in the order of the files.

    nodes, pods:  no two nodes of one name, no two pods of one namespace and name
    the others:   by name, or by Key where the kind has namespaces
    others:       kinds that ksched does not know and a plugin reads → the objects as plain data
    skipped:      kind that no plugin reads → how many there were
    whole_kinds:  kinds of which the state is known to have every object of the cluster
    server_version: of the cluster's API server, as "v1.36.2"; "" where a file does not tell
    taken:        when it was read of a cluster, in RFC 3339; "" where a file does not tell
    warnings:     one line each, about what the state lacks
    unknown_fields: of these, those about a field that Kubernetes does not know → its kind, and the
                  pattern of its path
    changes:      what was done to it since it was loaded (scenario/)
    noticed_nodes: names of nodes in the order in which a scheduler noticed them; empty where that
                  is not known: then by name, as one that starts before 1.36 does
    pod_makers:   kinds among `others` whose pods a plugin knows → what makes the pods of an object
    """

    nodes: tuple[objects.Node, ...] = ()
    pods: tuple[objects.Pod, ...] = ()
    namespaces: Mapping[str, objects.Namespace] = field(default_factory=dict)
    priority_classes: Mapping[str, objects.PriorityClass] = field(default_factory=dict)
    pod_disruption_budgets: Mapping[Key, objects.PodDisruptionBudget] = field(default_factory=dict)
    persistent_volumes: Mapping[str, objects.PersistentVolume] = field(default_factory=dict)
    persistent_volume_claims: Mapping[Key, objects.PersistentVolumeClaim] = field(
        default_factory=dict
    )
    storage_classes: Mapping[str, objects.StorageClass] = field(default_factory=dict)
    csi_nodes: Mapping[str, objects.CSINode] = field(default_factory=dict)
    csi_drivers: Mapping[str, objects.CSIDriver] = field(default_factory=dict)
    csi_storage_capacities: Mapping[Key, objects.CSIStorageCapacity] = field(default_factory=dict)
    volume_attachments: Mapping[str, objects.VolumeAttachment] = field(default_factory=dict)
    services: Mapping[Key, objects.Service] = field(default_factory=dict)
    replication_controllers: Mapping[Key, objects.ReplicationController] = field(
        default_factory=dict
    )
    replica_sets: Mapping[Key, objects.ReplicaSet] = field(default_factory=dict)
    stateful_sets: Mapping[Key, objects.StatefulSet] = field(default_factory=dict)
    deployments: Mapping[Key, objects.Deployment] = field(default_factory=dict)
    daemon_sets: Mapping[Key, objects.DaemonSet] = field(default_factory=dict)
    jobs: Mapping[Key, objects.Job] = field(default_factory=dict)
    cron_jobs: Mapping[Key, objects.CronJob] = field(default_factory=dict)
    resource_claims: Mapping[Key, objects.ResourceClaim] = field(default_factory=dict)
    resource_claim_templates: Mapping[Key, objects.ResourceClaimTemplate] = field(
        default_factory=dict
    )
    resource_slices: Mapping[str, objects.ResourceSlice] = field(default_factory=dict)
    device_classes: Mapping[str, objects.DeviceClass] = field(default_factory=dict)
    device_taint_rules: Mapping[str, objects.DeviceTaintRule] = field(default_factory=dict)
    others: Mapping[str, tuple[Plain, ...]] = field(default_factory=dict)
    skipped: Mapping[str, int] = field(default_factory=dict)
    whole_kinds: frozenset[str] = frozenset()
    server_version: str = ""
    taken: str = ""
    warnings: tuple[str, ...] = ()
    unknown_fields: Mapping[str, tuple[str, tuple[str | int, ...]]] = field(default_factory=dict)
    changes: tuple[ChangeRecord, ...] = ()
    pod_makers: Mapping[str, PodMaker] = field(default_factory=dict)
    noticed_nodes: tuple[str, ...] = ()

    @property
    def makes_pods(self) -> bool:
        """Return whether there are workloads that pods may be made of: some has a template, or is
        of a kind that a plugin knows."""
        mappings = (
            self.replica_sets,
            self.replication_controllers,
            self.stateful_sets,
            self.deployments,
            self.daemon_sets,
            self.jobs,
        )
        return bool(self.pod_makers) or any(
            bytes(workload.raw) for mapping in mappings for workload in mapping.values()
        )

    @property
    def makes_claims(self) -> bool:
        """Return whether there is what claims of pods may be made of: templates of ResourceClaims,
        or storage for ephemeral volumes."""
        return bool(
            self.resource_claim_templates or self.storage_classes or self.persistent_volumes
        )
