"""Names that users bring: plugins of other builds and other times, keys of older formats.

Upstream: pkg/scheduler/framework/plugins of v1.18 to v1.34, kubernetes-sigs/scheduler-plugins,
the removed Policy API (pkg/scheduler/api/v1) and KubeSchedulerConfiguration v1alpha1 to v1beta3.
"""

from __future__ import annotations

from collections.abc import Mapping

from ksched_cli import program_name

# In-tree once, gone now: what to write instead.
REMOVED_PLUGINS: Mapping[str, str] = {
    "AzureDiskLimits": "removed; NodeVolumeLimits counts CSI volumes, Azure disks included",
    "CinderLimits": "removed; NodeVolumeLimits counts CSI volumes, Cinder included",
    "EBSLimits": "removed; NodeVolumeLimits counts CSI volumes, EBS included",
    "GCEPDLimits": "removed; NodeVolumeLimits counts CSI volumes, GCE disks included",
    "NodeLabel": "removed; use NodeAffinity with addedAffinity",
    "NodePreferAvoidPods": "removed; use taints and TaintToleration",
    "NodeResourcesLeastAllocated": (
        "removed; use NodeResourcesFit with scoringStrategy.type: LeastAllocated"
    ),
    "NodeResourcesMostAllocated": (
        "removed; use NodeResourcesFit with scoringStrategy.type: MostAllocated"
    ),
    "RequestedToCapacityRatio": (
        "removed; use NodeResourcesFit with scoringStrategy.type: RequestedToCapacityRatio"
    ),
    "ResourceLimits": "removed; nothing replaces it",
    "SelectorSpread": "removed; PodTopologySpread spreads by default",
    "DefaultPodTopologySpread": "removed; PodTopologySpread spreads by default",
    "EvenPodsSpread": "renamed; it is PodTopologySpread now",
    "ServiceAffinity": "removed; use NodeAffinity or InterPodAffinity",
}

# Predicates and priorities of the Policy API: the plugin that does their work.
POLICY_NAMES: Mapping[str, str] = {
    "BalancedResourceAllocation": "NodeResourcesBalancedAllocation",
    "CheckNodeUnschedulable": "NodeUnschedulable",
    "CheckVolumeBinding": "VolumeBinding",
    "EvenPodsSpreadPriority": "PodTopologySpread",
    "GeneralPredicates": "NodeResourcesFit, NodeName, NodePorts and NodeAffinity",
    "HostName": "NodeName",
    "ImageLocalityPriority": "ImageLocality",
    "InterPodAffinityPriority": "InterPodAffinity",
    "LeastRequestedPriority": "NodeResourcesFit",
    "MatchInterPodAffinity": "InterPodAffinity",
    "MatchNodeSelector": "NodeAffinity",
    "MaxAzureDiskVolumeCount": "NodeVolumeLimits",
    "MaxCSIVolumeCountPred": "NodeVolumeLimits",
    "MaxCinderVolumeCount": "NodeVolumeLimits",
    "MaxEBSVolumeCount": "NodeVolumeLimits",
    "MaxGCEPDVolumeCount": "NodeVolumeLimits",
    "MostRequestedPriority": "NodeResourcesFit",
    "NoDiskConflict": "VolumeRestrictions",
    "NoVolumeZoneConflict": "VolumeZone",
    "NodeAffinityPriority": "NodeAffinity",
    "PodFitsHostPorts": "NodePorts",
    "PodFitsPorts": "NodePorts",
    "PodFitsResources": "NodeResourcesFit",
    "PodToleratesNodeTaints": "TaintToleration",
    "RequestedToCapacityRatioPriority": "NodeResourcesFit",
    "SelectorSpreadPriority": "PodTopologySpread",
    "TaintTolerationPriority": "TaintToleration",
}

# Plugins of other builds that ksched can simulate: the folder of its repository that brings the
# plugin. Names without ./ would be looked up at a package index, where anybody may register them.
DISTRIBUTIONS: Mapping[str, str] = {
    "Coscheduling": "./plugins/ksched-coscheduling",
    "TargetLoadPacking": "./plugins/ksched-trimaran",
}

# Keys of older documents: the place they had there does not matter, the last part of the path does.
LEGACY_KEYS: Mapping[str, str] = {
    "enableHttps": 'write "enableHTTPS": the Policy API and old documents had enableHttps',
    "healthzBindAddress": (
        "removed since v1beta2; set the kube-scheduler flags --bind-address and --secure-port"
    ),
    "metricsBindAddress": (
        "removed since v1beta2; metrics are served on --bind-address and --secure-port"
    ),
    "algorithmSource": "removed with v1alpha1; name plugins under profiles[].plugins",
    "algorithmProvider": "removed in v1.23; name plugins under profiles[].plugins",
    "disablePreemption": (
        "removed with v1alpha2; disable DefaultPreemption under profiles[].plugins.postFilter"
    ),
    "hardPodAffinitySymmetricWeight": (
        "moved to profiles[].pluginConfig: InterPodAffinity's args.hardPodAffinityWeight"
    ),
    "failureDomains": "removed; pods name their topology keys",
    "predicates": "the Policy API is gone since v1.23; use profiles[].plugins.filter",
    "priorities": "the Policy API is gone since v1.23; use profiles[].plugins.score",
    "extenderConfigs": 'write "extenders"',
    "unreserve": "merged into reserve since v1.19; a Reserve plugin does both",
    "leaderElectionConfiguration": 'write "leaderElection"',
    "lockObjectName": "renamed; write resourceName",
    "lockObjectNamespace": "renamed; write resourceNamespace",
    "tlsClientConfig": 'write "tlsConfig"',
    "resourcesToWeightMap": (
        "removed; write scoringStrategy with a type and resources, a list of name and weight"
    ),
    "requestedToCapacityRatioArguments": (
        "the Policy API is gone since v1.23; write NodeResourcesFit's"
        " args.scoringStrategy.requestedToCapacityRatio"
    ),
    "scoreStrategy": 'write "scoringStrategy"',
}

# Keys that exist, but elsewhere: where they belong.
MISPLACED_KEYS: Mapping[str, str] = {
    "plugins": "belongs under profiles[]",
    "pluginConfig": "belongs under profiles[]",
    "schedulerName": "belongs under profiles[]",
    "bindTimeoutSeconds": "belongs in profiles[].pluginConfig, in the args of VolumeBinding",
    "hardPodAffinityWeight": "belongs in profiles[].pluginConfig, in the args of InterPodAffinity",
    "scoringStrategy": "belongs in profiles[].pluginConfig, in the args of NodeResourcesFit",
    "ignoredResources": "belongs in profiles[].pluginConfig, in the args of NodeResourcesFit",
    "ignoredResourceGroups": "belongs in profiles[].pluginConfig, in the args of NodeResourcesFit",
    "addedAffinity": "belongs in profiles[].pluginConfig, in the args of NodeAffinity",
    "defaultConstraints": "belongs in profiles[].pluginConfig, in the args of PodTopologySpread",
    "defaultingType": "belongs in profiles[].pluginConfig, in the args of PodTopologySpread",
    "minCandidateNodesPercentage": (
        "belongs in profiles[].pluginConfig, in the args of DefaultPreemption"
    ),
    "minCandidateNodesAbsolute": (
        "belongs in profiles[].pluginConfig, in the args of DefaultPreemption"
    ),
    "filterTimeout": "belongs in profiles[].pluginConfig, in the args of DynamicResources",
    "shape": "belongs in scoringStrategy.requestedToCapacityRatio",
    "enabled": "belongs under an extension point: plugins.POINT.enabled",
    "disabled": "belongs under an extension point: plugins.POINT.disabled",
    "extenders": "belongs at the top level",
    "profiles": "belongs at the top level",
    "parallelism": "belongs at the top level",
    "kubeconfig": "belongs under clientConnection",
    "qps": "belongs under clientConnection",
    "burst": "belongs under clientConnection",
    "leaderElect": "belongs under leaderElection",
    "weight": "belongs beside the plugin's name, in an enabled list",
    "args": "belongs in a pluginConfig entry, beside name",
}

# The release that read a version last, and what one must know beyond its removed keys.
OLD_VERSIONS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "v1alpha1": (
        "v1.18",
        (
            "v1alpha1 had one set of plugins at the top level; they are under profiles[] now",
            "algorithmSource (a provider or a Policy) is gone; profiles[].plugins takes its place",
        ),
    ),
    "v1alpha2": (
        "v1.18",
        (
            "pre- and postFilter changed names: v1alpha2's postFilter is preScore now",
            "unreserve is part of reserve now",
        ),
    ),
    "v1beta1": (
        "v1.22",
        (
            "NodeResourcesLeastAllocated, NodeResourcesMostAllocated and RequestedToCapacityRatio"
            " became scoringStrategy of NodeResourcesFit (v1beta2)",
            "NodeLabel, ServiceAffinity and NodePreferAvoidPods are gone (v1beta2, v1beta3)",
            "multiPoint enables a plugin at all its points at once (v1beta3)",
            "default weights changed in v1beta3: TaintToleration 3, NodeAffinity 2,"
            " InterPodAffinity 2 (all were 1)",
        ),
    ),
    "v1beta2": (
        "v1.27",
        (
            "SelectorSpread and NodePreferAvoidPods are gone (v1beta3)",
            "multiPoint enables a plugin at all its points at once (v1beta3)",
            "default weights changed in v1beta3: TaintToleration 3, NodeAffinity 2,"
            " InterPodAffinity 2 (all were 1)",
        ),
    ),
    "v1beta3": (
        "v1.28",
        (
            "v1 has the fields of v1beta3 and adds profiles[].percentageOfNodesToScore;"
            " changing apiVersion is enough, unless a plugin below is gone",
        ),
    ),
}

OTHER_KINDS: Mapping[str, str] = {
    "ConfigMap": "no text in this ConfigMap's data is a KubeSchedulerConfiguration",
    "KubeletConfiguration": "this is the kubelet's configuration, not the scheduler's",
    "Policy": "the Policy API is gone since v1.23; "
    f"`{program_name()} config migrate` writes it as one",
    "Pod": "this is a pod; name the file of its --config flag instead",
    "Deployment": "this is a deployment; name the file of its --config flag instead",
    "List": "this is a list of objects; if it is a cluster state, use --state",
}
