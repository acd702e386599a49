"""KubeSchedulerConfiguration v1, field by field.

Upstream: k8s.io/kube-scheduler/config/v1/types.go and types_pluginargs.go,
k8s.io/component-base/config/v1alpha1/types.go, k8s.io/api/core/v1 for affinity and spreading.
Durations are nanoseconds; None is what Go has as nil.
"""

# ruff: noqa: RUF009  # wire.field is dataclasses.field, with the JSON side as its metadata

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ksched_cli.config.go_types import (
    BOOL,
    BYTES,
    DURATION,
    FLOAT32,
    INT32,
    INT64,
    RAW,
    STRING,
    ListOf,
    StringMap,
    StructOf,
    field,
    named,
)

GROUP = "kubescheduler.config.k8s.io"
API_VERSION = f"{GROUP}/v1"
KIND = "KubeSchedulerConfiguration"
DEFAULT_SCHEDULER_NAME = "default-scheduler"


@dataclass(frozen=True, slots=True)
class TypeMeta:
    """kind comes before apiVersion in Go too; both are printed."""

    GO: ClassVar[str] = "v1.TypeMeta"
    kind: str = field("kind", STRING)
    api_version: str = field("apiVersion", STRING)


# What plugins take as args.


@dataclass(frozen=True, slots=True)
class DefaultPreemptionArgs(TypeMeta):
    GO: ClassVar[str] = "v1.DefaultPreemptionArgs"
    min_candidate_nodes_percentage: int | None = field(
        "minCandidateNodesPercentage", INT32, pointer=True
    )
    min_candidate_nodes_absolute: int | None = field(
        "minCandidateNodesAbsolute", INT32, pointer=True
    )


@dataclass(frozen=True, slots=True)
class InterPodAffinityArgs(TypeMeta):
    GO: ClassVar[str] = "v1.InterPodAffinityArgs"
    hard_pod_affinity_weight: int | None = field("hardPodAffinityWeight", INT32, pointer=True)
    ignore_preferred_terms_of_existing_pods: bool = field(
        "ignorePreferredTermsOfExistingPods", BOOL, omit=False
    )


@dataclass(frozen=True, slots=True)
class ResourceSpec:
    GO: ClassVar[str] = "v1.ResourceSpec"
    name: str = field("name", STRING, omit=False)
    weight: int = field("weight", INT64)


@dataclass(frozen=True, slots=True)
class UtilizationShapePoint:
    GO: ClassVar[str] = "v1.UtilizationShapePoint"
    utilization: int = field("utilization", INT32, omit=False)
    score: int = field("score", INT32, omit=False)


@dataclass(frozen=True, slots=True)
class RequestedToCapacityRatioParam:
    GO: ClassVar[str] = "v1.RequestedToCapacityRatioParam"
    shape: tuple[UtilizationShapePoint, ...] | None = field(
        "shape", ListOf(StructOf(UtilizationShapePoint))
    )


@dataclass(frozen=True, slots=True)
class ScoringStrategy:
    GO: ClassVar[str] = "v1.ScoringStrategy"
    type: str = field("type", named("v1.ScoringStrategyType"))
    resources: tuple[ResourceSpec, ...] | None = field("resources", ListOf(StructOf(ResourceSpec)))
    requested_to_capacity_ratio: RequestedToCapacityRatioParam | None = field(
        "requestedToCapacityRatio", StructOf(RequestedToCapacityRatioParam), pointer=True
    )


@dataclass(frozen=True, slots=True)
class NodeResourcesFitArgs(TypeMeta):
    GO: ClassVar[str] = "v1.NodeResourcesFitArgs"
    ignored_resources: tuple[str, ...] | None = field("ignoredResources", ListOf(STRING))
    ignored_resource_groups: tuple[str, ...] | None = field("ignoredResourceGroups", ListOf(STRING))
    scoring_strategy: ScoringStrategy | None = field(
        "scoringStrategy", StructOf(ScoringStrategy), pointer=True
    )


@dataclass(frozen=True, slots=True)
class NodeResourcesBalancedAllocationArgs(TypeMeta):
    GO: ClassVar[str] = "v1.NodeResourcesBalancedAllocationArgs"
    resources: tuple[ResourceSpec, ...] | None = field("resources", ListOf(StructOf(ResourceSpec)))


@dataclass(frozen=True, slots=True)
class LabelSelectorRequirement:
    GO: ClassVar[str] = "v1.LabelSelectorRequirement"
    key: str = field("key", STRING, omit=False)
    operator: str = field("operator", named("v1.LabelSelectorOperator"), omit=False)
    values: tuple[str, ...] | None = field("values", ListOf(STRING))


@dataclass(frozen=True, slots=True)
class LabelSelector:
    GO: ClassVar[str] = "v1.LabelSelector"
    match_labels: Mapping[str, str] | None = field("matchLabels", StringMap())
    match_expressions: tuple[LabelSelectorRequirement, ...] | None = field(
        "matchExpressions", ListOf(StructOf(LabelSelectorRequirement))
    )


@dataclass(frozen=True, slots=True)
class TopologySpreadConstraint:
    GO: ClassVar[str] = "v1.TopologySpreadConstraint"
    max_skew: int = field("maxSkew", INT32, omit=False)
    topology_key: str = field("topologyKey", STRING, omit=False)
    when_unsatisfiable: str = field(
        "whenUnsatisfiable", named("v1.UnsatisfiableConstraintAction"), omit=False
    )
    label_selector: LabelSelector | None = field(
        "labelSelector", StructOf(LabelSelector), pointer=True
    )
    min_domains: int | None = field("minDomains", INT32, pointer=True)
    node_affinity_policy: str | None = field(
        "nodeAffinityPolicy", named("v1.NodeInclusionPolicy"), pointer=True
    )
    node_taints_policy: str | None = field(
        "nodeTaintsPolicy", named("v1.NodeInclusionPolicy"), pointer=True
    )
    match_label_keys: tuple[str, ...] | None = field("matchLabelKeys", ListOf(STRING))


@dataclass(frozen=True, slots=True)
class PodTopologySpreadArgs(TypeMeta):
    GO: ClassVar[str] = "v1.PodTopologySpreadArgs"
    default_constraints: tuple[TopologySpreadConstraint, ...] | None = field(
        "defaultConstraints", ListOf(StructOf(TopologySpreadConstraint))
    )
    defaulting_type: str = field(
        "defaultingType", named("v1.PodTopologySpreadConstraintsDefaulting")
    )


@dataclass(frozen=True, slots=True)
class VolumeBindingArgs(TypeMeta):
    GO: ClassVar[str] = "v1.VolumeBindingArgs"
    bind_timeout_seconds: int | None = field("bindTimeoutSeconds", INT64, pointer=True)
    shape: tuple[UtilizationShapePoint, ...] | None = field(
        "shape", ListOf(StructOf(UtilizationShapePoint))
    )


@dataclass(frozen=True, slots=True)
class NodeSelectorRequirement:
    GO: ClassVar[str] = "v1.NodeSelectorRequirement"
    key: str = field("key", STRING, omit=False)
    operator: str = field("operator", named("v1.NodeSelectorOperator"), omit=False)
    values: tuple[str, ...] | None = field("values", ListOf(STRING))


@dataclass(frozen=True, slots=True)
class NodeSelectorTerm:
    GO: ClassVar[str] = "v1.NodeSelectorTerm"
    match_expressions: tuple[NodeSelectorRequirement, ...] | None = field(
        "matchExpressions", ListOf(StructOf(NodeSelectorRequirement))
    )
    match_fields: tuple[NodeSelectorRequirement, ...] | None = field(
        "matchFields", ListOf(StructOf(NodeSelectorRequirement))
    )


@dataclass(frozen=True, slots=True)
class NodeSelector:
    GO: ClassVar[str] = "v1.NodeSelector"
    node_selector_terms: tuple[NodeSelectorTerm, ...] | None = field(
        "nodeSelectorTerms", ListOf(StructOf(NodeSelectorTerm)), omit=False
    )


@dataclass(frozen=True, slots=True)
class PreferredSchedulingTerm:
    GO: ClassVar[str] = "v1.PreferredSchedulingTerm"
    weight: int = field("weight", INT32, omit=False)
    preference: NodeSelectorTerm = field("preference", StructOf(NodeSelectorTerm), omit=False)


@dataclass(frozen=True, slots=True)
class NodeAffinity:
    GO: ClassVar[str] = "v1.NodeAffinity"
    required: NodeSelector | None = field(
        "requiredDuringSchedulingIgnoredDuringExecution", StructOf(NodeSelector), pointer=True
    )
    preferred: tuple[PreferredSchedulingTerm, ...] | None = field(
        "preferredDuringSchedulingIgnoredDuringExecution",
        ListOf(StructOf(PreferredSchedulingTerm)),
    )


@dataclass(frozen=True, slots=True)
class NodeAffinityArgs(TypeMeta):
    GO: ClassVar[str] = "v1.NodeAffinityArgs"
    added_affinity: NodeAffinity | None = field(
        "addedAffinity", StructOf(NodeAffinity), pointer=True
    )


@dataclass(frozen=True, slots=True)
class DynamicResourcesArgs(TypeMeta):
    GO: ClassVar[str] = "v1.DynamicResourcesArgs"
    filter_timeout: int | None = field("filterTimeout", DURATION, pointer=True)


PluginArgs = (
    DefaultPreemptionArgs
    | InterPodAffinityArgs
    | NodeResourcesFitArgs
    | NodeResourcesBalancedAllocationArgs
    | PodTopologySpreadArgs
    | VolumeBindingArgs
    | NodeAffinityArgs
    | DynamicResourcesArgs
)

ARGS_TYPES: Mapping[str, type[PluginArgs]] = {
    "DefaultPreemption": DefaultPreemptionArgs,
    "DynamicResources": DynamicResourcesArgs,
    "InterPodAffinity": InterPodAffinityArgs,
    "NodeAffinity": NodeAffinityArgs,
    "NodeResourcesBalancedAllocation": NodeResourcesBalancedAllocationArgs,
    "NodeResourcesFit": NodeResourcesFitArgs,
    "PodTopologySpread": PodTopologySpreadArgs,
    "VolumeBinding": VolumeBindingArgs,
}


# The configuration itself, as the file has it.


@dataclass(frozen=True, slots=True)
class Plugin:
    GO: ClassVar[str] = "v1.Plugin"
    name: str = field("name", STRING, omit=False)
    weight: int | None = field("weight", INT32, pointer=True)


@dataclass(frozen=True, slots=True)
class PluginSet:
    GO: ClassVar[str] = "v1.PluginSet"
    enabled: tuple[Plugin, ...] | None = field("enabled", ListOf(StructOf(Plugin)))
    disabled: tuple[Plugin, ...] | None = field("disabled", ListOf(StructOf(Plugin)))


@dataclass(frozen=True, slots=True)
class Plugins:
    GO: ClassVar[str] = "v1.Plugins"
    pre_enqueue: PluginSet = field("preEnqueue", StructOf(PluginSet))
    queue_sort: PluginSet = field("queueSort", StructOf(PluginSet))
    pre_filter: PluginSet = field("preFilter", StructOf(PluginSet))
    filter: PluginSet = field("filter", StructOf(PluginSet))
    post_filter: PluginSet = field("postFilter", StructOf(PluginSet))
    pre_score: PluginSet = field("preScore", StructOf(PluginSet))
    score: PluginSet = field("score", StructOf(PluginSet))
    reserve: PluginSet = field("reserve", StructOf(PluginSet))
    permit: PluginSet = field("permit", StructOf(PluginSet))
    pre_bind: PluginSet = field("preBind", StructOf(PluginSet))
    bind: PluginSet = field("bind", StructOf(PluginSet))
    post_bind: PluginSet = field("postBind", StructOf(PluginSet))
    multi_point: PluginSet = field("multiPoint", StructOf(PluginSet))


@dataclass(frozen=True, slots=True)
class PluginConfig:
    """args: plain data as written; after decoding the args type for an in-tree plugin."""

    GO: ClassVar[str] = "v1.PluginConfig"
    name: str = field("name", STRING, omit=False)
    args: Any = field("args", RAW)


@dataclass(frozen=True, slots=True)
class SchedulerProfile:
    GO: ClassVar[str] = "v1.KubeSchedulerProfile"
    scheduler_name: str | None = field("schedulerName", STRING, pointer=True)
    percentage_of_nodes_to_score: int | None = field(
        "percentageOfNodesToScore", INT32, pointer=True
    )
    plugins: Plugins | None = field("plugins", StructOf(Plugins), pointer=True)
    plugin_config: tuple[PluginConfig, ...] | None = field(
        "pluginConfig", ListOf(StructOf(PluginConfig))
    )


@dataclass(frozen=True, slots=True)
class ExtenderManagedResource:
    GO: ClassVar[str] = "v1.ExtenderManagedResource"
    name: str = field("name", STRING, omit=False)
    ignored_by_scheduler: bool = field("ignoredByScheduler", BOOL)


@dataclass(frozen=True, slots=True)
class ExtenderTLSConfig:
    GO: ClassVar[str] = "v1.ExtenderTLSConfig"
    insecure: bool = field("insecure", BOOL)
    server_name: str = field("serverName", STRING)
    cert_file: str = field("certFile", STRING)
    key_file: str = field("keyFile", STRING)
    ca_file: str = field("caFile", STRING)
    cert_data: bytes = field("certData", BYTES)
    key_data: bytes = field("keyData", BYTES)
    ca_data: bytes = field("caData", BYTES)


@dataclass(frozen=True, slots=True)
class Extender:
    GO: ClassVar[str] = "v1.Extender"
    url_prefix: str = field("urlPrefix", STRING, omit=False)
    filter_verb: str = field("filterVerb", STRING)
    preempt_verb: str = field("preemptVerb", STRING)
    prioritize_verb: str = field("prioritizeVerb", STRING)
    weight: int = field("weight", INT64)
    bind_verb: str = field("bindVerb", STRING)
    enable_https: bool = field("enableHTTPS", BOOL)
    tls_config: ExtenderTLSConfig | None = field(
        "tlsConfig", StructOf(ExtenderTLSConfig), pointer=True
    )
    http_timeout: int = field("httpTimeout", DURATION, omit=False)
    node_cache_capable: bool = field("nodeCacheCapable", BOOL)
    managed_resources: tuple[ExtenderManagedResource, ...] | None = field(
        "managedResources", ListOf(StructOf(ExtenderManagedResource))
    )
    ignorable: bool = field("ignorable", BOOL)


@dataclass(frozen=True, slots=True)
class LeaderElection:
    GO: ClassVar[str] = "v1alpha1.LeaderElectionConfiguration"
    leader_elect: bool | None = field("leaderElect", BOOL, pointer=True)
    lease_duration: int = field("leaseDuration", DURATION, omit=False)
    renew_deadline: int = field("renewDeadline", DURATION, omit=False)
    retry_period: int = field("retryPeriod", DURATION, omit=False)
    resource_lock: str = field("resourceLock", STRING, omit=False)
    resource_name: str = field("resourceName", STRING, omit=False)
    resource_namespace: str = field("resourceNamespace", STRING, omit=False)


@dataclass(frozen=True, slots=True)
class ClientConnection:
    GO: ClassVar[str] = "v1alpha1.ClientConnectionConfiguration"
    kubeconfig: str = field("kubeconfig", STRING, omit=False)
    accept_content_types: str = field("acceptContentTypes", STRING, omit=False)
    content_type: str = field("contentType", STRING, omit=False)
    qps: float = field("qps", FLOAT32, omit=False)
    burst: int = field("burst", INT32, omit=False)


@dataclass(frozen=True, slots=True)
class SchedulerConfiguration(TypeMeta):
    """What a file says; after defaults.py with every default filled in."""

    GO: ClassVar[str] = "v1.KubeSchedulerConfiguration"
    parallelism: int | None = field("parallelism", INT32, pointer=True)
    leader_election: LeaderElection = field("leaderElection", StructOf(LeaderElection))
    client_connection: ClientConnection = field("clientConnection", StructOf(ClientConnection))
    enable_profiling: bool | None = field("enableProfiling", BOOL, pointer=True)
    enable_contention_profiling: bool | None = field(
        "enableContentionProfiling", BOOL, pointer=True
    )
    percentage_of_nodes_to_score: int | None = field(
        "percentageOfNodesToScore", INT32, pointer=True
    )
    pod_initial_backoff_seconds: int | None = field("podInitialBackoffSeconds", INT64, pointer=True)
    pod_max_backoff_seconds: int | None = field("podMaxBackoffSeconds", INT64, pointer=True)
    profiles: tuple[SchedulerProfile, ...] | None = field(
        "profiles", ListOf(StructOf(SchedulerProfile))
    )
    extenders: tuple[Extender, ...] | None = field("extenders", ListOf(StructOf(Extender)))
    delay_cache_until_active: bool = field("delayCacheUntilActive", BOOL)
