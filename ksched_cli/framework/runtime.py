"""A profile's plugins, created once, and the order in which each extension point runs them.

Pods of equal signature fit on the same nodes and get the same scores there (PodSigner).
Upstream: pkg/scheduler/framework/runtime/framework.go (NewFramework and the Run… methods, those of
pod groups too, computeBatchablePlugins, SignPod).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import TypeAlias, TypeVar, cast

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Rows
from ksched_cli.config.effective import Profile
from ksched_cli.framework.cache.answer_cache import AnswerCache
from ksched_cli.framework.caller import PluginCaller
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.in_tree_interface import (
    GroupPreemptionPlugin,
    JudgesResizes,
    RankedNodes,
    RankNodesPlugin,
)
from ksched_cli.framework.interface import (
    MAX_NODE_SCORE,
    MIN_NODE_SCORE,
    BindPlugin,
    Explains,
    FilterPlugin,
    PermitPlugin,
    PlacementFeasiblePlugin,
    PlacementGeneratePlugin,
    PlacementProgress,
    PlacementScorePlugin,
    Plugin,
    PodGroupPostFilterPlugin,
    PostBindPlugin,
    PostFilterPlugin,
    PostFilterResult,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterExtensions,
    PreFilterPlugin,
    PreScorePlugin,
    QueuedPod,
    QueueSortPlugin,
    ReservePlugin,
    ScorePlugin,
    SignPlugin,
    SortsByKey,
    TimesRuns,
)
from ksched_cli.framework.node_statuses import NodeStatuses
from ksched_cli.framework.nodes import NodeInfo
from ksched_cli.framework.plugins_runner import R
from ksched_cli.framework.pod_groups import (
    GroupKey,
    GroupRoom,
    Placement,
    PodGroup,
    RejectedGroup,
)
from ksched_cli.framework.registry import PluginEntry
from ksched_cli.framework.runners import FilterRunner, PreFilterRunner
from ksched_cli.framework.score_runner import ScoreRunner
from ksched_cli.framework.status import SUCCESS, Code, PluginError, Status
from ksched_cli.kube.formatting import quote
from ksched_cli.kube.versions import Release


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
        """Return the signer, or None where a plugin does not sign, or none of its pods."""
        signing = [plugin for plugin in plugins if isinstance(plugin, SignPlugin)]
        if len(signing) < len(plugins) or not all(p.signs_pods for p in signing):
            return None
        return cls(signing, caller)

    def sign(self, pod: PodInfo) -> int | None:
        """Return the pod's signature, or None where a plugin refuses to sign it."""
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
        by_name = tuple(sorted(fragments.items(), key=itemgetter(0)))
        return self._ids.setdefault(by_name, len(self._ids))


NO_PLACEMENTS = Status.unschedulable("no feasible placements found")
NO_MERGED_PLACEMENTS = Status.unschedulable("no feasible merged placements found")
# Between the names of placements that are combined. Upstream: placementNameSeparator.
SEPARATOR = "/"


class PodGroupPlugins:
    """preemption: the plugin that makes room in minors whose queue has no groups, at whatever
    point it is enabled, or None"""

    def __init__(
        self,
        profile: Profile,
        plugin: Callable[[str], Plugin | None],
        caller: PluginCaller,
        release: Release,
    ) -> None:
        """Collect the plugins that a group's placements need. plugin: returns the profile's plugin
        of a name"""
        self._caller = caller
        by_point = {
            point: [plugin(ref.name) for ref in refs] for point, refs in profile.plugins.items()
        }
        generators = by_point.get("placementGenerate", ())
        self._generators = [p for p in generators if isinstance(p, PlacementGeneratePlugin)]
        self._merges = release.rules.merges_placements
        self._scorers = [
            (ref.name, scorer)
            for ref in profile.plugins.get("placementScore", ())
            if isinstance(scorer := plugin(ref.name), PlacementScorePlugin)
        ]
        self._weights = profile.placement_weights
        enabled = [p for plugins in by_point.values() for p in plugins]
        self.preemption = next((p for p in enabled if isinstance(p, GroupPreemptionPlugin)), None)
        # Before 1.38 GangScheduling alone, wherever it is enabled.
        judges = by_point.get("placementFeasible", ())
        if not release.rules.tells_feasible_placements:
            judges = [p for p in enabled if p is not None and p.name not in caller.foreign]
        feasible = [p for p in judges if isinstance(p, PlacementFeasiblePlugin)]
        self._feasible = tuple(dict.fromkeys(feasible))
        self._rankers = list(dict.fromkeys(p for p in enabled if isinstance(p, RankNodesPlugin)))
        post_filters = by_point.get("podGroupPostFilter", ())
        self._post_filters = [p for p in post_filters if isinstance(p, PodGroupPostFilterPlugin)]

    def generate(self, key: GroupKey, parent: Placement) -> tuple[Sequence[Placement], Status]:
        """Return the placements to try; all nodes where no plugin divides them."""
        if not self._generators:
            return (parent,), SUCCESS
        merged: Sequence[Placement] | None = None
        for plugin in self._generators if self._merges else self._generators[:1]:
            # Each plugin is given nodes of its own, by which those that it leaves whole are told.
            given = Placement(parent.name, parent.rows)
            placements, status = self._caller.generate_placements(plugin, key, given)
            if not status.is_success:
                return (), status
            if not placements:
                return (), NO_PLACEMENTS
            if self._merges and (problem := _bad_name(placements)):
                return (), Status.error(problem)
            if len(placements) == 1 and placements[0] is given:
                continue
            merged = placements if merged is None else _merged(merged, placements)
            if not merged:
                return (), NO_MERGED_PLACEMENTS
        return (parent,) if merged is None else merged, SUCCESS

    def feasible(self, group: PodGroup, progress: PlacementProgress) -> Status:
        """Return whether enough pods have a node. Upstream: RunPlacementFeasiblePlugins."""
        verdict = SUCCESS
        for plugin in self._feasible:
            status = self._caller.placement_feasible(plugin, group, progress)
            if status.is_success:
                continue
            if status.is_wait:
                verdict = status
            elif status.code == Code.UNSCHEDULABLE:
                return status
            elif status.code == Code.ERROR:
                return Status.error(f"running PlacementFeasible plugin: {status.message}")
            else:
                unexpected = f"unexpected status code ({status.code.text})"
                return Status.error(f"{unexpected} from PlacementFeasible plugin: {status.message}")
        return verdict

    @property
    def score(self) -> bool:
        """Return whether any plugin scores placements."""
        return bool(self._scorers)

    def rank(self, state: CycleState, pod: PodInfo, rows: Rows) -> RankedNodes | None:
        """Return the ranks of the first plugin that has an opinion. Raises PluginError. Upstream:
        RunRankNodesPlugins."""
        for plugin in self._rankers:
            ranked = self._caller.rank_nodes(plugin, state, pod, rows)
            if ranked is not None:
                return ranked
        return None

    def post_filter(self, rejected: RejectedGroup) -> tuple[Status, GroupRoom]:
        """Run PodGroupPostFilter until a plugin helps, fails or says that nothing can help.
        Upstream: RunPodGroupPostFilterPlugins."""
        reasons: list[str] = []
        afterwards: tuple[Callable[[], None], ...] = ()
        for plugin in self._post_filters:
            status, room = self._caller.pod_group_post_filter(plugin, rejected)
            afterwards += room.afterwards
            if status.is_success or status.code == Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
                return status, replace(room, afterwards=afterwards)
            if status.code != Code.UNSCHEDULABLE:
                what = f'error in "{plugin.name}" PodGroupPostFilter plugins: {status.message}'
                return Status.error(what), GroupRoom(afterwards=afterwards)
            reasons += status.reasons
        return Status(Code.UNSCHEDULABLE, tuple(reasons)), GroupRoom(afterwards=afterwards)

    def best(self, key: GroupKey, candidates: Sequence[tuple[Placement, Sequence[PodInfo]]]) -> int:
        """Return the index of the placement with the highest total, of several the first. Raises
        PluginError."""
        totals = [0] * len(candidates)
        for name, plugin in self._scorers:
            scores = self._caller.score_placements(plugin, key, candidates)
            for index, score in enumerate(scores):
                if not MIN_NODE_SCORE <= score <= MAX_NODE_SCORE:
                    bounds = f"[{MIN_NODE_SCORE}, {MAX_NODE_SCORE}]"
                    raise PluginError(
                        "applying score defaultWeights on PlacementScore plugins: plugin"
                        f' "{name}" returns an invalid score {score}, it should in the range of'
                        f" {bounds} after normalizing"
                    )
                totals[index] += score * self._weights[name]
        return totals.index(max(totals))


def _bad_name(placements: Sequence[Placement]) -> str:
    """Return what is wrong with the name of a placement, or "". Upstream:
    validatePlacementNames."""
    names: set[str] = set()
    for placement in placements:
        name = quote(placement.name)
        if SEPARATOR in placement.name:
            return f"placement name {name} must not contain {quote(SEPARATOR)}"
        if placement.name in names:
            return f"plugin returned duplicate placement name {name}"
        names.add(placement.name)
    return ""


def _merged(first: Sequence[Placement], second: Sequence[Placement]) -> Sequence[Placement]:
    """Combine placements, as far as they have nodes in common. Upstream: mergePlacements."""
    pairs = [(a, b, a.rows[np.isin(a.rows, b.rows)]) for a in first for b in second]
    return [Placement(f"{a.name}{SEPARATOR}{b.name}", rows) for a, b, rows in pairs if len(rows)]


P = TypeVar("P", bound=Plugin)


class ProfilePlugins:
    def __init__(
        self,
        profile: Profile,
        registry: Mapping[str, PluginEntry],
        handle: Handle,
        caller: PluginCaller,
    ) -> None:
        """Create the plugins that the profile names. Raises UsageError and PluginDefectError as
        PluginCaller.make does."""
        self._profile = profile
        self._caller = caller
        self.by_name: dict[str, Plugin] = {}
        for refs in profile.plugins.values():
            for ref in refs:
                if ref.name not in self.by_name:
                    args = profile.args.get(ref.name)
                    self.by_name[ref.name] = caller.make(registry[ref.name], args, handle)

    def at(self, point: str, contract: type[P]) -> tuple[P, ...]:
        """Return those of an extension point, in order. contract: what plugins of that point are"""
        refs = self._profile.plugins.get(point, ())
        return tuple(cast(P, self.by_name[ref.name]) for ref in refs)

    def carry_over(self, previous: ProfilePlugins) -> None:
        """Let plugins take over what those of the same profile before have assumed."""
        for name, plugin in self.by_name.items():
            # Python 3.11 takes 20 µs to ask a class whether it follows a protocol.
            if hasattr(plugin, "carry_over"):
                self._caller.tell(plugin, "carry_over", previous.by_name.get(name))


# Reserve or PreBind of one plugin; and the plugin's name, where it needs no call once PreFilter has
# skipped the pod, else "".
NodeMethod: TypeAlias = Callable[[CycleState, PodInfo, NodeInfo], Status]
NodeCall: TypeAlias = tuple[Plugin, NodeMethod, str]
SortKey: TypeAlias = Callable[[QueuedPod], tuple[float, ...]]

# Upstream: maxTimeout in runtime/framework.go.
MAX_PERMIT_SECONDS = 15 * 60.0


class PermitOutcome(Struct, frozen=True):
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
        caller: PluginCaller,
    ) -> None:
        """Create the profile's plugins and sort them by point. Raises UsageError and
        PluginDefectError as PluginCaller.make does."""
        self.profile = profile
        self.handle = handle
        self.caller = caller
        self._snapshot = handle.snapshot
        self._own = plugins = ProfilePlugins(profile, registry, handle, caller)
        self.queue_sort = plugins.at("queueSort", QueueSortPlugin)[0]
        # The queue sorts by this key; None means that it calls the plugin's own comparison.
        self.sort_key: SortKey | None = None
        if isinstance(self.queue_sort, SortsByKey) and self.queue_sort.name not in caller.foreign:
            self.sort_key = self.queue_sort.key
        self._pre_enqueues = plugins.at("preEnqueue", PreEnqueuePlugin)
        self._post_filters = plugins.at("postFilter", PostFilterPlugin)
        self._reserves = plugins.at("reserve", ReservePlugin)
        self._reserve_calls = self._node_calls((p, p.reserve) for p in self._reserves)
        self._permits = plugins.at("permit", PermitPlugin)
        pre_binds = plugins.at("preBind", PreBindPlugin)
        self._pre_flights = self._node_calls(
            (p, p.pre_bind_pre_flight)
            for p in pre_binds
            if type(p).pre_bind_pre_flight is not PreBindPlugin.pre_bind_pre_flight
            and handle.release.enabled("NominatedNodeNameForExpectation")
        )
        self._pre_bind_calls = self._node_calls((p, p.pre_bind) for p in pre_binds)
        self._binds = plugins.at("bind", BindPlugin)
        self._post_binds = plugins.at("postBind", PostBindPlugin)
        self.answer_cache = AnswerCache(handle.snapshot)
        self.answer_cache.by_shape = caller.foreign.isdisjoint(plugins.by_name)
        pre_filters = plugins.at("preFilter", PreFilterPlugin)
        filters = plugins.at("filter", FilterPlugin)
        idle_for_resizes = {
            plugin.name
            for plugin in (*pre_filters, *filters)
            if plugin.name not in caller.foreign and not isinstance(plugin, JudgesResizes)
        }
        self.pre_filtering = PreFilterRunner(pre_filters, self._snapshot, caller, idle_for_resizes)
        extensions = [p for p in pre_filters if isinstance(p, PreFilterExtensions)]
        self.filtering = FilterRunner(
            filters, extensions, handle.nominator, caller, self.answer_cache
        )
        self.scoring = ScoreRunner(
            plugins.at("preScore", PreScorePlugin),
            plugins.at("score", ScorePlugin),
            profile.weights,
            caller,
            self.answer_cache,
        )
        # Whether only plugins of ksched itself decide that a pod fits nowhere.
        rejecting = (
            *self._pre_enqueues,
            *self.pre_filtering.plugins,
            *self.filtering.plugins,
            *self._post_filters,
        )
        self.rejects_in_tree = not any(p.name in caller.foreign for p in rejecting)
        self.clears_nomination = handle.release.rules.clears_nomination
        # Pods are batched by what these plugins sign. Upstream: computeBatchablePlugins.
        self.signer: PodSigner | None = None
        if not handle.extenders and handle.release.enabled("OpportunisticBatching"):
            points = ("preFilter", "filter", "preScore", "score")
            signing = dict.fromkeys(plugin for at in points for plugin in plugins.at(at, Plugin))
            self.signer = PodSigner.of(list(signing), caller)
        self.run_times = tuple(p for p in self.plugins if isinstance(p, TimesRuns))
        handle.framework = self

    def _node_calls(self, methods: Iterable[tuple[Plugin, NodeMethod]]) -> tuple[NodeCall, ...]:
        calls = []
        for plugin, method in methods:
            is_in_tree = plugin.name not in self.caller.foreign
            is_idle = isinstance(plugin, PreFilterPlugin) and plugin.idle_after_skip
            calls.append((plugin, method, plugin.name if is_in_tree and is_idle else ""))
        return tuple(calls)

    def plugin(self, name: str) -> Plugin | None:
        """Return a plugin of this profile, whatever its points."""
        return self._own.by_name.get(name)

    @property
    def plugins(self) -> tuple[Plugin, ...]:
        """Return all of this profile."""
        return tuple(self._own.by_name.values())

    def runtime(self, pod: PodInfo, node: NodeInfo, runs_for: float | None) -> float | None:
        """Return how long the pod runs on the node, in seconds, as the plugins say; see
        TimesRuns."""
        for plugin in self.run_times:
            runs_for = self.caller.runtime(plugin, pod, node, runs_for)
        return runs_for

    def carry_over(self, previous: Framework) -> None:
        """See ProfilePlugins.carry_over."""
        self._own.carry_over(previous._own)

    @property
    def has_post_filters(self) -> bool:
        return bool(self._post_filters)

    def pre_enqueue(self, pod: PodInfo) -> Status:
        """Return the first plugin that holds the pod back, or success."""
        for plugin in self._pre_enqueues:
            status = self.caller.status(
                plugin, "preEnqueue", self._snapshot, plugin.pre_enqueue, pod
            )
            if status is not SUCCESS and not status.is_success:
                return status.by(plugin.name)
        return SUCCESS

    def post_filter(
        self, state: CycleState, pod: PodInfo, filtered: NodeStatuses
    ) -> tuple[PostFilterResult | None, Status]:
        """Run PostFilter until one plugin helps, fails or declares that nothing can help. Upstream:
        RunPostFilterPlugins."""
        nomination: PostFilterResult | None = None
        reasons: list[str] = []
        rejector = ""
        for plugin in self._post_filters:
            result, status = self.caller.post_filter(plugin, state, pod, filtered)
            if status.is_success:
                return result, status
            if status.code == Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
                return result, status.by(plugin.name)
            if not status.is_rejected:
                return None, Status.error(status.message).by(plugin.name)
            if result is not None and result.nominated_node is not None:
                nomination = result
            reasons += status.reasons
            rejector = rejector or plugin.name
        return nomination, Status.unschedulable(*reasons).by(rejector)

    def reserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        """Return the first plugin that refuses, or success. It is for the caller to unreserve."""
        return self._run_in_order("reserve", "Reserve", self._reserve_calls, state, pod, node)

    def pre_bind(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        """Return the first plugin that refuses, or success. Upstream: RunPreBindPreFlights,
        RunPreBindPlugins."""
        calls = self._pre_bind_calls
        skipping: set[Plugin] = set()
        for plugin, method, _ in self._pre_flights:
            status = self.caller.status(
                plugin, "preBindPreFlight", self._snapshot, method, state, pod, node
            )
            if status.is_skip:
                skipping.add(plugin)
            elif status.code == Code.ERROR:
                what = f'running PreBindPreFlight "{plugin.name}"'
                return Status.error(f"{what}: {status.message}")
            elif not status.is_success:
                returned = f"PreBindPreFlight {plugin.name} returned {quote(status.code.text)}"
                return Status.error(
                    f"{returned}, which is unsupported. It is supposed to return Success, Skip, or"
                    " Error status"
                )
        if skipping:
            calls = tuple(call for call in calls if call[0] not in skipping)
        return self._run_in_order("preBind", "PreBind", calls, state, pod, node)

    def _run_in_order(
        self,
        point: str,
        upstream_name: str,
        calls: Sequence[NodeCall],
        state: CycleState,
        pod: PodInfo,
        node: NodeInfo,
    ) -> Status:
        """Return the first status that is not success, or success. Upstream:
        RunReservePluginsReserve, RunPreBindPlugins."""
        skipped = state.skip_filter
        for plugin, method, idle_name in calls:
            if idle_name in skipped:
                continue
            status = self.caller.status(plugin, point, self._snapshot, method, state, pod, node)
            if status is SUCCESS:
                continue
            if status.is_rejected:
                return status.by(plugin.name)
            if not status.is_success:
                message = f'running {upstream_name} plugin "{plugin.name}": {status.message}'
                return Status.error(message)
        return SUCCESS

    def unreserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> None:
        """Unreserve in the reverse order of `reserve`."""
        for plugin in reversed(self._reserves):
            self.caller.notify(
                plugin, "unreserve", self._snapshot, plugin.unreserve, state, pod, node
            )

    def permit(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> PermitOutcome:
        """Run Permit. A refusal ends it; otherwise it returns Wait, where any plugin asked for
        it."""
        if not self._permits:
            return _PERMITTED
        waits: dict[str, float] = {}
        reasons: tuple[str, ...] = ()
        for plugin in self._permits:
            status, seconds = self.caller.permit(plugin, state, pod, node)
            if status.is_rejected:
                return PermitOutcome(status.by(plugin.name))
            if status.is_wait:
                waits[plugin.name] = min(max(seconds, 0.0), MAX_PERMIT_SECONDS)
                reasons = status.reasons
            elif not status.is_success:
                message = f'running Permit plugin "{plugin.name}": {status.message}'
                return PermitOutcome(Status.error(message).by(plugin.name))
        if waits:
            message = "one or more plugins asked to wait and no plugin rejected pod"
            if self.handle.release.rules.tells_why_pods_wait:
                return PermitOutcome(Status(Code.WAIT, (*reasons, message)), waits)
            return PermitOutcome(Status(Code.WAIT, (f'{message} "{pod.name}"',)), waits)
        return _PERMITTED

    def bind(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        """Return the first plugin that does not skip. Skip where all do, which upstream takes for a
        failure."""
        status = SUCCESS
        for plugin in self._binds:
            status = self.caller.status(
                plugin, "bind", self._snapshot, plugin.bind, state, pod, node
            )
            if status is SUCCESS or status.is_success:
                return status
            if status.is_rejected:
                return status.by(plugin.name)
            if not status.is_skip:
                return Status.error(f'running Bind plugin "{plugin.name}": {status.message}')
        return Status(status.code, status.reasons or ("no Bind plugin binds the pod",))

    def post_bind(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> None:
        """Call every plugin; the pod is bound, whatever they do."""
        for plugin in self._post_binds:
            self.caller.notify(
                plugin, "postBind", self._snapshot, plugin.post_bind, state, pod, node
            )

    def less(self, first: QueuedPod, second: QueuedPod) -> bool:
        """Return whether `first` comes before `second`; a plugin that fails leaves them as they
        are."""
        return self.caller.less(self.queue_sort, first, second)

    # -- for the plugins themselves, see PluginsRunner --------------------------------------------

    def details(
        self, plugin: Explains, point: str, state: CycleState, pod: PodInfo, node: NodeInfo
    ) -> tuple[str, ...]:
        """Return what a plugin adds to its answer at `point`, filter or score."""
        return self.caller.explain(plugin, point, state, pod, node)

    def explain_rejection(
        self, plugin: str, state: CycleState, pod: PodInfo, node: NodeInfo
    ) -> tuple[str, ...]:
        """Return the lines that a plugin adds to its rejection of a node."""
        explainer = self.plugin(plugin)
        if not isinstance(explainer, Explains):
            return ()
        return self.caller.explain(explainer, "filter", state, pod, node)

    def dry_runs(self, pod: PodInfo, factory: Callable[[], R]) -> R | None:
        """See AnswerCache.dry_runs."""
        return self.answer_cache.dry_runs(pod, factory)
