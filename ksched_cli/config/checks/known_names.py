"""Names that users bring, of other builds and other times, and what to say about them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TypeVar

import msgspec

T = TypeVar("T")


def read_table(module: str, cls: type[T]) -> T:
    """Return the file that has the module's name. module: its `__file__`"""
    import yaml  # which reading JSON need not wait for

    text = Path(module).with_suffix(".yaml").read_text("utf-8")
    return msgspec.convert(yaml.load(text, yaml.CSafeLoader), cls)


class NameTables(msgspec.Struct, frozen=True):
    """known_names.yaml, whose comments say what each table is.

    projects: per project and plugin, the extension points, separated by spaces
    """

    removed_plugins: Mapping[str, str]
    policy_names: Mapping[str, str]
    distributions: Mapping[str, str]
    legacy_keys: Mapping[str, str]
    misplaced_keys: Mapping[str, str]
    old_versions: Mapping[str, tuple[str, tuple[str, ...]]]
    other_kinds: Mapping[str, str]
    projects: Mapping[str, Mapping[str, str]]
    unsafe: Mapping[str, str]
    unmet: Mapping[str, str]

    def project_of(self, plugin: str) -> str:
        """Return the project that a plugin of another build comes with; "" for any other."""
        return next((name for name, own in self.projects.items() if plugin in own), "")

    @property
    def foreign_plugins(self) -> Mapping[str, frozenset[str]]:
        """Return the plugins of other builds, and the keys of the points that each extends
        there."""
        return {
            name: frozenset(points.split())
            for plugins in self.projects.values()
            for name, points in plugins.items()
        }


@cache
def name_tables() -> NameTables:
    return read_table(__file__, NameTables)
