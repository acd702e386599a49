"""KubeSchedulerConfiguration v1, field by field. The args of a plugin stand beside the plugin.

Upstream: k8s.io/kube-scheduler/config/v1/types.go, k8s.io/component-base/config/v1alpha1/types.go.
Durations are nanoseconds; None is what Go has as nil. The fields are those of the newest minor;
kube.versions (Rules.absent_fields) says which ones another lacks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
    GoStruct,
    ListOf,
    StructOf,
    field,
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


class TypeMeta(GoStruct):
    """kind comes before apiVersion in Go too; both are printed."""

    kind: str = field(STRING)
    api_version: str = field(STRING)


class PluginSetEntry(GoStruct):
    """One plugin of an enabled or disabled list; upstream's v1.Plugin."""

    GO: ClassVar[str] = "v1.Plugin"
    name: str = field(STRING, omit=False)
    weight: int | None = field(INT32, pointer=True)


class PluginSet(GoStruct):
    enabled: tuple[PluginSetEntry, ...] | None = field(ListOf(StructOf(PluginSetEntry)))
    disabled: tuple[PluginSetEntry, ...] | None = field(ListOf(StructOf(PluginSetEntry)))


class Plugins(GoStruct):
    pre_enqueue: PluginSet = field(StructOf(PluginSet))
    queue_sort: PluginSet = field(StructOf(PluginSet))
    pre_filter: PluginSet = field(StructOf(PluginSet))
    filter: PluginSet = field(StructOf(PluginSet))
    post_filter: PluginSet = field(StructOf(PluginSet))
    pre_score: PluginSet = field(StructOf(PluginSet))
    score: PluginSet = field(StructOf(PluginSet))
    reserve: PluginSet = field(StructOf(PluginSet))
    permit: PluginSet = field(StructOf(PluginSet))
    pre_bind: PluginSet = field(StructOf(PluginSet))
    bind: PluginSet = field(StructOf(PluginSet))
    post_bind: PluginSet = field(StructOf(PluginSet))
    multi_point: PluginSet = field(StructOf(PluginSet))
    placement_generate: PluginSet = field(StructOf(PluginSet))
    placement_score: PluginSet = field(StructOf(PluginSet))
    placement_feasible: PluginSet = field(StructOf(PluginSet))
    pod_group_post_filter: PluginSet = field(StructOf(PluginSet))

    @classmethod
    def each(cls, make: Callable[[str], PluginSet]) -> Plugins:
        """Return plugins whose set of every point `make` returns, by the point's key."""
        return cls(*map(make, Plugins.FIELDS))

    def at(self, point: str) -> PluginSet:
        """The set of a point by its key, also of "multiPoint"."""
        chosen: PluginSet = getattr(self, Plugins.FIELDS[point].attribute)
        return chosen

    def enabled(self, point: str) -> tuple[PluginSetEntry, ...]:
        return self.at(point).enabled or ()

    def names(self) -> set[str]:
        """Return what some point enables. Upstream: pluginsNeeded."""
        return {plugin.name for point in Plugins.FIELDS for plugin in self.enabled(point)}


class PluginConfig(GoStruct):
    """args: plain data as written; after decoding the args type for an in-tree plugin."""

    name: str = field(STRING, omit=False)
    args: Any = field(RAW)


class SchedulerProfile(GoStruct):
    GO: ClassVar[str] = "v1.KubeSchedulerProfile"
    scheduler_name: str | None = field(STRING, pointer=True)
    percentage_of_nodes_to_score: int | None = field(INT32, pointer=True, minimum=0, maximum=100)
    percentage_of_placements_to_score: int | None = field(
        INT32, pointer=True, minimum=0, maximum=100
    )
    plugins: Plugins | None = field(StructOf(Plugins), pointer=True)
    plugin_config: tuple[PluginConfig, ...] | None = field(ListOf(StructOf(PluginConfig)))


class ExtenderManagedResource(GoStruct):
    name: str = field(STRING, omit=False)
    ignored_by_scheduler: bool = field(BOOL)


class ExtenderTLSConfig(GoStruct):
    insecure: bool = field(BOOL)
    server_name: str = field(STRING)
    cert_file: str = field(STRING)
    key_file: str = field(STRING)
    ca_file: str = field(STRING)
    cert_data: bytes = field(BYTES)
    key_data: bytes = field(BYTES)
    ca_data: bytes = field(BYTES)


class Extender(GoStruct):
    url_prefix: str = field(STRING, omit=False)
    filter_verb: str = field(STRING)
    preempt_verb: str = field(STRING)
    prioritize_verb: str = field(STRING)
    weight: int = field(INT64)
    bind_verb: str = field(STRING)
    enable_https: bool = field(BOOL, key="enableHTTPS")
    tls_config: ExtenderTLSConfig | None = field(StructOf(ExtenderTLSConfig), pointer=True)
    http_timeout: int = field(DURATION, omit=False)
    node_cache_capable: bool = field(BOOL)
    managed_resources: tuple[ExtenderManagedResource, ...] | None = field(
        ListOf(StructOf(ExtenderManagedResource))
    )
    ignorable: bool = field(BOOL)


class LeaderElection(GoStruct):
    GO: ClassVar[str] = "v1alpha1.LeaderElectionConfiguration"
    leader_elect: bool | None = field(BOOL, pointer=True, default=True)
    lease_duration: int = field(DURATION, omit=False, default=15 * _SECOND)
    renew_deadline: int = field(DURATION, omit=False, default=10 * _SECOND)
    retry_period: int = field(DURATION, omit=False, default=2 * _SECOND)
    resource_lock: str = field(STRING, omit=False, default="leases")
    resource_name: str = field(STRING, omit=False, default="kube-scheduler")
    resource_namespace: str = field(STRING, omit=False, default="kube-system")


class ClientConnection(GoStruct):
    GO: ClassVar[str] = "v1alpha1.ClientConnectionConfiguration"
    kubeconfig: str = field(STRING, omit=False)
    accept_content_types: str = field(STRING, omit=False)
    content_type: str = field(STRING, omit=False, default="application/vnd.kubernetes.protobuf")
    qps: float = field(FLOAT32, omit=False, default=50.0)
    burst: int = field(INT32, omit=False, default=100)


class SchedulerConfiguration(TypeMeta):
    """The contents of a file; after defaults.py with every default filled in.

    Upstream's defaults: pkg/scheduler/apis/config/v1/defaults.go, component-base
    config/v1alpha1/defaults.go.
    """

    GO: ClassVar[str] = "v1.KubeSchedulerConfiguration"
    parallelism: int | None = field(INT32, pointer=True, default=16, minimum=1)
    leader_election: LeaderElection = field(StructOf(LeaderElection))
    client_connection: ClientConnection = field(StructOf(ClientConnection))
    enable_profiling: bool | None = field(BOOL, pointer=True, default=True)
    enable_contention_profiling: bool | None = field(BOOL, pointer=True)
    percentage_of_nodes_to_score: int | None = field(
        INT32, pointer=True, default=0, minimum=0, maximum=100
    )
    percentage_of_placements_to_score: int | None = field(
        INT32, pointer=True, minimum=0, maximum=100
    )
    pod_initial_backoff_seconds: int | None = field(INT64, pointer=True, default=1, minimum=1)
    pod_max_backoff_seconds: int | None = field(INT64, pointer=True, default=10)
    profiles: tuple[SchedulerProfile, ...] | None = field(ListOf(StructOf(SchedulerProfile)))
    extenders: tuple[Extender, ...] | None = field(ListOf(StructOf(Extender)))
    delay_cache_until_active: bool = field(BOOL)


def enabled_plugins(
    configuration: SchedulerConfiguration,
) -> Iterator[tuple[Path, str, PluginSetEntry]]:
    """Path, point and entry of every plugin that a file enables; multiPoint is a profile's last."""
    for index, profile in enumerate(configuration.profiles or ()):
        for point in (*POINT_KEYS, MULTI_POINT):
            path = ("profiles", index, "plugins", point, "enabled")
            for place, plugin in enumerate((profile.plugins or Plugins()).enabled(point)):
                yield (*path, place), point, plugin
