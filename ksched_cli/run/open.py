"""Opening Runs: a Run becomes a simulation at one instant, or a replay over time.

This is the only way to a simulation. An opener is for the Runs of one question: states,
configurations and code that several of them have in common are read once.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct, field

from ksched_cli import program_name
from ksched_cli.cluster.loading.state_warnings import empty_state_error, skipped_warnings
from ksched_cli.config.defaults import profile_with_plugins
from ksched_cli.config.effective import Configuration
from ksched_cli.config.load import load_configuration, load_configuration_source
from ksched_cli.config.types import API_VERSION, KIND
from ksched_cli.errors import InputError, UsageError, ignore
from ksched_cli.framework.registry import PluginEntry, Registry
from ksched_cli.kube.formatting import json_text
from ksched_cli.kube.streams import STDIN_NAME
from ksched_cli.kube.versions import Release, inferred_release, release_of, unknown_minor_warning
from ksched_cli.plugins import kinds_read
from ksched_cli.run.plugins import discovered, in_release, usable
from ksched_cli.run.run import NEEDS_NO_TIMELINE, KubeconfigCluster, Run, as_json

if TYPE_CHECKING:
    from ksched_cli.cluster.state import ClusterState
    from ksched_cli.config.allowed_plugins import AllowedPlugin
    from ksched_cli.engine.engine import Options, Progress
    from ksched_cli.engine.replay.replay import OnInstant, OnLook, Replay
    from ksched_cli.engine.scheduling_cycle import Choose
    from ksched_cli.engine.simulation import Simulation
    from ksched_cli.run.inputs import Inputs
    from ksched_cli.scenario.node_groups import AutoscalerSettings
    from ksched_cli.scenario.prices import Prices
    from ksched_cli.scenario.timeline import Timeline

T = TypeVar("T")

# How many are remembered: states after changes are large, configurations are not.
CHANGED_STATES = 4
CONFIGURATIONS = 256

ReadLive = Callable[[KubeconfigCluster, frozenset[str]], "ClusterState"]


def no_live_cluster(cluster: KubeconfigCluster, kinds: frozenset[str]) -> ClusterState:
    """Return the reader of live clusters in a process that cannot read any."""
    raise UsageError(
        f"a live cluster cannot be read here: save it with `{program_name()} snapshot`"
    )


class Watch(Struct, frozen=True):
    """The observers of a run; they decide nothing.

    detailed:    keep every node's verdict and scores
    on_progress: called after each attempt of a simulation
    traces, keeps_records, on_instant, run_times, on_look: see ReplayOptions
    start, until: of a replay that begins now, whatever its timeline says; else None
    """

    detailed: bool = False
    on_progress: Progress | None = None
    traces: bool = False
    keeps_records: bool = False
    on_instant: OnInstant | None = None
    run_times: Mapping[str, int] = field(default_factory=dict)
    on_look: OnLook | None = None
    start: int | None = None
    until: str = ""


class Opener:
    """Opens Runs.

    runs:      all that will be opened, as far as they are known: a state that several share is
               read with the kinds that the plugins of any of them need
    reads:     kinds of custom objects that the question needs, besides those of plugins
    read_live: reads the cluster of a Run's `live`, with the kinds that its plugins need
    warn:      takes a line about what cannot be used but is not an error
    trace_calls: note which plugins are called about each pod
    choose:    chooses the nodes of pods in place of the configuration, see SchedulingCycle
    """

    def __init__(
        self,
        runs: Iterable[Run] = (),
        inputs: Inputs | None = None,
        *,
        reads: frozenset[str] = frozenset(),
        read_live: ReadLive = no_live_cluster,
        warn: Callable[[str], None] = ignore,
        trace_calls: bool = False,
        choose: Choose | None = None,
    ) -> None:
        self.runs = tuple(runs)
        self._inputs = inputs
        self._reads, self._read_live = reads, read_live
        self.warn = warn
        self._trace_calls = trace_calls
        self._choose = choose
        self._release: Release | None = None
        self._registries: dict[Hashable, Registry] = {}
        self._plugins: dict[tuple[str, ...], Registry] = {}
        self._states: dict[Hashable, ClusterState] = {}
        self._changed_states: OrderedDict[Hashable, ClusterState] = OrderedDict()
        self._configurations: OrderedDict[Hashable, Configuration] = OrderedDict()

    @property
    def inputs(self) -> Inputs:
        """Return the contents of the Runs' files."""
        if self._inputs is None:
            from ksched_cli.run.inputs import Inputs

            keeps_states = len({run.states for run in self.runs}) > 1
            self._inputs = Inputs(keeps_states=keeps_states)
        return self._inputs

    # -- plugins and release ----------------------------------------------------------------------

    def plugins(self, run: Run) -> Registry:
        """Return the plugins that load, independent of a release. Warns of installed ones that do
        not. Raises UsageError where one that the Run names does not."""
        if run.plugins not in self._plugins:
            classes = self._inputs.plugin_classes if self._inputs is not None else {}
            self._plugins[run.plugins] = usable(discovered(self._texts(run), classes), self.warn)
        return self._plugins[run.plugins]

    def _texts(self, run: Run) -> tuple[str, ...]:
        """Return the Run's plugins as they can be loaded in this process."""
        if self._inputs is None:
            return run.plugins
        return tuple(map(self._inputs.code_here, run.plugins))

    def release(self, run: Run) -> Release:
        """Return the release that the Run names, else that of its state's API server or newest
        kubelet. Warns where ksched does not know that. Raises KschedError."""
        if self._release is not None:
            return self._release
        if run.kubernetes_version:
            return release_of(
                run.kubernetes_version,
                run.feature_gates,
                compatibility=run.min_compatibility_version,
            )
        kubelets: set[str] = set()
        server = ""
        if run.states or run.live:
            # The release is settled before anything is scheduled.
            state = self._changed(run, at_once=True)
            kubelets = {node.status.node_info.kubelet_version for node in state.nodes}
            server = state.server_version
        gates = run.feature_gates, run.min_compatibility_version
        release = inferred_release(kubelets, *gates, server=server)
        if warning := unknown_minor_warning(release):
            self.warn(warning)
        return release

    def by(self, release: Release) -> Opener:
        """Return an Opener of the same Runs that has a release of its own decide all of them."""
        # States are shared, but for those that the release's own scheduler has rolled out.
        other, changed = copy(self), self._changed_states.items()
        vars(other).update(
            _release=release,
            _registries={},
            _configurations=OrderedDict(),
            _changed_states=OrderedDict(each for each in changed if not isinstance(each[0], str)),
        )
        return other

    def registry(self, run: Run) -> Registry:
        """Return the plugins of the Run's release. Raises KschedError."""
        release = self.release(run)
        named = (run.feature_gates, run.min_compatibility_version)
        key = (run.plugins, release.version, release.inferred, named)
        if key not in self._registries:
            self._registries[key] = in_release(self.plugins(run), release)
        return self._registries[key]

    # -- configuration ----------------------------------------------------------------------------

    def configuration(
        self, run: Run, allowed: tuple[AllowedPlugin, ...] | None = None
    ) -> Configuration:
        """Return the effective configuration: the Run's file, else the default one with the plugins
        that the Run names; then its patches.

        allowed: plugins of other builds that are accepted; None if the configuration will be run
        Raises InputError where it is unreadable or not valid, PatchError where a path leads nowhere
        """
        registry = self.registry(run)
        release = registry.release
        key = (
            run.configuration,
            run.plugins,
            release.version,
            release.inferred,
            run.feature_gates,
            run.min_compatibility_version,
            as_json(run.patches),
            allowed,
            _calls_extenders(run),
        )
        return _remembered(
            self._configurations,
            key,
            CONFIGURATIONS,
            lambda: self._load_configuration(run, registry, allowed),
        )

    def _load_configuration(
        self, run: Run, registry: Registry, allowed: tuple[AllowedPlugin, ...] | None
    ) -> Configuration:
        calls = _calls_extenders(run)
        if run.patches or (run.plugins and not run.configuration):
            name = run.configuration or "the default configuration"
            name += " with --plugin" if run.plugins and not run.configuration else ""
            if run.patches:
                values = (f"{patch.path}={json_text(patch.value)}" for patch in run.patches)
                name += f" with {', '.join(values)}"
            data = self.configuration_data(run)
            try:
                return load_configuration(
                    json_text(data), name, registry, allowed, calls_extenders=calls
                )
            except InputError as error:
                for each in (error, *error.others):  # of a text that nobody wrote
                    each.position = None
                raise error.with_others(error.others) from None
        if not run.configuration:
            return load_configuration(None, "", registry)
        source = self.inputs.configuration(run.configuration)
        return load_configuration_source(source, registry, allowed, calls_extenders=calls)

    def configuration_data(self, run: Run) -> Any:
        """Return the configuration after the Run's patches, as plain data. Plugins that the Run
        names join the default profile at every point they extend. Raises InputError, PatchError."""
        if run.configuration:
            data = self.inputs.configuration(run.configuration).data()
        else:
            texts = self._texts(run)
            registry = self.registry(run)
            joining: list[PluginEntry] = [
                entry for entry in registry.values() if entry.origin in texts
            ]
            profile = profile_with_plugins(joining) if joining else {}
            data = {"apiVersion": API_VERSION, "kind": KIND, **profile}
        from ksched_cli.run.patches import parse_path, patched

        for patch in run.patches:
            data = patched(data, parse_path(patch.path), patch.value)
        return data

    # -- state ------------------------------------------------------------------------------------

    def base_state(self, run: Run) -> ClusterState:
        """Return the state before any change, with the pods that workloads lack. Raises
        KschedError."""
        key = (run.states, run.live, run.workloads)
        if key not in self._states:
            reads = self.kinds(run)
            if run.live is not None:
                state = self._read_live(run.live, reads)
            else:
                state = self.inputs.load(run.states, reads)
            if run.workloads:
                makers = self.plugins(run).pod_makers
                state = replace(state, pod_makers=makers) if makers else state
            if run.workloads and (state.makes_pods or state.makes_claims):
                from ksched_cli.scenario.workloads import with_workloads

                state = with_workloads(state)
            self._states[key] = state
        return self._states[key]

    def forget(self, paths: tuple[str, ...]) -> None:
        """Drop a state that was given to the inputs, and what was made of it."""
        self.inputs.forget(paths)
        for cache in (self._states, self._changed_states):
            for key in [key for key in cache if isinstance(key, tuple) and key[0] == paths]:
                del cache[key]

    def kinds(self, run: Run) -> frozenset[str]:
        """The kinds of custom objects to keep: those that the question reads, and the plugins of
        any Run that shares the state."""
        sharing = [
            each for each in self.runs if each.states == run.states and each.live == run.live
        ]
        return self._reads.union(
            *(kinds_read(self.plugins(each), each.feature_gates) for each in (run, *sharing))
        )

    def state(self, run: Run) -> ClusterState:
        """Return the state after the Run's changes; its `changes` say what they did. Raises
        KschedError, also for a state without nodes, unless the Run allows that or something adds
        nodes."""
        state = self._changed(run)
        if not (state.nodes or self.base_state(run).nodes or run.timeline or run.autoscaler):
            _check_nodes(run, state)
        return state

    def _changed(self, run: Run, *, at_once: bool = False) -> ClusterState:
        """The same, with nodes or without. at_once: rollouts are one step, without the scheduler"""
        state = self.base_state(run)
        if not run.changes:
            return state
        from ksched_cli.run.rollout import rolling
        from ksched_cli.scenario.change import apply_changes
        from ksched_cli.scenario.rollout import rolls

        changes = self.inputs.changes(run)
        key: Hashable = (run.states, run.live, run.workloads, run.namespace, as_json(run.changes))
        roll = None
        if not at_once and any(map(rolls, changes)):
            # Steps of a rollout are placed by the Run's own scheduler.
            key = as_json(run)
            roll = rolling(lambda state: self.simulation(run, state=state), self.release(run))
        return _remembered(
            self._changed_states,
            key,
            CHANGED_STATES,
            lambda: apply_changes(
                state,
                changes,
                workloads=run.workloads,
                roll=roll,
                most_added=self.inputs.most_added,
            )[0],
        )

    # -- what answers -----------------------------------------------------------------------------

    def options(self, run: Run, watch: Watch | None = None) -> Options:
        """Return the engine's options. Raises UsageError for fields that contradict each other."""
        from ksched_cli.engine.engine import Options
        from ksched_cli.engine.extender_runner import ExtenderOptions
        from ksched_cli.engine.scheduling_cycle import RandomChoice, first_by_name

        run.check(NEEDS_NO_TIMELINE)
        watch = watch or Watch()
        replayed = run.replay_extenders and self.inputs.path_here(run.replay_extenders)
        extenders = ExtenderOptions(
            run.extenders, run.extender_bind, run.record_extenders, replayed, self.warn
        )
        return Options(
            tie_break=first_by_name if run.tie_break == "name" else RandomChoice(run.seed),
            detailed=watch.detailed,
            preempt=run.preemption,
            retries=run.retries,
            cache_answers=run.cache,
            on_progress=watch.on_progress,
            extenders=extenders,
            plugin_timeout=run.plugin_timeout,
            trace_calls=self._trace_calls,
            choose=self._choose,
            checks_trials=self._trace_calls,
        )

    def simulation(
        self, run: Run, watch: Watch | None = None, *, state: ClusterState | None = None
    ) -> Simulation:
        """Return the Run at one instant. A Run with a timeline is the cluster as its replay leaves
        it.

        state: to ask about instead, as where a question adds to the Run's own
        Raises KschedError
        """
        from ksched_cli.engine.simulation import Simulation

        options = self.options(run, watch)
        if state is None:
            state = self.final_state(run) if run.timeline else self.state(run)
        return Simulation(state, self.configuration(run), self.registry(run), options)

    def opened(self, run: Run) -> Simulation | Replay:
        """Return the Run over its timeline, else at one instant, not begun yet. Raises
        KschedError."""
        return self.replay(run) if run.timeline else self.simulation(run)

    def final_state(self, run: Run) -> ClusterState:
        """The cluster at the end of the Run's timeline. Raises KschedError."""
        replay = self.replay(run)
        replay.run()
        replay.cluster.engine.close()
        return replay.state()

    def prices(self, run: Run) -> Prices:
        """Return the prices of nodes. Raises KschedError."""
        from ksched_cli.scenario.prices import read_prices

        return read_prices(run.prices, self.inputs.path_here)

    def replay(self, run: Run, watch: Watch | None = None) -> Replay:
        """Return the Run over time, not begun yet. Raises KschedError."""
        from ksched_cli.scenario.timeline import NO_EVENTS, Timeline, read_timeline

        watch = watch or Watch()
        state, prices = self.state(run), self.prices(run)
        # A Run without a timeline has no events where the replay begins now.
        if run.timeline or watch.start is None:
            path, name = self.inputs.path_here(run.timeline), name_of(run.timeline)
            timeline = read_timeline(path, state, run.namespace, name, self.kinds(run), self.warn)
        else:
            timeline = Timeline("", NO_EVENTS, state)
        if watch.start is not None:
            timeline.start = watch.start
        until = watch.until or run.until
        if until:
            timeline.until = timeline.moment(until)
        scaling = self._autoscaler(run.autoscaler, state, prices) if run.autoscaler else None
        return self._replay(run, watch, timeline, scaling, prices)

    def until_scan(self, run: Run) -> Replay:
        """A Run at one instant, to be run until just before the first scan of its autoscaler that
        finds pods which were tried. Raises KschedError."""
        from ksched_cli.scenario.timeline import NO_EVENTS, Timeline

        state, prices = self.state(run), self.prices(run)
        scaling = self._autoscaler(run.autoscaler, state, prices)
        timeline = Timeline("", NO_EVENTS, state)
        timeline.until = scaling.scan_interval - 1
        return self._replay(run, Watch(), timeline, scaling, prices)

    def _autoscaler(self, path: str, state: ClusterState, prices: Prices) -> AutoscalerSettings:
        from ksched_cli.scenario.node_groups import read_autoscaler

        scaling = read_autoscaler(self.inputs.path_here(path), state, name_of(path))
        scaling.check_prices(prices)
        return scaling

    def _replay(
        self,
        run: Run,
        watch: Watch,
        timeline: Timeline,
        scaling: AutoscalerSettings | None,
        prices: Prices,
    ) -> Replay:
        from ksched_cli.cluster.loading.state_warnings import replayed_anew, unmet_warnings
        from ksched_cli.engine.replay.records import Recreation
        from ksched_cli.engine.replay.replay import Replay, ReplayOptions
        from ksched_cli.engine.replay.replay_cluster import ReplayCluster

        def on_end(replay: Replay) -> None:
            if not (replay.nodes.most or scaling or replay.is_interrupted):
                _check_nodes(run, state)

        options, state = self.options(run, watch), timeline.state
        looks: dict[str, Any] = {}
        if watch.on_look is not None:
            looks = {"looks": timeline.moments(run.regret_at), "on_look": watch.on_look}
        out_of_place = replayed_anew(state)
        joining = [group.template for group in scaling.groups] if scaling else []
        warnings = (
            *(line for line in state.warnings if line not in out_of_place),
            *unmet_warnings(state, joining),
            *unmet_warnings(state, joining, timeline.template_pods()),
        )
        state = replace(state, warnings=warnings)
        cluster = ReplayCluster(state, self.configuration(run), self.registry(run), options)
        return Replay(
            cluster,
            timeline.events(),
            ReplayOptions(
                timeline.start,
                timeline.until,
                makes_pods=run.workloads,
                evicts_at_once=run.evict_at_once,
                job_label=run.job_label,
                user_label=run.user_label,
                traces=watch.traces,
                keeps_records=watch.keeps_records,
                on_instant=watch.on_instant,
                on_end=on_end,
                autoscaler=scaling,
                prices=prices,
                recreation=Recreation(timeline.document.evicted),
                run_times=watch.run_times,
                **looks,
            ),
            share_read=timeline.share_read,
        )


def name_of(path: str) -> str:
    """Return the path of a file as messages and answers name it."""
    return STDIN_NAME if path == "-" else path


def _check_nodes(run: Run, state: ClusterState) -> None:
    """Where nothing adds nodes to a state that has none: raises UsageError, unless the Run allows
    that."""
    if not run.allow_empty_state:
        names = ", ".join(map(name_of, run.states)) or "the cluster"
        adds_none = (f"{name_of(run.timeline)} adds none",) if run.timeline else ()
        raise empty_state_error(names, *adds_none, *skipped_warnings(state.skipped))


def _calls_extenders(run: Run) -> bool:
    return run.extenders and not run.replay_extenders


def _remembered(
    cache: OrderedDict[Hashable, T], key: Hashable, size: int, make: Callable[[], T]
) -> T:
    """Return what the cache holds under the key, else what `make` returns. The entry unused for
    longest is dropped."""
    if key in cache:
        cache.move_to_end(key)
    else:
        cache[key] = make()
        if len(cache) > size:
            cache.popitem(last=False)
    return cache[key]
