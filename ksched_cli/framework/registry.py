"""The plugins by name: where each comes from, which points it extends, how to load it.

An in-tree plugin's module is imported by `load` only, so that `validate` and `plugins` do not load
NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ksched_cli.config.effective import InTreeArgs, PluginTable
from ksched_cli.framework.interface import Plugin, points_of
from ksched_cli.kube.field_errors import FieldError
from ksched_cli.kube.versions import Release, release_of

if TYPE_CHECKING:
    from ksched_cli.cluster.custom_objects import PodMaker

IN_TREE_ORIGIN = "in-tree"


@dataclass(frozen=True, slots=True)
class PluginEntry:
    """One plugin that a configuration may name.

    name:    as in a configuration
    points:  keys of kube.extension_points.POINTS that it extends
    origin:  "in-tree", the distribution and version, or the argument of --plugin
    target:  "module:Class" of an in-tree plugin, or the class itself
    enabled_by_default: it is in the default multiPoint list, which has the registry's order
    default_weight:     its weight in that list
    short_name:         heading of its column in a table; "": the name itself
    in_tree_args:       type, defaults and checks of an in-tree plugin's args
    variant:            makes the entry of another release of one that differs between releases
    """

    name: str
    points: frozenset[str]
    origin: str
    target: str | Callable[..., Any]
    enabled_by_default: bool = False
    default_weight: int | None = None
    short_name: str = ""
    in_tree_args: InTreeArgs[Any] | None = None
    variant: Callable[[PluginEntry, Release], PluginEntry] | None = None

    def in_release(self, release: Release) -> PluginEntry:
        """Return the entry as a release has it."""
        return self if self.variant is None else self.variant(self, release)

    @classmethod
    def in_tree(
        cls,
        name: str,
        module: str,
        points: str,
        *,
        weight: int | None = None,
        short_name: str = "",
        args: InTreeArgs[Any] | None = None,
        variant: Callable[[PluginEntry, Release], PluginEntry] | None = None,
    ) -> PluginEntry:
        """Return the descriptor of an in-tree plugin, enabled by default.

        module: has the class of this name; points: keys separated by spaces; weight: None where
        the default list has no weight for it
        """
        target, keys = f"{module}:{name}", frozenset(points.split())
        return cls(name, keys, IN_TREE_ORIGIN, target, True, weight, short_name, args, variant)

    @classmethod
    def of(cls, plugin: type[Plugin], origin: str) -> PluginEntry:
        """The entry of an out-of-tree plugin."""
        return cls(plugin.name, points_of(plugin), origin, plugin)

    @property
    def is_foreign(self) -> bool:
        return self.origin != IN_TREE_ORIGIN

    @property
    def reads(self) -> tuple[str, ...]:
        """The kinds of custom objects that the plugin reads, see Plugin.reads."""
        return getattr(self.target, "reads", ())

    def load(self) -> Callable[..., Any]:
        """The plugin's class, to be called with (args, handle)."""
        if not isinstance(self.target, str):
            return self.target
        module, _, attribute = self.target.partition(":")
        factory: Callable[..., Any] = getattr(import_module(module), attribute)
        return factory

    def check_args(self, given: Any) -> tuple[FieldError, ...]:
        """The errors of args; given: typed for an in-tree plugin, else plain data."""
        if self.in_tree_args is not None:
            return tuple(self.in_tree_args.validate(given, ""))
        spec = getattr(self.target, "args", None)
        if spec is None:
            return ()
        from ksched_cli.framework.plugin_args import check

        return check(spec, given)

    def make(self, given: Any, handle: Any) -> Any:
        """Creates the plugin, with args as a configuration has them. Raises what its `__init__`
        raises."""
        spec = getattr(self.target, "args", None)
        if spec is not None:
            from ksched_cli.framework.plugin_args import make

            given = make(spec, given)
        return self.load()(given, handle)


class Registry(PluginTable[PluginEntry]):
    """Plugin name → entry, in the order they were registered."""

    def __init__(
        self,
        entries: Iterable[PluginEntry],
        release: Release | None = None,
        pod_makers: Mapping[str, PodMaker] | None = None,
    ) -> None:
        """release: whose plugins these are; the newest that ksched knows by default. pod_makers: by
        kind, of workloads that ksched does not know"""
        self._release = release or release_of()
        self.pod_makers = pod_makers or {}
        self._entries = {entry.name: entry for entry in entries}

    def __getitem__(self, name: str) -> PluginEntry:
        return self._entries[name]

    @property
    def release(self) -> Release:
        return self._release

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def reads(self) -> frozenset[str]:
        """The kinds of custom objects that any of the plugins reads, or makes pods of."""
        read = (kind for entry in self.values() for kind in entry.reads)
        return frozenset(read) | frozenset(self.pod_makers)
