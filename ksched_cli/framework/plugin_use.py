"""What pods use of their nodes, in figures of usage, where plugins say it and requests do not."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.caller import PluginCaller
from ksched_cli.framework.interface import CountsUsage
from ksched_cli.framework.runtime import Framework


class PluginUse:
    """Asks the plugins that extend CountsUsage, once for all pods that look the same.

    gpus: see ksched_cli.cluster.snapshot.PodUse
    """

    def __init__(self, plugins: Sequence[CountsUsage], caller: PluginCaller) -> None:
        self._plugins, self._caller = plugins, caller
        self.gpus: Collection[str] = frozenset(name for plugin in plugins for name in plugin.gpus)
        # By signature, with the requests of the pod: those of a resized pod are others.
        self._amounts: dict[int, tuple[Mapping[str, float], Mapping[str, float]]] = {}

    @classmethod
    def of(cls, frameworks: Iterable[Framework], caller: PluginCaller) -> PluginUse | None:
        """Return the rule of all profiles, each plugin once; None where pods use what they
        request."""
        plugins = {
            plugin.name: plugin
            for framework in frameworks
            for plugin in framework.plugins
            if isinstance(plugin, CountsUsage)
        }
        return cls(tuple(plugins.values()), caller) if plugins else None

    def __call__(self, pod: PodInfo) -> Mapping[str, float]:
        """Return what the pod uses, by resource, in the units of its requests."""
        requests = pod.resources.requests
        before, amounts = self._amounts.get(pod.signature, (None, requests))
        if before is not requests:
            for plugin in self._plugins:
                amounts = {**amounts, **self._caller.usage(plugin, pod)}
            self._amounts[pod.signature] = requests, amounts
        return amounts
