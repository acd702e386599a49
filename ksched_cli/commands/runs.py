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
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ksched_cli.commands import progress
from ksched_cli.commands.command import DEBUG_HINT, ExitCode
from ksched_cli.commands.options import CommonOptions, ShownOptions, StateOptions
from ksched_cli.commands.output import SETTINGS, note, report_of, set_release, show, warn
from ksched_cli.errors import UsageError
from ksched_cli.kube.file_paths import check_standard_input
from ksched_cli.kube.versions import inferred_release, release_of
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
    from ksched_cli.run.axes import Field
    from ksched_cli.run.differences import NamedRun
    from ksched_cli.run.inputs import Inputs
    from ksched_cli.run.open import Opener, Watch
    from ksched_cli.run.run import LiveCluster, Run
    from ksched_cli.sweep.outcome import Draws

A = TypeVar("A", bound="Answer")
A_contra = TypeVar("A_contra", bound="Answer", contravariant=True)

# -- options → Run --------------------------------------------------------------------------------


class HasGiven(Protocol):
    """Options of a command that takes some of a Run's."""

    @property
    def given(self) -> Mapping[str, Any]: ...


def run_of(options: HasGiven, **fields: Any) -> Run:
    """The Run that the options describe, with these fields in place of what they say. Raises
    UsageError."""
    from msgspec.structs import replace

    from ksched_cli.run.axes import fields_of
    from ksched_cli.run.run import FIELDS, Run

    given = options.given

    def value_of(field: Field) -> Any:
        """The field's value of what its options say."""
        values = [(option, given[field.parameter(option)]) for option in field.options]
        if field.nested is not None:
            # Where not all namespaces may be listed, -n names the one to read.
            own = {each.name: given.get(each.name, "") for each in fields_of(field.nested)}
            return field.nested(**own) if values[0][1] else None
        if isinstance(field.default, tuple):
            return tuple(each for option, texts in values for each in option.read(texts or ()))
        ((_, value),) = values
        if value is None:
            return field.default
        if isinstance(field.default, bool):
            return value is not field.is_on
        return field.default if value == field.default else value  # 0.0 is written, 0 is not

    takes = [field for field in FIELDS if field.options and _is_given(field, given)]
    run = Run(**{field.name: value_of(field) for field in takes})
    if "live" in given:
        run = replace(run, **_source(run, given))
    if run.tie_break == "random" and run.seed is None:
        # A draw of one's own, so that what is printed can be repeated.
        run = replace(run, seed=SystemRandom().randrange(2**31))
    return replace(run, **fields)


def _is_given(field: Field, given: Mapping[str, Any]) -> bool:
    return field.parameter(field.options[0]) in given


def _source(run: Run, given: Mapping[str, Any]) -> dict[str, Any]:
    """Where the state is from, without --state and --live. Raises UsageError where the options
    exclude each other."""
    if run.live and run.states:
        raise UsageError("--live cannot be combined with --state")
    for name in ("context", "kubeconfig"):
        if given[name] and not run.live:
            raise UsageError(f"--{name} has no effect without --live")
    return {} if run.live or run.states else {"states": (_default_state_path(),)}


def arguments_of(run: Run) -> list[str]:
    """The options that describe the Run, as they are typed: the inverse of `run_of`. Changes that
    are objects have no option; a scenario file has them."""
    from ksched_cli.run.run import FIELDS

    line: list[str] = []
    for field in FIELDS:
        line += _arguments(field, getattr(run, field.name))
    return line


def _arguments(field: Field, value: Any) -> Iterator[str]:
    """What is typed for a field's value; nothing for its default."""
    from ksched_cli.run.axes import fields_of

    if value == field.default:
        return
    for option in field.options:
        name = f"--{field.parameter(option).replace('_', '-')}"
        if field.nested is not None:
            yield name
            for inner in (each for each in fields_of(field.nested) if each.options):
                yield from _arguments(inner, getattr(value, inner.name))
        elif isinstance(value, tuple):
            yield from (part for text in option.write(value) for part in (name, text))
        elif isinstance(value, bool):
            yield name
        else:
            yield from (name, f"{value:g}" if isinstance(value, float) else str(value))


def in_project(run: Run, file: str) -> Run:
    """The Run with what the project file of a file says where the Run leaves it open. Raises
    InputError for a project file that is not valid."""
    from msgspec.structs import replace

    from ksched_cli.config.project import Projects
    from ksched_cli.run.axes import fields_of
    from ksched_cli.run.run import ReleaseSettings

    stated = Projects().of(file).settings
    names = [field.name for field in fields_of(ReleaseSettings)]
    return replace(run, **{name: getattr(run, name) or getattr(stated, name) for name in names})


def refuses_plugins(options: CommonOptions, file: str) -> bool:
    """Whether plugins that only the file names may not be imported. Raises InputError."""
    from ksched_cli.config.project import Projects

    return options.no_plugins or Projects().of(file).settings.no_plugins


def allowed_in_project(values: Sequence[str] | None, file: str) -> tuple[AllowedPlugin, ...]:
    """The plugins of every --allow-plugins, and those that the project file of a file allows.
    Raises KschedError."""
    from ksched_cli.config.allowed_plugins import read_allowed
    from ksched_cli.config.project import Projects

    return (*Projects().of(file).allowed, *read_allowed(values or ()))


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


def registry(run: Run) -> Registry:
    """The plugins in the release that the Run names, else in the newest; the result names it.
    Raises UsageError."""
    from ksched_cli.run.plugins import discovered, usable

    return in_named_release(usable(discovered(run.plugins), warn), run)


def in_named_release(plugins: Registry, run: Run) -> Registry:
    """The same plugins in that release. Raises UsageError."""
    from ksched_cli.run.plugins import in_release

    minor, gates = run.kubernetes_version, run.feature_gates
    compatibility = run.min_compatibility_version
    release = (
        release_of(minor, gates, compatibility=compatibility)
        if minor
        else inferred_release((), gates, compatibility)
    )
    set_release(release)
    return in_release(plugins, release)


def open_simulation(options: HasGiven, watch: Watch | None = None) -> Simulation:
    """Opens the Run and warns of what its state lacks. Raises KschedError."""
    run = run_of(options)
    run.check()
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

    run, source = run_of(options), None
    run.check(uses)
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

    pods = named_objects.chosen_pods(
        simulation, options.given["namespace"], options.selector, options.owner
    )
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
    from ksched_cli.extenders.client import redacted

    named = ", ".join(sorted(map(redacted, urls)))
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
    options: StateOptions,
    answer: A,
    renderer: Renderer[A] | None,
    code: ExitCode,
    texts: Mapping[Form, Callable[[], str]] | None = None,
) -> ExitCode:
    """After a question about one state: warns of plugins that failed, and prints the answer.
    renderer: none where the answer has a view; texts: see Report. Returns the exit code."""
    report_defects(simulation, options.debug)
    if renderer is None:
        show(answer, options, simulation.state.changes)
        return code
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
