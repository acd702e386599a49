"""Every plugin known by name: where it comes from, what it extends, how to load it.

Nothing here imports a plugin before it is asked for, so that `validate` and `plugins` need no NumPy
for the in-tree ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True, slots=True)
class PluginEntry:
    """One plugin that a configuration may name.

    name:    as in a configuration
    points:  keys of config.points.POINTS that it extends
    origin:  "in-tree", or the distribution and version that brought it
    target:  "module:Class" of an in-tree plugin, or the class (factory) itself
    """

    name: str
    points: frozenset[str]
    origin: str
    target: str | Callable[..., Any]

    def load(self) -> Callable[..., Any]:
        """The class or factory: called with (args, handle) it makes the plugin."""
        if not isinstance(self.target, str):
            return self.target
        module, _, attribute = self.target.partition(":")
        factory: Callable[..., Any] = getattr(import_module(module), attribute)
        return factory


class Registry(Mapping[str, PluginEntry]):
    """Plugin name → entry, in the order they were registered."""

    def __init__(self, entries: Iterable[PluginEntry]) -> None:
        self._entries = {entry.name: entry for entry in entries}

    def __getitem__(self, name: str) -> PluginEntry:
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)
