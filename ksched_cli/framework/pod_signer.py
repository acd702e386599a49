"""Signatures of pods: pods of equal signature fit on the same nodes and get the same scores there.

Upstream: pkg/scheduler/framework/runtime/framework.go (computeBatchablePlugins, SignPod).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.caller import PluginCaller
from ksched_cli.framework.interface import Plugin, SignPlugin


class PodSigner:
    """Signs the pods of a profile whose PreFilter, Filter, PreScore and Score plugins all sign.

    Signatures are small integers; pods with the same manifest are signed once.
    """

    def __init__(self, plugins: Sequence[SignPlugin], caller: PluginCaller) -> None:
        self._plugins = tuple(plugins)
        self._caller = caller
        self._by_manifest: dict[int, int | None] = {}
        self._ids: dict[Hashable, int] = {}

    @classmethod
    def of(cls, plugins: Sequence[Plugin], caller: PluginCaller) -> PodSigner | None:
        """Return the signer; None where a plugin does not sign, or none of its pods."""
        signing = [plugin for plugin in plugins if isinstance(plugin, SignPlugin)]
        if len(signing) < len(plugins) or not all(p.signs_pods for p in signing):
            return None
        return cls(signing, caller)

    def sign(self, pod: PodInfo) -> int | None:
        """The pod's signature; None where a plugin refuses to sign it."""
        if pod.signature not in self._by_manifest:
            self._by_manifest[pod.signature] = self._signature(pod)
        return self._by_manifest[pod.signature]

    def _signature(self, pod: PodInfo) -> int | None:
        fragments: dict[str, Hashable] = {}
        for plugin in self._plugins:
            signed = self._caller.sign_pod(plugin, pod)
            if signed is None:
                return None
            fragments |= signed
        return self._ids.setdefault(tuple(sorted(fragments.items(), key=_key)), len(self._ids))


def _key(fragment: tuple[str, Hashable]) -> str:
    return fragment[0]
