"""The plugins of a profile: each made once, found by its name or by extension point.

Upstream: pkg/scheduler/framework/runtime/framework.go (NewFramework).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar, cast

from ksched_cli.config.effective import Profile
from ksched_cli.framework.caller import PluginCaller
from ksched_cli.framework.carry_over import CarriesOver
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interface import Plugin
from ksched_cli.framework.registry import PluginEntry

P = TypeVar("P", bound=Plugin)


class ProfilePlugins:
    def __init__(
        self,
        profile: Profile,
        registry: Mapping[str, PluginEntry],
        handle: Handle,
        caller: PluginCaller,
    ) -> None:
        """Raises UsageError and PluginDefectError, see PluginCaller.make."""
        self._profile = profile
        self.by_name: dict[str, Plugin] = {}
        for refs in profile.plugins.values():
            for ref in refs:
                if ref.name not in self.by_name:
                    args = profile.args.get(ref.name)
                    self.by_name[ref.name] = caller.make(registry[ref.name], args, handle)

    def at(self, point: str, contract: type[P]) -> tuple[P, ...]:
        """Those of an extension point, in order. contract: what plugins of that point are"""
        refs = self._profile.plugins.get(point, ())
        return tuple(cast(P, self.by_name[ref.name]) for ref in refs)

    def carry_over(self, previous: ProfilePlugins) -> None:
        """Plugins that assumed something take it over from those of the same profile before."""
        for name, plugin in self.by_name.items():
            if isinstance(plugin, CarriesOver):
                plugin.carry_over(previous.by_name.get(name))
