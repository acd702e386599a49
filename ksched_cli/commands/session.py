"""The way from options to plugins, a configuration, and a simulation that answers questions.

What loads NumPy is imported where it is used: `validate` and `config` come here too.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from ksched_cli.commands.output import note, set_release, warn
from ksched_cli.config.defaults import profile_with_plugins
from ksched_cli.config.effective import Configuration
from ksched_cli.config.load import load_configuration
from ksched_cli.config.types import API_VERSION, KIND
from ksched_cli.errors import PluginDefectError, UsageError
from ksched_cli.framework.discovery import Broken, Discovery, discover
from ksched_cli.framework.registry import PluginEntry, Registry
from ksched_cli.kube.documents import decode_text, read_file
from ksched_cli.kube.versions import MINORS, Release, inferred_release, release_of
from ksched_cli.plugins import IN_TREE, kinds_read, registry_of

if TYPE_CHECKING:
    from ksched_cli.cluster.state import ClusterState
    from ksched_cli.commands.options import CommonOptions, StateOptions
    from ksched_cli.config.allowed_plugins import AllowedPlugin
    from ksched_cli.engine.extender_runner import ExtenderOptions
    from ksched_cli.engine.replay.world import World
    from ksched_cli.engine.scheduling_cycle import TieBreak
    from ksched_cli.engine.simulation import Options, Simulation

T = TypeVar("T")

DEBUG_HINT = "--debug prints the traceback"
MAX_PODS = 3  # that a warning of a plugin's failure names

# -- plugins --------------------------------------------------------------------------------------


def discover_plugins(sources: Sequence[str] | None = None) -> Discovery:
    """In-tree plugins, those of other distributions, and those that --plugin names (sources)."""
    return _discover(tuple(sources or ()))


@cache
def _discover(sources: tuple[str, ...]) -> Discovery:
    return discover(IN_TREE, sources)


def usable_plugins(sources: Sequence[str] | None = None) -> Registry:
    """The plugins that load; warns of the others. Raises UsageError where one of --plugin (sources)
    does not."""
    discovery = discover_plugins(sources)
    for broken in discovery.broken:
        if broken.is_requested:
            raise UsageError(f"--plugin {broken.origin}: {broken.cause}{_last_line(broken)}")
        warn(f"the plugins of {broken.origin} cannot be loaded: {broken.cause}")
    return discovery.registry


def _last_line(broken: Broken) -> str:
    """The last line of code that the traceback names."""
    lines = [line.strip() for line in broken.detail.splitlines() if line.startswith("  File ")]
    return f"\n  at {lines[-1]}" if lines else ""


def registry_in_release(
    options: CommonOptions, registry: Registry, kubelets: Iterable[str] = ()
) -> Registry:
    """The plugins as the release has them that the options name, else the newest of the kubelets'
    versions, else the newest of all. Says which one where it is inferred; the result names it.

    Raises UsageError where the options name no release that ksched knows, or several.
    """
    registries = registries_in_releases(options, registry, kubelets)
    if len(registries) > 1:
        minors = ", ".join(options.kubernetes_version or ())
        raise UsageError(
            f"--kubernetes-version is given more than once, {minors}: only compare does"
        )
    return registries[0]


def registries_in_releases(
    options: CommonOptions, registry: Registry, kubelets: Iterable[str] = ()
) -> list[Registry]:
    """As registry_in_release, for each release that the options name. The result names the first
    of them."""
    releases = _releases(options, kubelets)
    set_release(releases[0])
    foreign = [entry for entry in registry.values() if entry.is_foreign]
    return [registry_of(release, foreign) for release in releases]


def later_registries(registry: Registry) -> list[Registry]:
    """The same plugins as each later minor has them, with its default feature gates."""
    later = MINORS[MINORS.index(registry.release.minor) + 1 :]
    foreign = [entry for entry in registry.values() if entry.is_foreign]
    return [registry_of(release_of(minor), foreign) for minor in later]


def _releases(options: CommonOptions, kubelets: Iterable[str]) -> list[Release]:
    gates, minors = options.feature_gates, options.kubernetes_version
    if minors:
        return [release_of(minor, gates) for minor in minors]
    return [inferred_release(kubelets, gates)]


# -- configuration --------------------------------------------------------------------------------


def read_configuration(
    path: str | None,
    registry: Registry,
    sources: Sequence[str] | None = None,
    allowed: Sequence[AllowedPlugin] | None = None,
) -> Configuration:
    """The configuration at the path, else the default one with the plugins of --plugin (sources).

    allowed: plugins of other builds that are taken as there; None where it is to be run
    Raises InputError where the file is missing, unreadable or not valid.
    """
    if path:
        raw, name = read_file(path)
        return load_configuration(decode_text(raw, name), name, registry, allowed)
    if sources:
        joining = _plugins_from(registry, sources)
        data = {"apiVersion": API_VERSION, "kind": KIND, **profile_with_plugins(joining)}
        return load_configuration(
            json.dumps(data), "the default configuration with --plugin", registry
        )
    return load_configuration(None, "", registry)


def _plugins_from(registry: Registry, sources: Sequence[str]) -> Iterable[PluginEntry]:
    return [entry for entry in registry.values() if entry.origin in sources]


# -- simulation -----------------------------------------------------------------------------------


def load_base_state(options: StateOptions, registry: Registry) -> ClusterState:
    """The state that the options name, before any change, with the pods that its workloads lack.

    Raises KschedError.
    """
    from ksched_cli.cluster.loading.load import load_state
    from ksched_cli.scenario.workloads import with_workloads

    if options.live:
        from ksched_cli.commands.live_cluster import read_live_state

        state = read_live_state(options, registry)
    else:
        state = load_state(
            options.state or [_default_state_path()],
            reads=kinds_read(registry, options.feature_gates),
        )
    return state if options.no_workloads else with_workloads(state)


def changed_state(state: ClusterState, options: StateOptions) -> ClusterState:
    """The state after the changes of --scenario, then of --change; its `changes` say what they did.

    Raises KschedError.
    """
    if not options.scenario and not options.change:
        return state
    from ksched_cli.scenario.change import apply_changes
    from ksched_cli.scenario.file import read_scenario
    from ksched_cli.scenario.parsing import parse_change

    changes = [
        change
        for path in options.scenario or ()
        for change in read_scenario(path, options.namespace)
    ]
    changes += [parse_change(text, options.namespace) for text in options.change or ()]
    return apply_changes(state, changes, workloads=not options.no_workloads)[0]


def open_simulation(
    options: StateOptions, run: Options | None = None, *, extender_bind: bool = False
) -> Simulation:
    """Reads what the options name; warnings go to standard error, a line each.

    run: how to run it; what the options tell of extenders is added
    Raises KschedError where something cannot be read, or a plugin cannot be made.
    """
    run = run_options(options, run, extender_bind=extender_bind)
    simulation = make_simulation(options, *_materials(options), run)
    warn_of_state(simulation)
    return simulation


def open_world(options: StateOptions, run: Options) -> World:
    """The same for a replay, whose cluster changes."""
    from ksched_cli.cluster.loading.state_warnings import nothing_to_schedule

    run = run_options(options, run)
    state, configuration, registry = _materials(options)
    # The pods come with the timeline.
    out_of_place = set(nothing_to_schedule(state))
    warnings = tuple(line for line in state.warnings if line not in out_of_place)
    state = replace(state, warnings=warnings)
    world = make_world(options, state, configuration, registry, run)
    warn_of_state(world.simulation)
    return world


def make_world(
    options: StateOptions,
    state: ClusterState,
    configuration: Configuration,
    registry: Mapping[str, PluginEntry],
    run: Options,
) -> World:
    """Without warnings. Raises KschedError where a plugin cannot be made."""
    from ksched_cli.engine.replay.world import World

    return _instance(lambda: World(state, configuration, registry, run), options)


def _materials(options: StateOptions) -> tuple[ClusterState, Configuration, Registry]:
    """The state, the configuration and the plugins that the options name. Raises KschedError."""
    registry = usable_plugins(options.plugin)
    state = changed_state(load_base_state(options, registry), options)
    kubelets = {node.status.node_info.kubelet_version for node in state.nodes}
    registry = registry_in_release(options, registry, kubelets)
    return state, read_configuration(options.config, registry, options.plugin), registry


def run_options(
    options: StateOptions, run: Options | None = None, *, extender_bind: bool = False
) -> Options:
    """`run` with what the options tell of extenders. Raises UsageError."""
    from ksched_cli.engine.simulation import Options

    return replace(
        run or Options(),
        extenders=_extender_options(options, extender_bind),
        plugin_timeout=options.plugin_timeout,
    )


def make_simulation(
    options: StateOptions,
    state: ClusterState,
    configuration: Configuration,
    registry: Mapping[str, PluginEntry],
    run: Options,
) -> Simulation:
    """Without warnings. Raises KschedError where a plugin cannot be made."""
    from ksched_cli.engine.simulation import Simulation

    return _instance(lambda: Simulation(state, configuration, registry, run), options)


def _instance(make: Callable[[], T], options: StateOptions) -> T:
    """With what --debug adds to the error where a plugin cannot be made."""
    try:
        return make()
    except PluginDefectError as defect:
        raise _with_traceback(defect, options.debug) from None


def warn_of_state(*simulations: Simulation) -> None:
    """What the simulations' states lack, and what nobody reads of them; each line once."""
    from ksched_cli.cluster.loading.state_warnings import skipped_warnings

    lines: dict[str, None] = {}
    for simulation in simulations:
        state = simulation.state
        lines |= dict.fromkeys(skipped_warnings(state))
        lines |= dict.fromkeys((*state.warnings, *_device_warnings(simulation)))
    for line in lines:
        warn(line)
    note_hosts(
        simulation.configuration
        for simulation in simulations
        if simulation.options.extenders.used and not simulation.options.extenders.replay
    )


def note_hosts(configurations: Iterable[Configuration]) -> None:
    """Names the extenders' hosts, which are sent the pods and nodes of the state, before the first
    call."""
    urls = {extender.url_prefix for item in configurations for extender in item.extenders}
    if not urls:
        return
    from ksched_cli.extenders.errors import redacted

    named = ", ".join(sorted(map(redacted, urls)))
    note(f"calling extenders at {named} (--no-extenders leaves them out)")


def _default_state_path() -> str:
    """The state to read without --state; says which, unless the environment names it."""
    from ksched_cli.cluster.loading.files import STATE_VARIABLE, default_state_path

    path = default_state_path()
    if path != os.environ.get(STATE_VARIABLE):
        print(f"reading {path}", file=sys.stderr)
    return path


def _device_warnings(simulation: Simulation) -> list[str]:
    """Only where a pending pod may get devices: checking selectors loads the CEL library."""
    from ksched_cli.framework.device_classes import may_allocate_devices

    handle = next(iter(simulation.frameworks.values())).handle
    if not any(may_allocate_devices(pod, handle) for pod in simulation.pending()):
        return []
    from ksched_cli.plugins.dynamic_resources.features import features_of
    from ksched_cli.plugins.dynamic_resources.object_checks import device_problems

    return device_problems(simulation.state, features_of(simulation.configuration.release))


def _with_traceback(defect: PluginDefectError, debug: bool) -> PluginDefectError:
    """Its message with the traceback, or with how to get it."""
    more = f"\n{defect.detail}" if debug else f"\n  {DEBUG_HINT}"
    return PluginDefectError(f"{defect}{more}", defect.detail)


def report_defects(simulation: Simulation, debug: bool) -> None:
    """Warns of every plugin that failed; with `debug` prints the tracebacks too."""
    defects = simulation.caller.defects.values()
    for defect in defects:
        pods = list(defect.pods)
        more = f" and {len(pods) - MAX_PODS:,} more" if len(pods) > MAX_PODS else ""
        touched = f" (of {', '.join(pods[:MAX_PODS])}{more})" if pods else ""
        warn(f"plugin {defect.plugin} failed in {defect.point}: {defect.problem}{touched}")
        if debug:
            print(defect.detail, file=sys.stderr)
    if defects and not debug:
        print(f"  {DEBUG_HINT}", file=sys.stderr)


def _extender_options(options: StateOptions, bind: bool) -> ExtenderOptions:
    """Raises UsageError where options contradict each other."""
    from ksched_cli.engine.extender_runner import ExtenderOptions

    record, replay = options.record_extenders, options.replay_extenders
    if record and replay:
        raise UsageError("--record-extenders and --replay-extenders exclude each other")
    if options.no_extenders and (record or replay or bind):
        raise UsageError("--no-extenders leaves nothing to record, replay or bind")
    if replay and bind:
        raise UsageError("--replay-extenders calls nobody, so that --extender-bind cannot bind")
    return ExtenderOptions(not options.no_extenders, bind, record, replay, warn)


def tie_break(name: str, seed: int | None) -> TieBreak:
    """`name`: the first by name; `random`: a draw, the same one for the same seed."""
    if name not in ("name", "random"):
        raise UsageError(f'--tie-break takes name or random; not "{name}"')
    if name == "name":
        if seed is not None:
            raise UsageError("--seed does nothing without --tie-break random")
        from ksched_cli.engine.scheduling_cycle import first_by_name

        return first_by_name
    from ksched_cli.engine.scheduling_cycle import RandomChoice

    return RandomChoice(seed)
