"""KubeSchedulerConfiguration v1, field by field. The args of a plugin stand beside the plugin.

Upstream: k8s.io/kube-scheduler/config/v1/types.go, k8s.io/component-base/config/v1alpha1/types.go.
Durations are nanoseconds; None is what Go has as nil. The fields are those of the newest minor;
kube.versions (Rules.absent_fields) says which ones another lacks.
"""

# ruff: noqa: RUF009  # go_types.field is dataclasses.field, with the JSON side as its metadata

from __future__ import annotations

from collections.abc import Callable, Iterator
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
    StructOf,
    field,
    fields_of,
)
from ksched_cli.kube.documents import Path
from ksched_cli.kube.extension_points import POINT_KEYS

GROUP = "kubescheduler.config.k8s.io"
API_VERSION = f"{GROUP}/v1"
KIND = "KubeSchedulerConfiguration"
DEFAULT_SCHEDULER_NAME = "default-scheduler"
# In lists of plugins: all of them, and the key of the plugins at every point that they extend.
ALL, MULTI_POINT = "*", "multiPoint"
_SECOND = 10**9


@dataclass(frozen=True, slots=True)
class TypeMeta:
    """kind comes before apiVersion in Go too; both are printed."""

    GO: ClassVar[str] = "v1.TypeMeta"
    kind: str = field("kind", STRING)
    api_version: str = field("apiVersion", STRING)


@dataclass(frozen=True, slots=True)
class PluginSetEntry:
    """One plugin of an enabled or disabled list; upstream's v1.Plugin."""

    GO: ClassVar[str] = "v1.Plugin"
    name: str = field("name", STRING, omit=False)
    weight: int | None = field("weight", INT32, pointer=True)


@dataclass(frozen=True, slots=True)
class PluginSet:
    GO: ClassVar[str] = "v1.PluginSet"
    enabled: tuple[PluginSetEntry, ...] | None = field("enabled", ListOf(StructOf(PluginSetEntry)))
    disabled: tuple[PluginSetEntry, ...] | None = field(
        "disabled", ListOf(StructOf(PluginSetEntry))
    )


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
    placement_generate: PluginSet = field("placementGenerate", StructOf(PluginSet))
    placement_score: PluginSet = field("placementScore", StructOf(PluginSet))
    pod_group_post_filter: PluginSet = field("podGroupPostFilter", StructOf(PluginSet))

    @classmethod
    def each(cls, make: Callable[[str], PluginSet]) -> Plugins:
        """Plugins whose set of every point `make` returns, by the point's key."""
        return cls(*map(make, fields_of(Plugins)))

    def at(self, point: str) -> PluginSet:
        """The set of a point by its key, also of "multiPoint"."""
        chosen: PluginSet = getattr(self, fields_of(Plugins)[point].attribute)
        return chosen

    def enabled(self, point: str) -> tuple[PluginSetEntry, ...]:
        return self.at(point).enabled or ()

    def names(self) -> set[str]:
        """What some point enables. Upstream: pluginsNeeded."""
        return {plugin.name for point in fields_of(Plugins) for plugin in self.enabled(point)}


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
        "percentageOfNodesToScore", INT32, pointer=True, minimum=0, maximum=100
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
    leader_elect: bool | None = field("leaderElect", BOOL, pointer=True, default=True)
    lease_duration: int = field("leaseDuration", DURATION, omit=False, default=15 * _SECOND)
    renew_deadline: int = field("renewDeadline", DURATION, omit=False, default=10 * _SECOND)
    retry_period: int = field("retryPeriod", DURATION, omit=False, default=2 * _SECOND)
    resource_lock: str = field("resourceLock", STRING, omit=False, default="leases")
    resource_name: str = field("resourceName", STRING, omit=False, default="kube-scheduler")
    resource_namespace: str = field("resourceNamespace", STRING, omit=False, default="kube-system")


@dataclass(frozen=True, slots=True)
class ClientConnection:
    GO: ClassVar[str] = "v1alpha1.ClientConnectionConfiguration"
    kubeconfig: str = field("kubeconfig", STRING, omit=False)
    accept_content_types: str = field("acceptContentTypes", STRING, omit=False)
    content_type: str = field(
        "contentType", STRING, omit=False, default="application/vnd.kubernetes.protobuf"
    )
    qps: float = field("qps", FLOAT32, omit=False, default=50.0)
    burst: int = field("burst", INT32, omit=False, default=100)


@dataclass(frozen=True, slots=True)
class SchedulerConfiguration(TypeMeta):
    """The contents of a file; after defaults.py with every default filled in.

    Upstream's defaults: pkg/scheduler/apis/config/v1/defaults.go, component-base
    config/v1alpha1/defaults.go.
    """

    GO: ClassVar[str] = "v1.KubeSchedulerConfiguration"
    parallelism: int | None = field("parallelism", INT32, pointer=True, default=16, minimum=1)
    leader_election: LeaderElection = field("leaderElection", StructOf(LeaderElection))
    client_connection: ClientConnection = field("clientConnection", StructOf(ClientConnection))
    enable_profiling: bool | None = field("enableProfiling", BOOL, pointer=True, default=True)
    enable_contention_profiling: bool | None = field(
        "enableContentionProfiling", BOOL, pointer=True
    )
    percentage_of_nodes_to_score: int | None = field(
        "percentageOfNodesToScore", INT32, pointer=True, default=0, minimum=0, maximum=100
    )
    pod_initial_backoff_seconds: int | None = field(
        "podInitialBackoffSeconds", INT64, pointer=True, default=1, minimum=1
    )
    pod_max_backoff_seconds: int | None = field(
        "podMaxBackoffSeconds", INT64, pointer=True, default=10
    )
    profiles: tuple[SchedulerProfile, ...] | None = field(
        "profiles", ListOf(StructOf(SchedulerProfile))
    )
    extenders: tuple[Extender, ...] | None = field("extenders", ListOf(StructOf(Extender)))
    delay_cache_until_active: bool = field("delayCacheUntilActive", BOOL)


def enabled_plugins(
    configuration: SchedulerConfiguration,
) -> Iterator[tuple[Path, str, PluginSetEntry]]:
    """Path, point and entry of every plugin that a file enables; multiPoint is a profile's last."""
    for index, profile in enumerate(configuration.profiles or ()):
        for point in (*POINT_KEYS, MULTI_POINT):
            path = ("profiles", index, "plugins", point, "enabled")
            for place, plugin in enumerate((profile.plugins or Plugins()).enabled(point)):
                yield (*path, place), point, plugin
