"""`ksched compare`: two or more runs of one state, side by side."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ksched_cli.commands.command import ExitCode
from ksched_cli.commands.compare_replays import compare_replays
from ksched_cli.commands.options import StateOptions
from ksched_cli.commands.subjects import Subject
from ksched_cli.errors import UsageError

if TYPE_CHECKING:
    from ksched_cli.analysis.compare import Side
    from ksched_cli.engine.simulation import Options, Simulation

DEFAULT_NAME = "default configuration"


@dataclass(frozen=True, slots=True)
class CompareOptions(StateOptions):
    """Of `compare`: a field per option."""

    timeline: Annotated[
        str,
        typer.Option(
            "--timeline",
            metavar="FILE",
            help="Replay this timeline on each side, as `replay` does: who waits how long.",
            show_default=False,
        ),
    ] = ""
    autoscaler: Annotated[
        list[str] | None,
        typer.Option(
            "--autoscaler",
            metavar="FILE",
            help="With --timeline: sides without an autoscaler and with this one; repeatable.",
        ),
    ] = None


def compare(
    options: CompareOptions,
    configs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[CONFIG]...",
            help="KubeSchedulerConfigurations, a side each; one alone is compared with that of "
            "--config, else the default one.",
        ),
    ] = None,
) -> ExitCode:
    """Two or more runs of one state, side by side: who moves and why, and how full the nodes are.

    The sides are the configurations; with --change or --scenario, the state without and with these;
    with --kubernetes-version given more than once, each minor (of every configuration, where
    several are given); with --autoscaler, a replay without and with it. Each is run as `schedule`
    would, or with --timeline as `replay`. Exit code 0 when every pod ends up in the same place, 1
    when some pod differs, 3 when a plugin's failure leaves some pod undecided.
    """
    autoscalers = options.autoscaler or []
    if autoscalers and not options.timeline:
        raise UsageError("--autoscaler does nothing without --timeline")
    subjects = _with_autoscalers(_subjects(options, configs or (), autoscalers), autoscalers)
    if options.timeline:
        return compare_replays(options, subjects, options.timeline)
    return _compare_runs(options, subjects)


def _compare_runs(options: StateOptions, subjects: Sequence[Subject]) -> ExitCode:
    from ksched_cli.analysis import compare as analysis
    from ksched_cli.commands import progress, session
    from ksched_cli.commands.output import limit, show_of_state
    from ksched_cli.engine.simulation import Options
    from ksched_cli.report import compare as renderer
    from ksched_cli.report.forms import Report
    from ksched_cli.report.table import PAGE

    with progress.of_pods() as on_progress:
        sides = _sides(options, subjects, Options(on_progress=on_progress))
        session.warn_of_state(*(side.simulation for side in sides))
        answer = analysis.compare(sides)
    for side in sides:
        session.report_defects(side.simulation, options.debug)
    report = Report(
        document=lambda: renderer.document(answer),
        table=lambda: renderer.table(answer, limit(options.everything)),
        headline=lambda: renderer.headline(answer, PAGE),
        figures=lambda: _figures(sides),
    )
    show_of_state(report, options, subjects[-1].state.changes)
    if answer.undecided:
        return ExitCode.DEFECT
    return ExitCode.NO if answer.pods else ExitCode.YES


def _figures(sides: Sequence[Side]) -> dict[str, Any]:
    """What the page shows besides: how full the nodes are on each side."""
    from ksched_cli.analysis.usage import node_usages
    from ksched_cli.report.html.cluster_map import shares_of

    return {"shares": shares_of([node_usages(side.simulation.snapshot) for side in sides])}


def _with_autoscalers(subjects: list[Subject], paths: Sequence[str]) -> list[Subject]:
    """Each of them without an autoscaler and with each of these."""
    if not paths:
        return subjects
    labels = ["without autoscaler", *_unique([f"with {Path(path).name}" for path in paths])]
    return [
        replace(subject, name=_name(subject.name, label), autoscaler=path)
        for subject in subjects
        for label, path in zip(labels, ["", *paths], strict=True)
    ]


def _subjects(
    options: StateOptions, paths: Sequence[str], autoscalers: Sequence[str]
) -> list[Subject]:
    """Every configuration on every state by the rules of every minor. Raises KschedError."""
    from ksched_cli.commands import session

    has_changes = bool(options.change or options.scenario)
    minors = options.kubernetes_version or []
    _check_minors(minors)
    has_sides = has_changes or len(minors) > 1 or bool(autoscalers)
    configs = _configurations(options, paths, has_sides)
    if options.record_extenders:
        raise UsageError("--record-extenders does not go with compare, which makes several runs")
    plugins = session.usable_plugins(options.plugin)
    state = session.load_base_state(options, plugins)
    states = [("", state)]
    if has_changes:
        states = [
            ("without changes", state),
            ("with changes", session.changed_state(state, options)),
        ]
    kubelets = {node.status.node_info.kubelet_version for node in states[-1][1].nodes}
    registries = session.registries_in_releases(options, plugins, kubelets)
    names = _unique([config or DEFAULT_NAME for config in configs]) if len(configs) > 1 else [""]
    return [
        Subject(_name(minor, name, label), registry, configuration, variant)
        for minor, registry in zip(_minor_names(minors), registries, strict=True)
        for name, configuration in [
            (name, session.read_configuration(path, registry, options.plugin))
            for name, path in zip(names, configs, strict=True)
        ]
        for label, variant in states
    ]


def _check_minors(minors: Sequence[str]) -> None:
    """Raises UsageError where one is given twice."""
    for minor, count in Counter(minors).items():
        if count > 1:
            raise UsageError(f"--kubernetes-version {minor} is given twice: nothing to compare")


def _minor_names(minors: Sequence[str]) -> list[str]:
    return [f"Kubernetes {minor}" for minor in minors] if len(minors) > 1 else [""]


def _configurations(
    options: StateOptions, paths: Sequence[str], has_sides: bool
) -> list[str | None]:
    """The path of each side's configuration, None for the default one. Raises UsageError.

    has_sides: changes, minors or autoscalers make sides of one configuration
    """
    if len(paths) > 1 or (paths and has_sides):
        if options.config and options.config != os.environ.get("KSCHED_CONFIG"):
            raise UsageError(
                "--config does nothing here: name every configuration to compare, as "
                f"`ksched compare {options.config} {' '.join(paths)}`"
            )
        return list(paths)
    if paths:
        return [options.config, *paths]
    if not has_sides:
        raise UsageError(
            "nothing to compare: give two configurations, one to compare with the default, "
            "--change or --scenario for the state without and with it, --autoscaler with "
            "--timeline, or two minors, as --kubernetes-version 1.35 --kubernetes-version 1.36"
        )
    return [options.config]


def _name(*parts: str) -> str:
    return ", ".join(part for part in parts if part)


def _unique(names: Sequence[str]) -> list[str]:
    """Names that are given twice get a number."""
    counts: Counter[str] = Counter()
    answer = []
    for name in names:
        counts[name] += 1
        answer.append(name if counts[name] == 1 else f"{name} ({counts[name]})")
    return answer


def _sides(options: StateOptions, subjects: Sequence[Subject], run: Options) -> list[Side]:
    """Raises KschedError."""
    from ksched_cli.analysis.compare import Side
    from ksched_cli.commands import session

    run = session.run_options(options, run)

    def open_side(subject: Subject) -> Simulation:
        return session.make_simulation(
            options, subject.state, subject.configuration, subject.registry, run
        )

    return [
        Side(subject.name, open_side(subject), partial(open_side, subject)) for subject in subjects
    ]
