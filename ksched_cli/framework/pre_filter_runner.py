"""Runs the PreFilter plugins: what they leave of the nodes, or why none can take the pod.

Upstream: pkg/scheduler/framework/runtime/framework.go (RunPreFilterPlugins).
"""

from __future__ import annotations

from collections.abc import Sequence

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.framework.cache.answer_cache import CacheEntry
from ksched_cli.framework.caller import PluginCaller
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.fit_error import no_common_node
from ksched_cli.framework.interface import PreFilterPlugin, Scope
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.results import PreFilterOutcome
from ksched_cli.framework.status import SKIP, SUCCESS, Code, Status

_PASSES = PreFilterOutcome()


class PreFilterRunner:
    """The PreFilter plugins of a profile, in order."""

    def __init__(
        self, plugins: Sequence[PreFilterPlugin], snapshot: Snapshot, caller: PluginCaller
    ) -> None:
        self.plugins = tuple(plugins)
        self._all_nodes = Nodes(snapshot)
        self._caller = caller

    def run(
        self, state: CycleState, pod: PodInfo, entry: CacheEntry | None = None
    ) -> PreFilterOutcome:
        """A rejection that preemption might lift does not stop the
        others, because preemption needs what they prepare."""
        if entry is None:
            return self._run(self.plugins, state, pod)
        others = entry.pre_filters
        if others is None:
            others = entry.pre_filters = self._run_cacheable(entry, pod)
        static_outcome = entry.pre_filter_outcome
        if static_outcome is not None:
            state.data.update(entry.static_state.data)
            state.skip_filter.update(entry.static_state.skip_filter)
            outcome = self._run(others, state, pod)
            if outcome is _PASSES:
                return static_outcome
            if static_outcome is _PASSES and outcome.status.is_success:
                return outcome
            # Now it matters which of the others came before: run them all, in order.
            state.data.clear()
            state.skip_filter.clear()
        return self._run(self.plugins, state, pod)

    def _run_cacheable(self, entry: CacheEntry, pod: PodInfo) -> tuple[PreFilterPlugin, ...]:
        """Calls the plugins whose answers are cacheable, once; returns the others."""
        cacheable: list[PreFilterPlugin] = []
        others: list[PreFilterPlugin] = []
        for plugin in self.plugins:
            (cacheable if self._caller.is_cacheable(plugin, pod) else others).append(plugin)
        outcome = self._run(cacheable, entry.static_state, pod)
        # Which nodes a ROW plugin leaves may change with every pod.
        is_cacheable = outcome.status.is_success and not any(
            plugin.name in outcome.narrowed_by
            and self._caller.scope_for(plugin, pod) is not Scope.NODE
            for plugin in cacheable
        )
        entry.pre_filter_outcome = outcome if is_cacheable else None
        return tuple(others)

    def _run(
        self, plugins: Sequence[PreFilterPlugin], state: CycleState, pod: PodInfo
    ) -> PreFilterOutcome:
        nodes = self._all_nodes
        names: frozenset[str] | None = None
        narrowed: list[str] = []
        rejected: Status | None = None
        for plugin in plugins:
            result, status = self._caller.pre_filter(plugin, state, pod, nodes)
            if status is SUCCESS and result is None:
                continue
            if status is SKIP or status.is_skip:
                state.skip_filter.add(plugin.name)
                continue
            if status.code == Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
                return PreFilterOutcome(status.by(plugin.name))
            if status.is_rejected:
                rejected = status.by(plugin.name)
                continue
            if not status.is_success:
                message = f'running PreFilter plugin "{plugin.name}": {status.message}'
                return PreFilterOutcome(Status.error(message).by(plugin.name))
            if result is not None and result.node_names is not None:
                narrowed.append(plugin.name)
                names = result.node_names if names is None else names & result.node_names
                if not names:
                    return PreFilterOutcome(
                        no_common_node(narrowed), names, tuple(sorted(narrowed))
                    )
        if rejected is None and names is None:
            return _PASSES
        return PreFilterOutcome(rejected or SUCCESS, names, tuple(sorted(narrowed)))
