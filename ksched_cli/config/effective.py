"""A configuration as it takes effect: what every other part of ksched reads."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from typing import Any, Protocol, TypeAlias, TypeVar

from ksched_cli.config.in_tree_args import InTreeArgs
from ksched_cli.config.types import Extender, SchedulerConfiguration
from ksched_cli.kube.field_errors import FieldError
from ksched_cli.kube.versions import Release, release_of


class KnownPlugin(Protocol):
    """What the configuration needs to know of a plugin; framework.registry.PluginEntry is one."""

    @property
    def name(self) -> str: ...

    @property
    def points(self) -> frozenset[str]: ...

    @property
    def origin(self) -> str: ...

    @property
    def enabled_by_default(self) -> bool:
        """Whether the default multiPoint list has it, in the registry's order."""
        ...

    @property
    def default_weight(self) -> int | None:
        """Its weight in that list."""
        ...

    @property
    def in_tree_args(self) -> InTreeArgs[Any] | None:
        """The args' type, where this is an in-tree plugin that takes args."""
        ...

    def check_args(self, given: Any) -> Sequence[FieldError]:
        """Return the errors in the args that the plugin is made with; paths begin in the args."""
        ...


P_co = TypeVar("P_co", bound=KnownPlugin, covariant=True)


class PluginTable(Mapping[str, P_co]):
    """Plugin name → what there is to know of it, in one release of Kubernetes."""

    @property
    @abstractmethod
    def release(self) -> Release: ...


KnownPlugins: TypeAlias = PluginTable[KnownPlugin]


def in_tree_args(registry: KnownPlugins) -> dict[str, InTreeArgs[Any]]:
    """Plugin name → the args, of the in-tree plugins that take some."""
    return {name: plugin.in_tree_args for name, plugin in registry.items() if plugin.in_tree_args}


@dataclass(frozen=True, slots=True)
class PluginRef:
    """A plugin at one extension point.

    weight: at score, what its scores are multiplied by; 0 elsewhere
    origin: "default", "multiPoint" (the file's), or the key of the point that names it itself
    """

    name: str
    weight: int
    origin: str


@dataclass(frozen=True, slots=True)
class Profile:
    """percentage_of_nodes_to_score: the profile's own, or the configuration's; 0 adapts to the
    number of nodes
    plugins: per point key, in the order they run; weights: of the score plugins;
    args: of every plugin that takes some, in-tree typed (config.types), foreign as plain data;
    placement_weights: of the plugins that score placements of pod groups"""

    scheduler_name: str
    percentage_of_nodes_to_score: int
    plugins: Mapping[str, tuple[PluginRef, ...]]
    weights: Mapping[str, int]
    args: Mapping[str, Any]
    placement_weights: Mapping[str, int] = dataclass_field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Configuration:
    """source: the file as decoded and defaulted, for readers of fields not listed here;
    release: whose rules it takes effect under."""

    profiles: tuple[Profile, ...]
    extenders: tuple[Extender, ...]
    parallelism: int
    pod_initial_backoff_seconds: int
    pod_max_backoff_seconds: int
    source: SchedulerConfiguration
    release: Release = dataclass_field(default_factory=release_of)
