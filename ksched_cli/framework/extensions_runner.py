"""Calls AddPod and RemovePod of PreFilter plugins, where a dry run adds a pod or removes one.

Upstream: pkg/scheduler/framework/runtime/framework.go (RunPreFilterExtensionAddPod,
RunPreFilterExtensionRemovePod).
"""

from __future__ import annotations

from collections.abc import Sequence

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.caller import PluginCaller
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.interface import PreFilterExtensions
from ksched_cli.framework.nodes import NodeInfo
from ksched_cli.framework.status import SUCCESS, Status


class ExtensionsRunner:
    """The PreFilter extensions of a profile, in order."""

    def __init__(
        self, pre_filter_extensions: Sequence[PreFilterExtensions], caller: PluginCaller
    ) -> None:
        self._pre_filter_extensions = tuple(pre_filter_extensions)
        self._caller = caller

    def has_extensions(self, state: CycleState) -> bool:
        """Whether any plugin has AddPod and RemovePod called."""
        return any(plugin.name not in state.skip_filter for plugin in self._pre_filter_extensions)

    def concerns(self, state: CycleState, pod: PodInfo, other: PodInfo) -> bool:
        """Whether AddPod and RemovePod have to be called for pods that look like `other`."""
        return any(
            plugin.name not in state.skip_filter
            and self._caller.concerns(plugin, state, pod, other)
            for plugin in self._pre_filter_extensions
        )

    def run_add_pod(
        self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo
    ) -> Status:
        """Calls AddPod of the plugins whose Filter takes part: `added` is now on `node`."""
        for plugin in self._pre_filter_extensions:
            if plugin.name not in state.skip_filter:
                status = self._caller.status(
                    plugin, "addPod", node.snapshot, plugin.add_pod, state, pod, added, node
                )
                if not status.is_success:
                    return _extension_error("AddPod", plugin, status)
        return SUCCESS

    def run_remove_pod(
        self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo
    ) -> Status:
        """Calls RemovePod of the plugins whose Filter takes part: `removed` has left `node`."""
        for plugin in self._pre_filter_extensions:
            if plugin.name not in state.skip_filter:
                status = self._caller.status(
                    plugin, "removePod", node.snapshot, plugin.remove_pod, state, pod, removed, node
                )
                if not status.is_success:
                    return _extension_error("RemovePod", plugin, status)
        return SUCCESS


def _extension_error(extension: str, plugin: PreFilterExtensions, status: Status) -> Status:
    message = f'running {extension} on PreFilter plugin "{plugin.name}": {status.message}'
    return Status.error(message)
