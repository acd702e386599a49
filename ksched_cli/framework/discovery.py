"""Finds the plugins: the in-tree ones by an explicit list, the others by entry point.

Each foreign distribution is loaded in a guard of its own, so that a broken one is reported and the
rest still work.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import pluggy

from ksched_cli.errors import UsageError
from ksched_cli.framework.hookspecs import PROJECT, Hooks
from ksched_cli.framework.interface import points_of
from ksched_cli.framework.registry import PluginEntry, Registry


@dataclass(frozen=True, slots=True)
class Broken:
    """A distribution whose plugins could not be had, and why."""

    origin: str
    cause: str


@dataclass(frozen=True, slots=True)
class Discovery:
    registry: Registry
    broken: tuple[Broken, ...]


def discover(in_tree: Iterable[PluginEntry]) -> Discovery:
    """Raises UsageError where two sources bring a plugin of the same name."""
    entries = {entry.name: entry for entry in in_tree}
    broken: list[Broken] = []
    for point in entry_points(group=PROJECT):
        origin = _origin(point)
        try:
            found = _load(point)
        except Exception as error:
            broken.append(Broken(origin, f"{type(error).__name__}: {error}"))
            continue
        for name, factory in found.items():
            _add(entries, PluginEntry(name, points_of(factory), origin, factory))
    return Discovery(Registry(entries.values()), tuple(broken))


def _load(point: EntryPoint) -> Mapping[str, Any]:
    """What the hook of one entry point's module answers."""
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(Hooks)
    manager.register(point.load(), name=point.name)
    answers: list[Mapping[str, Any]] = manager.hook.ksched_plugins()
    return {name: factory for answer in answers for name, factory in answer.items()}


def _origin(point: EntryPoint) -> str:
    if point.dist is None:
        return point.value
    return f"{point.dist.name} {point.dist.version}"


def _add(entries: dict[str, PluginEntry], entry: PluginEntry) -> None:
    known = entries.get(entry.name)
    if known is not None:
        raise UsageError(
            f'two plugins are named "{entry.name}": one from {known.origin}, one from '
            f"{entry.origin}; uninstall one of them"
        )
    entries[entry.name] = entry
