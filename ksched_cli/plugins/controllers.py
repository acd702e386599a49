"""Controllers that put taints and labels on nodes and scheduling gates on pods, and take them away
again.

Whoever removes such a taint by hand, or tolerates it, works against the controller: it puts the
taint back, or the node is not ready for pods. What helps is to look at what the controller waits
for. A label put by hand does not make a node what the label says. Rows are data, to be added to;
keys match by prefix, or by suffix where they begin with "/".
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct


class Controller(Struct, frozen=True):
    """Who owns taints or gates.

    key: of these, or the beginning of their keys; with a "/" first, the end of them
    name: in words that begin a sentence
    waits_for: what the controller waits for before it takes the taint or the gate away
    look: what to look at; {node} is the node
    leaves: the node is being taken away, and does not come back
    """

    key: str
    name: str
    waits_for: str = ""
    look: str = "kubectl describe node {node}"
    leaves: bool = False

    def owns(self, key: str) -> bool:
        return key.endswith(self.key) if self.key.startswith("/") else key.startswith(self.key)


_LIFECYCLE = "the node lifecycle controller"
_CLOUD = "the cloud controller manager"
_AUTOSCALER = "cluster-autoscaler"
_PRESSURE = "until the kubelet reports no {} pressure"

TAINTS = (
    Controller(
        "node.kubernetes.io/not-ready", _LIFECYCLE, "until the kubelet reports that it is ready"
    ),
    Controller("node.kubernetes.io/unreachable", _LIFECYCLE, "until the kubelet reports again"),
    Controller("node.kubernetes.io/memory-pressure", _LIFECYCLE, _PRESSURE.format("memory")),
    Controller("node.kubernetes.io/disk-pressure", _LIFECYCLE, _PRESSURE.format("disk")),
    Controller("node.kubernetes.io/pid-pressure", _LIFECYCLE, _PRESSURE.format("process")),
    Controller(
        "node.kubernetes.io/network-unavailable",
        "the network plugin or the cloud's route controller",
        "until the node's network is set up",
    ),
    Controller(
        "node.kubernetes.io/out-of-service",
        "whoever shut the node down",
        "until the node is back",
    ),
    Controller(
        "node.cloudprovider.kubernetes.io/uninitialized",
        _CLOUD,
        "until it has initialized the node",
        "its log, and spec.providerID of {node}",
    ),
    Controller("node.cloudprovider.kubernetes.io/shutdown", _CLOUD, "until the machine is started"),
    Controller("ToBeDeletedByClusterAutoscaler", _AUTOSCALER, leaves=True),
    Controller(
        "DeletionCandidateOfClusterAutoscaler",
        _AUTOSCALER,
        "until it no longer wants to remove the node",
    ),
    Controller(
        "startup-taint.cluster-autoscaler.kubernetes.io/",
        "what prepares the node for pods",
        "until the node is prepared",
    ),
    Controller("karpenter.sh/disrupted", "Karpenter", look="kubectl get nodeclaims", leaves=True),
    Controller("karpenter.sh/disruption", "Karpenter", look="kubectl get nodeclaims", leaves=True),
    Controller(
        "karpenter.sh/unregistered",
        "Karpenter",
        "until the node is registered",
        "kubectl describe nodeclaims",
    ),
    Controller(
        "node.cilium.io/agent-not-ready",
        "Cilium",
        "until its agent runs there",
        "the cilium pod on {node}",
    ),
    Controller("cni.istio.io/not-ready", "Istio", "until its CNI agent runs there"),
    Controller(
        "/agent-not-ready",
        "the agent of {domain}",
        "until it runs on the node",
        "its pod on {node}",
    ),
    Controller("readiness.k8s.io/", "the node readiness controller", "until its conditions hold"),
    Controller("aws-node-termination-handler/", "the AWS node termination handler", leaves=True),
    Controller("cloud.google.com/impending-node-termination", "GKE", leaves=True),
)

KUEUE_GATES = "kueue.x-k8s.io/"
GATES = (
    Controller(KUEUE_GATES, "Kueue", "until it has admitted the pod's Workload"),
    Controller("grove.io/", "Grove", "until the pods of its gang are made"),
    Controller(
        "multiarch.openshift.io/",
        "the multiarch tuning operator",
        "until it has set the architectures of the pod's images",
    ),
    Controller("karmada.io/", "Karmada"),
    Controller("jobset.sigs.k8s.io/", "JobSet"),
    Controller("run.ai/", "the Run:ai scheduler"),
)


# Labels that say what a machine is, or of which pool: set by the kubelet, the provider, the
# autoscaler that made it, the volumes' driver, or what discovers its devices.
GIVEN_LABELS = (
    "kubernetes.io/hostname",
    "kubernetes.io/arch",
    "kubernetes.io/os",
    "beta.kubernetes.io/",
    "node.kubernetes.io/instance-type",
    "node.kubernetes.io/windows-build",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/",
    "topology.ebs.csi.aws.com/",
    "topology.disk.csi.azure.com/",
    "topology.gke.io/",
    "cloud.google.com/",
    "sandbox.gke.io/",
    "eks.amazonaws.com/",
    "alpha.eksctl.io/",
    "kubernetes.azure.com/",
    "agentpool",
    "karpenter.",
    "kops.k8s.io/",
    "doks.digitalocean.com/",
    "k8s.scaleway.com/",
    "lke.linode.com/",
    "node.openshift.io/",
    "feature.node.kubernetes.io/",
    "nvidia.com/gpu.",
    "nvidia.com/cuda.",
    "amd.com/gpu.",
    "gpu.intel.com/",
)


def owner_of_taint(key: str) -> Controller | None:
    """Return the controller that puts taints of this key, or None."""
    return _owner(key, TAINTS)


def is_of_controller(key: str) -> bool:
    """Return whether a node that is new does not have taints of this key, as controllers put them
    on the nodes that are there."""
    return key.startswith("node.kubernetes.io/") or owner_of_taint(key) is not None


def owner_of_gate(name: str) -> Controller | None:
    """Return the controller that puts scheduling gates of this name, or None."""
    return _owner(name, GATES)


def _owner(key: str, controllers: Iterable[Controller]) -> Controller | None:
    for each in controllers:
        if each.owns(key):
            domain = key.partition("/")[0]
            return Controller(
                each.key, each.name.format(domain=domain), each.waits_for, each.look, each.leaves
            )
    return None


def taint_sentence(controller: Controller, taint: str, node: str) -> str:
    """Return who takes the taint away, and what to look at."""
    look = controller.look.format(node=node)
    if controller.leaves:
        return f"{controller.name} put the taint {taint} there: {node} is going away; see {look}"
    return f"{controller.name} keeps the taint {taint} {controller.waits_for}: see {look}"
