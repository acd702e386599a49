"""From options to a Run, and what a command says about a Run that it opened.

What loads NumPy is imported where it is used: `validate` and `config` come here too.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from random import SystemRandom
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

from ksched_cli.commands import progress
from ksched_cli.commands.command import DEBUG_HINT, ExitCode
from ksched_cli.commands.options import CommonOptions, ReplayableOptions, ShownOptions, StateOptions
from ksched_cli.commands.output import SETTINGS, note, report_of, set_release, show, warn
from ksched_cli.errors import InputError, UsageError
from ksched_cli.kube.file_paths import check_standard_input
from ksched_cli.kube.versions import inferred_release, release_of
from ksched_cli.masking import masked_url
from ksched_cli.report.forms import Form
from ksched_cli.report.table import Limit

if TYPE_CHECKING:
    from ksched_cli.analysis.named_objects import Subject
    from ksched_cli.answers import Answer
    from ksched_cli.cluster.pod_info import PodInfo
    from ksched_cli.cluster.state import ClusterState
    from ksched_cli.config.allowed_plugins import AllowedPlugin
    from ksched_cli.config.effective import Configuration
    from ksched_cli.engine.engine import Engine
    from ksched_cli.engine.replay.replay import Replay
    from ksched_cli.engine.simulation import Simulation
    from ksched_cli.framework.registry import Registry
    from ksched_cli.run.differences import NamedRun
    from ksched_cli.run.inputs import Inputs
    from ksched_cli.run.open import Opener, Watch
    from ksched_cli.run.run import LiveCluster, Patch, Run
    from ksched_cli.sweep.outcome import Draws

AnyOptions = TypeVar("AnyOptions", bound=CommonOptions)
A = TypeVar("A", bound="Answer")
A_contra = TypeVar("A_contra", bound="Answer", contravariant=True)

# -- options → Run --------------------------------------------------------------------------------


def run_of(
    options: ReplayableOptions,
    *,
    timeline: str = "",
    extender_bind: bool = False,
    uses: Collection[str] = (),
) -> Run:
    """The Run that the options describe. uses: as Run.check has it. Raises UsageError."""
    from ksched_cli.run.run import ChangeSource, Run

    run = Run(
        states=() if options.live else tuple(options.state or [_default_state_path()]),
        live=_live_cluster(options),
        allow_empty_state=options.allow_empty_state,
        workloads=not options.no_workloads,
        changes=(
            *(ChangeSource(scenario=path) for path in options.scenario or ()),
            *(ChangeSource(line=text) for text in options.change or ()),
        ),
        namespace=options.namespace,
        configuration=options.config or "",
        patches=tuple(map(_patch, options.patch or ())),
        plugins=tuple(options.plugin or ()),
        kubernetes_version=options.kubernetes_version,
        feature_gates=options.feature_gates,
        min_compatibility_version=options.min_compatibility_version,
        timeline=timeline or getattr(options, "timeline", ""),
        until=options.until,
        autoscaler=options.autoscaler,
        prices=tuple(options.price or ()),
        evict_at_once=options.evict_at_once,
        tie_break=_tie_break(options.tie_break),
        seed=_seed(options),
        preemption=not options.no_preemption,
        retries=not options.no_retries,
        extenders=not options.no_extenders,
        extender_bind=extender_bind,
        record_extenders=options.record_extenders,
        replay_extenders=options.replay_extenders,
        cache=not options.no_cache,
        plugin_timeout=options.plugin_timeout or 0,
    )
    run.check(uses)
    return run


def arguments_of(run: Run) -> list[str]:
    """The options that describe the Run, as they are typed: the inverse of `run_of`. Changes that
    are objects have no option; a scenario file has them."""
    from ksched_cli.run.run import as_json

    named: list[tuple[str, str]] = [
        *(("--state", path) for path in run.states),
        ("--config", run.configuration),
        *(("--patch", f"{patch.path}={as_json(patch.value).decode()}") for patch in run.patches),
        *(("--scenario", each.scenario) for each in run.changes if each.scenario),
        *(("--change", each.line) for each in run.changes if each.line),
        *(("--plugin", text) for text in run.plugins),
        ("--namespace", run.namespace),
        ("--kubernetes-version", run.kubernetes_version),
        ("--feature-gates", run.feature_gates),
        ("--min-compatibility-version", run.min_compatibility_version),
        ("--timeline", run.timeline),
        ("--until", run.until),
        ("--autoscaler", run.autoscaler),
        *(("--price", text) for text in run.prices),
        ("--tie-break", "random" if run.tie_break == "random" else ""),
        ("--seed", "" if run.seed is None else str(run.seed)),
        ("--record-extenders", run.record_extenders),
        ("--replay-extenders", run.replay_extenders),
        ("--plugin-timeout", f"{run.plugin_timeout:g}" if run.plugin_timeout else ""),
    ]
    if run.live is not None:
        named += [("--context", run.live.context), ("--kubeconfig", run.live.kubeconfig)]
    flags = {
        "--live": run.live is not None,
        "--allow-empty-state": run.allow_empty_state,
        "--no-workloads": not run.workloads,
        "--evict-at-once": run.evict_at_once,
        "--no-preemption": not run.preemption,
        "--no-retries": not run.retries,
        "--no-extenders": not run.extenders,
        "--no-cache": not run.cache,
    }
    options = [part for name, value in named if value for part in (name, value)]
    return options + [name for name, is_set in flags.items() if is_set]


def configured_run(options: CommonOptions, configuration: str | None = None) -> Run:
    """A Run without a state, for questions about plugins and configurations. configuration: its
    path, or "-"; empty for the default one"""
    from ksched_cli.run.run import Run

    return Run(
        allow_empty_state=options.allow_empty_state,
        configuration=configuration or "",
        plugins=tuple(options.plugin or ()),
        kubernetes_version=options.kubernetes_version,
        feature_gates=options.feature_gates,
        min_compatibility_version=options.min_compatibility_version,
    )


def in_project(options: AnyOptions, file: str) -> AnyOptions:
    """The options, and what the project file of a file says where they leave it open. Raises
    InputError for a project file that is not valid."""
    from ksched_cli.config.project import Projects

    stated = Projects().of(file).settings
    return replace(
        options,
        kubernetes_version=options.kubernetes_version or stated.kubernetes_version,
        feature_gates=options.feature_gates or stated.feature_gates,
        min_compatibility_version=options.min_compatibility_version
        or stated.min_compatibility_version,
        no_plugins=options.no_plugins or stated.no_plugins,
    )


def allowed_in_project(values: Sequence[str] | None, file: str) -> tuple[AllowedPlugin, ...]:
    """The plugins of every --allow-plugins, and those that the project file of a file allows.
    Raises KschedError."""
    from ksched_cli.config.allowed_plugins import read_allowed
    from ksched_cli.config.project import Projects

    return (*Projects().of(file).allowed, *read_allowed(values or ()))


def _live_cluster(options: ReplayableOptions) -> LiveCluster | None:
    if not options.live:
        return None
    from ksched_cli.run.run import LiveCluster

    return LiveCluster(options.kubeconfig, options.context, options.namespace)


def _seed(options: ReplayableOptions) -> int | None:
    """A draw of one's own where none is given, so that what is printed can be repeated."""
    if options.tie_break == "random" and options.seed is None:
        return SystemRandom().randrange(2**31)
    return options.seed


def _tie_break(name: str) -> Literal["name", "random"]:
    if name not in ("name", "random"):
        raise UsageError(f'--tie-break takes name or random; not "{name}"')
    return "name" if name == "name" else "random"


def _patch(text: str) -> Patch:
    """PATH=VALUE, the value as YAML. Raises UsageError."""
    from ksched_cli.kube.documents import load_documents
    from ksched_cli.run.patches import parse_path
    from ksched_cli.run.run import Patch

    path, equals, value = text.partition("=")
    if not equals or not value:
        raise UsageError(f'--patch takes PATH=VALUE; not "{text}"')
    parse_path(path)
    try:
        (data,) = load_documents(value, "--patch")
    except (InputError, ValueError):
        raise UsageError(f'--patch {path}: "{value}" is not valid YAML') from None
    return Patch(path, data)


def _default_state_path() -> str:
    """The state to read without --state; says which, unless the environment names it."""
    from ksched_cli.cluster.loading.load import STATE_VARIABLE, default_state_path

    path = default_state_path()
    if path != os.environ.get(STATE_VARIABLE):
        note(f"reading {path}")
    return path


# -- Run → what answers ---------------------------------------------------------------------------


def opener(
    *runs: Run,
    reads: frozenset[str] = frozenset(),
    inputs: Inputs | None = None,
    take_warning: Callable[[str], None] = warn,
) -> Opener:
    """Opens these Runs; its warnings go to standard error by default. reads, inputs: as Opener has
    them"""
    from ksched_cli.run.open import Opener
    from ksched_cli.run.run import check_standard_input_of

    check_standard_input_of(runs)
    return Opener(
        runs,
        inputs,
        reads=reads,
        read_live=_read_live,
        warn=take_warning,
        trace_calls=SETTINGS.debug,
    )


def _read_live(cluster: LiveCluster, kinds: frozenset[str]) -> ClusterState:
    """--live: the cluster that the kubeconfig names, as it is now. kinds: of custom objects that
    plugins read. Raises KschedError."""
    from ksched_cli.live.client import connect
    from ksched_cli.live.snapshot import ClusterReader, live_state, whole_object

    server = connect(cluster.kubeconfig, cluster.context)
    with progress.of_objects() as on_progress:
        reader = ClusterReader(
            server,
            reads=kinds,
            namespace=cluster.namespace,
            convert=whole_object,
            on_progress=on_progress,
        )
        return live_state(reader, kinds, server.url)


def draws_of(sides: Sequence[NamedRun], opener: Opener, count: int) -> Draws:
    """--seeds: the results of each side, with one seed after the other; warns of budgets that the
    state lacks where pods were evicted. Raises UsageError, PluginDefectError."""
    from ksched_cli.sweep import outcome

    with progress.of_runs("draws") as on_progress:
        result = outcome.draws_of(sides, opener, count, on_progress)
    warn(*outcome.eviction_warnings(sides, opener, result.figures))
    return result


def registry(options: CommonOptions) -> Registry:
    """The plugins in the release that the options name, else in the newest; the result names it.
    Raises UsageError."""
    from ksched_cli.run.plugins import discovered, usable

    return in_named_release(usable(discovered(options.plugin or ()), warn), options)


def in_named_release(plugins: Registry, options: CommonOptions) -> Registry:
    """The same plugins in that release. Raises UsageError."""
    from ksched_cli.run.plugins import in_release

    minor, gates = options.kubernetes_version, options.feature_gates
    compatibility = options.min_compatibility_version
    release = (
        release_of(minor, gates, compatibility=compatibility)
        if minor
        else inferred_release((), gates, compatibility)
    )
    set_release(release)
    return in_release(plugins, release)


def open_simulation(run: Run, watch: Watch | None = None) -> Simulation:
    """Opens the Run and warns of what its state lacks. Raises KschedError."""
    simulation = opener(run).simulation(run, watch)
    introduce(simulation)
    return simulation


def open_subject(
    options: StateOptions,
    name: str = "",
    manifest: str | None = None,
    uses: Collection[str] = (),
) -> Subject:
    """Open the Run and what it is asked about: the named pod or workload, or that of a file, which
    becomes the last change. uses: as Run.check has it. Raises KschedError."""
    from ksched_cli.analysis.named_objects import Subject
    from ksched_cli.run.run import ChangeSource

    run, source = run_of(options, uses=uses), None
    if manifest is not None:
        check_standard_input({"--state": run.states, "-f": [manifest]})
        source = ChangeSource(line=f"apply -f {shlex.quote(manifest)}")
    subject = Subject.open(opener(run), run, name, source)
    introduce(subject.simulation)
    return subject


def find_pod(subject: Subject) -> PodInfo:
    """The pod that is named, or the next or newest of a workload; says which. Raises UsageError."""
    pod, name = subject.pod, subject.name
    if pod.name != name.rpartition("/")[2]:
        which = "the newest" if pod.pod.node_name else "the next in the queue"
        note(f"{name}: {pod.key}, {which} of its pods")
    return pod


def chosen_pods(simulation: Simulation, options: ShownOptions) -> frozenset[str] | None:
    """The pods to show; None: all. Says that all were decided. Raises UsageError."""
    from ksched_cli.analysis import named_objects

    pods = named_objects.chosen_pods(simulation, options.namespace, options.selector, options.owner)
    if pods is not None:
        note(
            f"showing {len(pods):,} of {len(simulation.state.pods):,} pods; ksched schedules "
            "all of them"
        )
    return pods


def introduce(*opened: Simulation | Replay) -> None:
    """Before any of these runs: the release of the first is named by the result; warnings say what
    the states lack and what of them nobody reads, each once."""
    from ksched_cli.run.remarks import engine_of, lines_before

    engines = [*map(engine_of, opened)]
    set_release(engines[0].configuration.release)
    warn(*lines_before(*opened))
    note_hosts(
        engine.configuration
        for engine in engines
        if engine.options.extenders.used and not engine.options.extenders.replay
    )


def note_hosts(configurations: Iterable[Configuration]) -> None:
    """Names the extenders' hosts, which are sent the pods and nodes of the state, before the first
    call."""
    urls = {extender.url_prefix for item in configurations for extender in item.extenders}
    if not urls:
        return
    named = ", ".join(sorted(map(masked_url, urls)))
    note(f"calling extenders at {named} (--no-extenders disables this)")


def _call_lines(engine: Engine) -> Iterator[str]:
    """Nothing where the calls were not noted."""
    from ksched_cli.framework.call_trace import profile_lines

    trace = engine.caller.trace
    if trace is None:
        return
    for name, framework in engine.frameworks.items():
        plugins = framework.profile.plugins
        enabled = {point: [ref.name for ref in refs] for point, refs in plugins.items()}
        yield f"profile {name}:"
        for line in profile_lines(framework.plugins, enabled, engine.registry):
            yield f"  {line}"
        yield from (f"  {line}" for line in trace.lines(name, enabled))


class Renderer(Protocol[A_contra]):
    """A module of report/: an answer as a table, and the names that it comes down to."""

    def table(self, answer: A_contra, limit: Limit, /) -> str: ...

    def names(self, answer: A_contra, /) -> Sequence[str]: ...


def conclude(
    simulation: Simulation,
    options: ReplayableOptions,
    answer: A,
    renderer: Renderer[A],
    code: ExitCode,
    texts: Mapping[Form, Callable[[], str]] | None = None,
) -> ExitCode:
    """After a question about one state: warns of plugins that failed, and prints the answer. texts:
    see Report. Returns the exit code."""
    report_defects(simulation, options.debug)
    report = report_of(answer, renderer.table)
    report = replace(report, names=lambda: renderer.names(answer), texts=texts or {})
    show(report, options, simulation.state.changes)
    return code


def report_defects(opened: Simulation | Replay, debug: bool) -> None:
    """After a run: warns of every plugin that failed, with `debug` prints the tracebacks too, and
    which plugins were called about each pod; and where budgets that the state lacks might have
    saved pods that were evicted."""
    from ksched_cli.run.remarks import budget_lines, defect_line, engine_of

    engine = engine_of(opened)
    warn(*budget_lines(opened))
    for line in _call_lines(engine):
        print(line, file=sys.stderr)
    defects = engine.caller.defects.values()
    for defect in defects:
        warn(defect_line(defect))
        if debug:
            print(defect.detail, file=sys.stderr)
    if defects and not debug:
        print(f"  {DEBUG_HINT}", file=sys.stderr)
