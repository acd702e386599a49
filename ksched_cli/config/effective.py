"""A configuration as it takes effect, which every other part of ksched reads; and what it knows of
plugins: their points, and type, defaults and checks of the args of those in tree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from ksched_cli.config.go_types import go_type, with_field_defaults
from ksched_cli.config.types import API_VERSION, Extender, SchedulerConfiguration, TypeMeta
from ksched_cli.kube.field_errors import FieldError
from ksched_cli.kube.versions import Release, release_of

# -- args of in-tree plugins ----------------------------------------------------------------------


A = TypeVar("A", bound=TypeMeta)


class StartupCrash(Struct, frozen=True):
    """Args that validation passes and that crash the plugin's New function.

    rule, path (inside the args), message and hint: of the finding that says so
    """

    rule: str
    path: str
    message: str
    hint: str


class InTreeArgs(Struct, Generic[A], frozen=True):
    """The args of one in-tree plugin. plugins/args.py makes one, and the plugin's entry carries it.

    type:          a GoStruct; its fields are decoded, and become its JSON Schema
    set_defaults:  fills in what is not given and has no default of its own field (upstream:
                   apis/config/v1/defaults.go)
    validate:      the errors, in upstream's order; the second argument is the path of the args
    startup_crash: what is wrong with args that upstream crashes with, after validation
    """

    type: type[A]
    set_defaults: Callable[[A], A] = lambda args: args
    validate: Callable[[A, str], Iterable[FieldError]] = lambda args, path: ()
    startup_crash: Callable[[A], StartupCrash | None] = lambda args: None

    @property
    def kind(self) -> str:
        """As the args themselves may name it, such as NodeResourcesFitArgs."""
        return go_type(self.type).rpartition(".")[2]

    def errors(self, args: A, path: str) -> list[FieldError]:
        """Return every error once, as ErrorList.ToAggregate has them."""
        return list(dict.fromkeys(self.validate(args, path)))

    def with_defaults(self, args: Any) -> A:
        """args: of `type`, as decoded."""
        named = replace(args, kind=self.kind, api_version=API_VERSION)
        return self.set_defaults(with_field_defaults(named))


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
        """Return whether the default multiPoint list has it, in the registry's order."""
        ...

    @property
    def is_off_at_reserve(self) -> bool:
        """Return whether the default list of the point reserve disables it."""
        ...

    @property
    def default_weight(self) -> int | None:
        """Its weight in that list."""
        ...

    @property
    def in_tree_args(self) -> InTreeArgs[Any] | None:
        """Return the args' type, where this is an in-tree plugin that takes args."""
        ...

    def check_args(self, given: Any) -> Sequence[FieldError]:
        """Return the errors in the args that the plugin is made with; paths begin in the args."""
        ...


P_co = TypeVar("P_co", bound=KnownPlugin, covariant=True)


class PluginTable(Mapping[str, P_co]):
    """Plugin name → what there is to know of it, in one release of Kubernetes."""

    def __init__(self, release: Release, plugins: Mapping[str, P_co]) -> None:
        self.release, self._plugins = release, plugins

    def __getitem__(self, name: str) -> P_co:
        return self._plugins[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._plugins)

    def __len__(self) -> int:
        return len(self._plugins)


KnownPlugins: TypeAlias = PluginTable[KnownPlugin]


def in_tree_args(registry: KnownPlugins) -> dict[str, InTreeArgs[Any]]:
    """Plugin name → the args, of the in-tree plugins that take some."""
    return {name: plugin.in_tree_args for name, plugin in registry.items() if plugin.in_tree_args}


class PluginRef(Struct, frozen=True):
    """A plugin at one extension point.

    weight: at score, what its scores are multiplied by; 0 elsewhere
    origin: "default", "multiPoint" (the file's), or the key of the point that names it itself
    """

    name: str
    weight: int
    origin: str


class Profile(Struct, frozen=True):
    """percentage_of_nodes_to_score: the profile's own, or the configuration's; 0 adapts to the
    number of nodes
    plugins: per point key, in the order they run; weights: of the score plugins;
    args: of every plugin that takes some, in-tree typed (config.types), foreign as plain data;
    placement_weights: of the plugins that score placements of pod groups
    percentage_of_placements_to_score: as that of nodes"""

    scheduler_name: str
    percentage_of_nodes_to_score: int
    plugins: Mapping[str, tuple[PluginRef, ...]]
    weights: Mapping[str, int]
    args: Mapping[str, Any]
    placement_weights: Mapping[str, int] = field(default_factory=dict)
    percentage_of_placements_to_score: int = 0


class Configuration(Struct, frozen=True):
    """source: the file as decoded and defaulted, for readers of fields not listed here;
    release: whose rules it takes effect under."""

    profiles: tuple[Profile, ...]
    extenders: tuple[Extender, ...]
    parallelism: int
    pod_initial_backoff_seconds: int
    pod_max_backoff_seconds: int
    source: SchedulerConfiguration
    release: Release = field(default_factory=release_of)
