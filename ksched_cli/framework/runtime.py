"""A profile at work: its plugins, made once, and the order in which each extension point runs them.

Upstream: pkg/scheduler/framework/runtime/framework.go (NewFramework and the Run… methods).
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.config.effective import Profile
from ksched_cli.errors import PluginDefectError, UsageError
from ksched_cli.framework.cache.answer_cache import AnswerCache, CacheEntry, keeps
from ksched_cli.framework.caller import PluginCaller, expect
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.filter_runner import FilterRunner
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interface import (
    BindPlugin,
    Explains,
    FilterPlugin,
    PermitPlugin,
    Plugin,
    PostBindPlugin,
    PostFilterPlugin,
    PostFilterResult,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterExtensions,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    QueuedPod,
    QueueSortPlugin,
    ReservePlugin,
    ScorePlugin,
)
from ksched_cli.framework.node_statuses import NodeStatuses
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.registry import PluginEntry
from ksched_cli.framework.score_runner import ScoreRunner
from ksched_cli.framework.status import SKIP, SUCCESS, Code, PluginError, Status

P = TypeVar("P", bound=Plugin)
T = TypeVar("T")

# Upstream: maxTimeout in runtime/framework.go.
MAX_PERMIT_SECONDS = 15 * 60.0


@dataclass(frozen=True, slots=True)
class PreFilterOutcome:
    """node_names: the only nodes left, None for all; narrowed_by: the plugins that chose them."""

    status: Status = SUCCESS
    node_names: frozenset[str] | None = None
    narrowed_by: tuple[str, ...] = ()


_PASSES = PreFilterOutcome()


@dataclass(frozen=True, slots=True)
class PermitOutcome:
    """waits: plugin → seconds, where a plugin asked the pod to wait."""

    status: Status = SUCCESS
    waits: Mapping[str, float] = field(default_factory=dict)


_PERMITTED = PermitOutcome()


class Framework:
    """One profile's plugins. `handle.framework` is this framework for them."""

    def __init__(
        self,
        profile: Profile,
        registry: Mapping[str, PluginEntry],
        handle: Handle,
        guard: PluginCaller,
    ) -> None:
        self.profile = profile
        self.handle = handle
        self.guard = guard
        self._made: dict[str, Plugin] = {}
        for refs in profile.plugins.values():
            for ref in refs:
                if ref.name not in self._made:
                    self._made[ref.name] = self._make(registry[ref.name])
        self._pre_filters = self._at("preFilter", PreFilterPlugin)
        self._post_filters = self._at("postFilter", PostFilterPlugin)
        self.queue_sort = self._at("queueSort", QueueSortPlugin)[0]
        self._pre_enqueues = self._at("preEnqueue", PreEnqueuePlugin)
        self._reserves = self._at("reserve", ReservePlugin)
        self._permits = self._at("permit", PermitPlugin)
        self._pre_binds = self._at("preBind", PreBindPlugin)
        self._binds = self._at("bind", BindPlugin)
        self._post_binds = self._at("postBind", PostBindPlugin)
        self._everything = Nodes(handle.snapshot)
        self.memory = AnswerCache(handle.snapshot)
        self.filtering = FilterRunner(
            self._at("filter", FilterPlugin),
            [p for p in self._pre_filters if isinstance(p, PreFilterExtensions)],
            handle.snapshot,
            handle.nominator,
            guard,
            self.memory,
        )
        self.scoring = ScoreRunner(
            self._at("preScore", PreScorePlugin),
            self._at("score", ScorePlugin),
            profile.weights,
            guard,
            self.memory,
        )
        handle.framework = self

    def _make(self, entry: PluginEntry) -> Plugin:
        """Raises UsageError where the plugin does not want to work with its args, PluginDefectError
        where it cannot be made."""
        if not entry.is_foreign:
            return cast(Plugin, entry.make(self.profile.args.get(entry.name), self.handle))
        self.guard.foreign.add(entry.name)
        said = f"{entry.name} ({entry.origin}) cannot be made"
        try:
            plugin: Plugin = entry.make(self.profile.args.get(entry.name), self.handle)
        except PluginError as refusal:
            raise UsageError(f"{said}: {refusal}") from None
        except Exception as defect:
            problem = f"{said}: {type(defect).__name__}: {defect}"
            raise PluginDefectError(problem, traceback.format_exc()) from defect
        self.guard.watch(plugin)
        return plugin

    def _at(self, point: str, contract: type[P]) -> tuple[P, ...]:
        refs = self.profile.plugins.get(point, ())
        return tuple(cast(P, self._made[ref.name]) for ref in refs)

    def plugin(self, name: str) -> Plugin | None:
        """A plugin of this profile, whatever its points."""
        return self._made.get(name)

    @property
    def has_post_filters(self) -> bool:
        return bool(self._post_filters)

    def _call(
        self, plugin: Plugin, point: str, method: Callable[..., Status], *given: Any
    ) -> Status:
        """A plugin's status, or an Error in its place where it has none."""
        try:
            if plugin.name not in self.guard.foreign:
                return method(*given)
            answer = self.guard.ask(plugin.name, self.handle.snapshot, method, *given)
            expect(answer, Status, method.__name__)
            return answer
        except PluginError as refusal:
            return Status.error(str(refusal))
        except Exception as defect:
            return Status.error(self.guard.note(plugin.name, point, defect))

    def _call_for(
        self,
        kind: type[T],
        plugin: Plugin,
        point: str,
        method: Callable[..., tuple[T | None, Status]],
        *given: Any,
    ) -> tuple[T | None, Status]:
        """A plugin's result with its status."""
        try:
            if plugin.name not in self.guard.foreign:
                return method(*given)
            answer = self.guard.ask(plugin.name, self.handle.snapshot, method, *given)
            expect(answer, tuple, method.__name__)
            result, status = answer
            if result is not None:
                expect(result, kind, f"{method.__name__}'s result")
            expect(status, Status, f"{method.__name__}'s status")
            return result, status
        except PluginError as refusal:
            return None, Status.error(str(refusal))
        except Exception as defect:
            return None, Status.error(self.guard.note(plugin.name, point, defect))

    def pre_enqueue(self, pod: PodInfo) -> Status:
        """The first plugin that holds the pod back, or success."""
        for plugin in self._pre_enqueues:
            status = self._call(plugin, "preEnqueue", plugin.pre_enqueue, pod)
            if status is not SUCCESS and not status.is_success:
                return status.by(plugin.name)
        return SUCCESS

    def pre_filter(
        self, state: CycleState, pod: PodInfo, known: CacheEntry | None = None
    ) -> PreFilterOutcome:
        """Upstream: RunPreFilterPlugins. A rejection that preemption might lift does not stop the
        others, because preemption needs what they prepare."""
        if known is None:
            return self._ask_pre_filters(self._pre_filters, state, pod)
        if known.pre_filters is None:
            self._settle_pre_filters(known, pod)
        if known.pre_filters:
            state.data.update(known.static_state.data)
            state.skip_filter.update(known.static_state.skip_filter)
            outcome = self._ask_pre_filters(known.pre_filters, state, pod)
            if outcome.status.is_success and outcome.node_names is None:
                return outcome
            # Who of the others had its turn before matters now: once more, in order.
            state.data.clear()
            state.skip_filter.clear()
        return self._ask_pre_filters(self._pre_filters, state, pod)

    def _settle_pre_filters(self, known: CacheEntry, pod: PodInfo) -> None:
        """Asks the plugins whose answers keep, once. No plugin to be asked means that one of these
        had more to say than yes."""
        kept = tuple(plugin for plugin in self._pre_filters if keeps(plugin, pod))
        outcome = self._ask_pre_filters(kept, known.static_state, pod)
        plain = outcome.status.is_success and outcome.node_names is None
        rest = (plugin for plugin in self._pre_filters if not keeps(plugin, pod))
        known.pre_filters = tuple(rest) if plain else ()

    def _ask_pre_filters(
        self, plugins: Sequence[PreFilterPlugin], state: CycleState, pod: PodInfo
    ) -> PreFilterOutcome:
        nodes = self._everything
        names: frozenset[str] | None = None
        narrowed: list[str] = []
        rejected: Status | None = None
        for plugin in plugins:
            result, status = self._call_for(
                PreFilterResult, plugin, "preFilter", plugin.pre_filter, state, pod, nodes
            )
            if status is SKIP or status.is_skip:
                state.skip_filter.add(plugin.name)
                continue
            if status.code == Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
                return PreFilterOutcome(status.by(plugin.name))
            if status.is_rejected:
                rejected = status.by(plugin.name)
                continue
            if not status.is_success:
                said = f'running PreFilter plugin "{plugin.name}": {status.message}'
                return PreFilterOutcome(Status.error(said).by(plugin.name))
            if result is not None and result.node_names is not None:
                narrowed.append(plugin.name)
                names = result.node_names if names is None else names & result.node_names
                if not names:
                    return PreFilterOutcome(_none_left(narrowed), names, tuple(sorted(narrowed)))
        if rejected is None and names is None:
            return _PASSES
        return PreFilterOutcome(rejected or SUCCESS, names, tuple(sorted(narrowed)))

    def post_filter(
        self, state: CycleState, pod: PodInfo, filtered: NodeStatuses
    ) -> tuple[PostFilterResult | None, Status]:
        """Upstream: RunPostFilterPlugins: until one helps, fails or says that nothing can help."""
        kept: PostFilterResult | None = None
        reasons: list[str] = []
        rejector = ""
        for plugin in self._post_filters:
            result, status = self._call_for(
                PostFilterResult, plugin, "postFilter", plugin.post_filter, state, pod, filtered
            )
            if status.is_success:
                return result, status
            if status.code == Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
                return result, status.by(plugin.name)
            if not status.is_rejected:
                return None, Status.error(status.message).by(plugin.name)
            if result is not None and result.nominated_node is not None:
                kept = result
            reasons += status.reasons
            rejector = rejector or plugin.name
        return kept, Status.unschedulable(*reasons).by(rejector)

    def reserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        """The first plugin that refuses, or success. The caller unreserves."""
        for plugin in self._reserves:
            status = self._call(plugin, "reserve", plugin.reserve, state, pod, node)
            if status is SUCCESS:
                continue
            if status.is_rejected:
                return status.by(plugin.name)
            if not status.is_success:
                return Status.error(f'running Reserve plugin "{plugin.name}": {status.message}')
        return SUCCESS

    def unreserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> None:
        """In the reverse order of `reserve`."""
        for plugin in reversed(self._reserves):
            try:
                self.guard.ask(
                    plugin.name, self.handle.snapshot, plugin.unreserve, state, pod, node
                )
            except Exception as defect:
                self.guard.note(plugin.name, "unreserve", defect)

    def permit(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> PermitOutcome:
        """A refusal ends it; otherwise Wait, where any plugin asked for it."""
        waits: dict[str, float] = {}
        for plugin in self._permits:
            status, seconds = self._permit(plugin, state, pod, node)
            if status.is_rejected:
                return PermitOutcome(status.by(plugin.name))
            if status.is_wait:
                waits[plugin.name] = min(max(seconds, 0.0), MAX_PERMIT_SECONDS)
            elif not status.is_success:
                said = f'running Permit plugin "{plugin.name}": {status.message}'
                return PermitOutcome(Status.error(said).by(plugin.name))
        if waits:
            said = f'one or more plugins asked to wait and no plugin rejected pod "{pod.name}"'
            return PermitOutcome(Status(Code.WAIT, (said,)), waits)
        return _PERMITTED

    def _permit(
        self, plugin: PermitPlugin, state: CycleState, pod: PodInfo, node: NodeInfo
    ) -> tuple[Status, float]:
        try:
            answer = self.guard.ask(
                plugin.name, self.handle.snapshot, plugin.permit, state, pod, node
            )
            expect(answer, tuple, "permit")
            status, seconds = answer
            expect(status, Status, "permit's status")
            return status, float(seconds)
        except PluginError as refusal:
            return Status.error(str(refusal)), 0.0
        except Exception as defect:
            return Status.error(self.guard.note(plugin.name, "permit", defect)), 0.0

    def pre_bind(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        for plugin in self._pre_binds:
            status = self._call(plugin, "preBind", plugin.pre_bind, state, pod, node)
            if status is SUCCESS:
                continue
            if status.is_rejected:
                return status.by(plugin.name)
            if not status.is_success:
                return Status.error(f'running PreBind plugin "{plugin.name}": {status.message}')
        return SUCCESS

    def bind(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        """The first plugin that does not leave it to the next one. Where all do, so does this:
        upstream takes that for a failure."""
        status = SUCCESS
        for plugin in self._binds:
            status = self._call(plugin, "bind", plugin.bind, state, pod, node)
            if status is SUCCESS or status.is_success:
                return status
            if status.is_rejected:
                return status.by(plugin.name)
            if not status.is_skip:
                return Status.error(f'running Bind plugin "{plugin.name}": {status.message}')
        return Status(status.code, status.reasons or ("no Bind plugin binds the pod",))

    def post_bind(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> None:
        """Tells every plugin; the pod is bound, whatever they do."""
        for plugin in self._post_binds:
            try:
                self.guard.ask(
                    plugin.name, self.handle.snapshot, plugin.post_bind, state, pod, node
                )
            except Exception as defect:
                self.guard.note(plugin.name, "postBind", defect)

    def details(self, plugin: Explains, point: str, *given: Any) -> tuple[str, ...]:
        """What a plugin adds to its answer at `point`, filter or score."""
        method = plugin.explain_filter if point == "filter" else plugin.explain_score
        try:
            return tuple(self.guard.ask(plugin.name, self.handle.snapshot, method, *given))
        except Exception as defect:
            return (self.guard.note(plugin.name, f"explain_{point}", defect),)

    def less(self, first: QueuedPod, second: QueuedPod) -> bool:
        """Whether `first` goes before `second`; a plugin that fails leaves them as they are."""
        try:
            return bool(self.queue_sort.less(first, second))
        except Exception as defect:
            self.guard.note(self.queue_sort.name, "queueSort", defect)
            return False


def _none_left(narrowed: list[str]) -> Status:
    names = sorted(narrowed)
    if len(names) == 1:
        return Status.unresolvable(f"node(s) didn't satisfy plugin {names[0]}")
    listed = "[" + " ".join(names) + "]"
    return Status.unresolvable(f"node(s) didn't satisfy plugin(s) {listed} simultaneously")
