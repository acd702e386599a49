"""The defaults of the versions before v1, and how they merged a file with them.

Each is that of the last release that reads it; old_versions.yaml has them.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from ksched_cli.config.allowed_plugins import NamedPlugins, PluginWithoutCode
from ksched_cli.config.effective import KnownPlugin, KnownPlugins
from ksched_cli.config.tables import read_table


class OldVersion(msgspec.Struct, frozen=True):
    """default_points: plugin name → the points at which it runs by default, in the order of the
    plugins; default_weights: other than 1; points: of every plugin, all that it extends;
    replaces_defaults: a default plugin that the file enables is set anew, not there twice;
    unread_points: keys that the version took and did not mind
    """

    name: str
    release: str
    default_points: Mapping[str, tuple[str, ...]]
    default_weights: Mapping[str, int]
    points: Mapping[str, tuple[str, ...]]
    has_multi_point: bool = False
    replaces_defaults: bool = True
    unread_points: tuple[str, ...] = ()

    def plugins(self, registry: KnownPlugins) -> NamedPlugins:
        """The in-tree plugins of this version, and those of other builds that the registry has."""
        foreign = {
            name: plugin
            for name, plugin in registry.items()
            if plugin.origin != "in-tree" and name not in self.points
        }
        in_tree: dict[str, KnownPlugin] = {
            name: PluginWithoutCode(
                name,
                frozenset(points),
                enabled_by_default=name in self.default_points,
                default_weight=self.default_weights.get(name),
            )
            for name, points in self.points.items()
        }
        return NamedPlugins(registry.release, {**in_tree, **foreign})


class _Tables(msgspec.Struct, frozen=True):
    versions: tuple[OldVersion, ...]


OLD_VERSIONS: Mapping[str, OldVersion] = {
    version.name: version for version in read_table(__file__, _Tables).versions
}
# A Policy file, as the same release read it: its plugins are v1beta1's.
POLICY = OLD_VERSIONS["v1beta1"]
