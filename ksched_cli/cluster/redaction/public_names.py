"""Names that are Kubernetes's own and tell nothing of a cluster: they stay in a redacted state."""

from __future__ import annotations

from ksched_cli.cluster.trimming import READ_ANNOTATIONS

# Namespaces that every cluster has.
NAMESPACES = frozenset(("default", "kube-system", "kube-public", "kube-node-lease"))

# Classes that every cluster has, the default scheduler, and storage drivers that the migration of
# in-tree volumes names.
OBJECTS = frozenset((
    "default-scheduler",
    "system-cluster-critical",
    "system-node-critical",
    "cinder.csi.openstack.org",
    "csi.vsphere.vmware.com",
    "disk.csi.azure.com",
    "ebs.csi.aws.com",
    "file.csi.azure.com",
    "kubernetes.io/aws-ebs",
    "kubernetes.io/azure-disk",
    "kubernetes.io/azure-file",
    "kubernetes.io/cinder",
    "kubernetes.io/gce-pd",
    "kubernetes.io/no-provisioner",
    "kubernetes.io/portworx-volume",
    "kubernetes.io/vsphere-volume",
    "pd.csi.storage.gke.io",
    "pxd.portworx.com",
))  # fmt: skip

# Upstream: "Well-Known Labels, Annotations and Taints", as far as schedulers see them.
KEYS = READ_ANNOTATIONS | frozenset((
    "app.kubernetes.io/component",
    "app.kubernetes.io/instance",
    "app.kubernetes.io/managed-by",
    "app.kubernetes.io/name",
    "app.kubernetes.io/part-of",
    "app.kubernetes.io/version",
    "apps.kubernetes.io/pod-index",
    "batch.kubernetes.io/controller-uid",
    "batch.kubernetes.io/job-completion-index",
    "batch.kubernetes.io/job-name",
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/instance-type",
    "beta.kubernetes.io/os",
    "controller-revision-hash",
    "controller-uid",
    "failure-domain.beta.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "job-name",
    "k8s-app",
    "kubernetes.io/arch",
    "kubernetes.io/hostname",
    "kubernetes.io/metadata.name",
    "kubernetes.io/os",
    "node-role.kubernetes.io/control-plane",
    "node-role.kubernetes.io/master",
    "node-role.kubernetes.io/worker",
    "node.cloudprovider.kubernetes.io/shutdown",
    "node.cloudprovider.kubernetes.io/uninitialized",
    "node.kubernetes.io/disk-pressure",
    "node.kubernetes.io/exclude-from-external-load-balancers",
    "node.kubernetes.io/instance-type",
    "node.kubernetes.io/memory-pressure",
    "node.kubernetes.io/network-unavailable",
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/out-of-service",
    "node.kubernetes.io/pid-pressure",
    "node.kubernetes.io/unreachable",
    "node.kubernetes.io/unschedulable",
    "pod-template-generation",
    "pod-template-hash",
    "statefulset.kubernetes.io/pod-name",
    "topology.cinder.csi.openstack.org/zone",
    "topology.ebs.csi.aws.com/zone",
    "topology.gke.io/zone",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
))  # fmt: skip

# Labels and annotations whose values tell nothing, or are read as numbers.
KEYS_OF_PUBLIC_VALUES = frozenset((
    "apps.kubernetes.io/pod-index",
    "batch.kubernetes.io/job-completion-index",
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "controller.kubernetes.io/pod-deletion-cost",
    "kubernetes.io/arch",
    "kubernetes.io/os",
    "pv.kubernetes.io/bind-completed",
    "pv.kubernetes.io/bound-by-controller",
    "resource.kubernetes.io/extended-resource-claim",
    "storage.alpha.kubernetes.io/migrated-plugins",
))  # fmt: skip

# Kinds of owners, whose names are not those of somebody's own resources.
OWNER_KINDS = frozenset((
    "CronJob", "DaemonSet", "Deployment", "Job", "Node", "Pod", "ReplicaSet",
    "ReplicationController", "StatefulSet",
))  # fmt: skip

_DOMAINS = ("kubernetes.io", "k8s.io")


def is_kubernetes_domain(domain: str) -> bool:
    """Whether the prefix of a key is Kubernetes's own, or below it."""
    return domain in _DOMAINS or domain.endswith(tuple(f".{own}" for own in _DOMAINS))
