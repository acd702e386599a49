"""Runs the PreFilter plugins: what they leave of the nodes, or why none can take the pod.

Upstream: pkg/scheduler/framework/runtime/framework.go (RunPreFilterPlugins).
"""

from __future__ import annotations

from collections.abc import Sequence

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.framework.caller import PluginCaller
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.fit_error import no_common_node
from ksched_cli.framework.interface import PreFilterPlugin
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.results import PreFilterOutcome
from ksched_cli.framework.status import SKIP, SUCCESS, Code, Status

PASSES = PreFilterOutcome()


class PreFilterRunner:
    """The PreFilter plugins of a profile, in order."""

    def __init__(
        self, plugins: Sequence[PreFilterPlugin], snapshot: Snapshot, caller: PluginCaller
    ) -> None:
        self.plugins = tuple(plugins)
        self._all_nodes = Nodes(snapshot)
        self._caller = caller

    def run(
        self, state: CycleState, pod: PodInfo, plugins: Sequence[PreFilterPlugin] | None = None
    ) -> PreFilterOutcome:
        """A rejection that preemption might lift does not stop the
        others, because preemption needs what they prepare. plugins: by default all"""
        nodes = self._all_nodes
        names: frozenset[str] | None = None
        narrowed: list[str] = []
        rejected: Status | None = None
        for plugin in self.plugins if plugins is None else plugins:
            result, status = self._caller.pre_filter(plugin, state, pod, nodes)
            if status is SUCCESS and result is None:
                continue
            if status is SKIP or status.is_skip:
                state.skip_filter.add(plugin.name)
                continue
            # Preemption cannot lift this rejection: no other plugin is asked.
            if status.code == Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
                return PreFilterOutcome(status.by(plugin.name))
            if status.is_rejected:
                rejected = status.by(plugin.name)
                continue
            if not status.is_success:
                message = f'running PreFilter plugin "{plugin.name}": {status.message}'
                return PreFilterOutcome(Status.error(message).by(plugin.name))
            # Several plugins may name nodes; only those that all of them name remain.
            if result is not None and result.node_names is not None:
                narrowed.append(plugin.name)
                names = result.node_names if names is None else names & result.node_names
                if not names:
                    return PreFilterOutcome(
                        no_common_node(narrowed), names, tuple(sorted(narrowed))
                    )
        if rejected is None and names is None:
            return PASSES
        return PreFilterOutcome(rejected or SUCCESS, names, tuple(sorted(narrowed)))
