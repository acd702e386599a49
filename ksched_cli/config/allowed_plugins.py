"""Plugins of other builds, taken as there by their name and extension points, without their code.

`--allow-plugins` names them, a file of such names, or a comment in the configuration:
`# ksched: allow-plugins NAME, NAME=filter+score`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ksched_cli.config.checks.known_names import name_tables
from ksched_cli.config.effective import KnownPlugin, KnownPlugins, PluginTable
from ksched_cli.config.types import MULTI_POINT, SchedulerConfiguration, enabled_plugins
from ksched_cli.errors import UsageError
from ksched_cli.kube.documents import decode_text, read_file
from ksched_cli.kube.extension_points import POINT_KEYS
from ksched_cli.kube.field_errors import FieldError
from ksched_cli.kube.near_names import did_you_mean

_COMMENT = re.compile(
    r"(?:^|(?<=\s))#[ \t]*ksched:[ \t]*allow-plugins[ \t]+(?P<names>[^#\n]+)", re.M
)
_NAME = re.compile(r"[\w.-]+")


@dataclass(frozen=True, slots=True)
class AllowedPlugin:
    """points: the keys of its extension points, None where nobody says which."""

    name: str
    points: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class PluginWithoutCode:
    """A KnownPlugin without code."""

    name: str
    points: frozenset[str]
    origin: str = "allowed"
    enabled_by_default: bool = False
    is_off_at_reserve: bool = False
    default_weight: int | None = None
    in_tree_args: None = None

    def check_args(self, given: Any) -> Sequence[FieldError]:
        return ()


def parse_allowed(text: str) -> tuple[AllowedPlugin, ...]:
    """Parse `NAME,NAME=filter+score`; commas, spaces or lines separate. Raises UsageError."""
    lines = (line.partition("#")[0] for line in text.splitlines())
    return tuple(_parse(item) for line in lines for item in re.split(r"[,\s]+", line) if item)


def _parse(item: str) -> AllowedPlugin:
    name, sign, points = item.partition("=")
    if not _NAME.fullmatch(name):
        raise UsageError(f'--allow-plugins: "{item}" is not NAME or NAME=POINT+POINT')
    if not sign:
        return AllowedPlugin(name)
    keys = points.split("+")
    for key in keys:
        if key not in POINT_KEYS:
            hint = did_you_mean(key, POINT_KEYS) or f"the points are {', '.join(POINT_KEYS)}"
            problem = f'"{key}" of {name} is not an extension point; {hint}'
            raise UsageError(f"--allow-plugins: {problem}")
    return AllowedPlugin(name, frozenset(keys))


def read_allowed(values: Iterable[str]) -> tuple[AllowedPlugin, ...]:
    """Read every --allow-plugins: names, or a file of them. Raises KschedError."""
    plugins: list[AllowedPlugin] = []
    for value in values:
        if os.path.isfile(value):
            raw, name = read_file(value)
            plugins += parse_allowed(decode_text(raw, name))
        else:
            plugins += parse_allowed(value)
    return tuple(plugins)


def allowed_in(text: str) -> tuple[AllowedPlugin, ...]:
    """Return the plugins that the comments of a configuration's text allow. Raises UsageError."""
    if "ksched:" not in text:
        return ()
    return tuple(
        item for match in _COMMENT.finditer(text) for item in parse_allowed(match["names"])
    )


def with_allowed(
    registry: KnownPlugins, allowed: Iterable[AllowedPlugin], configuration: SchedulerConfiguration
) -> KnownPlugins:
    """Return the registry, and the allowed plugins that it lacks. A plugin without points has those
    that ksched knows of it, else those at which the configuration names it."""
    points: dict[str, set[str]] = {}
    for plugin in allowed:
        if plugin.name not in registry:
            points.setdefault(plugin.name, set()).update(plugin.points or ())
    if not points:
        return registry
    usual = name_tables().foreign_plugins
    named_at: dict[str, set[str]] = {}
    for _, point, entry in enabled_plugins(configuration):
        if point != MULTI_POINT:
            named_at.setdefault(entry.name, set()).add(point)
    plugins: dict[str, KnownPlugin] = {}
    for name, keys in points.items():
        every = keys or usual.get(name, frozenset()) | named_at.get(name, set())
        plugins[name] = PluginWithoutCode(name, frozenset(every))
    return PluginTable(registry.release, {**plugins, **registry})
