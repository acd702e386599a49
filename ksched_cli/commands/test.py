"""`ksched test FILE...`: do expectations about a run hold?"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Annotated

import typer

from ksched_cli import program_name
from ksched_cli.commands import runs
from ksched_cli.commands.command import ExitCode
from ksched_cli.commands.options import (
    CommonOptions,
    Debug,
    PluginTimeout,
)
from ksched_cli.commands.output import limit, show
from ksched_cli.report.forms import Form, Report

if TYPE_CHECKING:
    from ksched_cli.analysis.expectations import (
        CaseResult,
        Expectation,
        ExpectationsFile,
        Failure,
        Outcome,
    )
    from ksched_cli.engine.engine import Engine
    from ksched_cli.run.run import Run


@dataclass(frozen=True, slots=True)
class TestOptions(CommonOptions):
    """Options of `test`: what the command line says of the runs of all files."""

    debug: Debug = False
    plugin_timeout: PluginTimeout = 0


def test(
    options: TestOptions,
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="Files of expectations, folders with their sub-folders, globs, or -.",
        ),
    ],
) -> ExitCode:
    """Do the expectations in these files hold?

    Each file names a cluster state, optionally a configuration and changes, and what is expected of
    the run: where pods land, which stay pending and why, how they spread. A failed case says what
    happened instead, and which command explains it. -o junit, github or markdown is for CI. Exit
    code 0 when all hold, 1 when one fails, 3 when a plugin's failure leaves a pod undecided.

    Examples:
        ksched test -- expectations.yaml
        ksched test -o junit -- deploy/ > results.xml
    """
    from ksched_cli.analysis.expectations import (
        ExpectationsResult,
        files_of_expectations,
        read_expectations,
    )
    from ksched_cli.framework.discovery import ImportPolicy
    from ksched_cli.report import expectations as renderer
    from ksched_cli.report.ci_forms import junit

    read = [read_expectations(path) for path in files_of_expectations(files)]
    for file in read:
        is_closed = runs.in_project(options, file.path).no_plugins
        policy = ImportPolicy(options.plugin or (), not is_closed)
        for source in dict.fromkeys(text for run in file.runs for text in run.plugins):
            policy.check(source, file.path)
    answers = _Runs(options, read)
    cases = [case for file in read for case in answers.cases(file)]
    report = Report(
        lambda: ExpectationsResult.of(cases),
        table=lambda: renderer.table(cases, limit()),
        texts={
            Form.JUNIT: lambda: junit(renderer.suites(cases)),
            Form.GITHUB: lambda: renderer.github_annotations(cases),
            Form.MARKDOWN: lambda: renderer.markdown(cases),
        },
    )
    show(report, options)
    return ExitCode.of(all(case.passed for case in cases), answers.undecided)


class _Runs:
    """Opens the files' Runs. Cases about the same Run share one, and Runs share their states."""

    def __init__(self, options: TestOptions, files: Sequence[ExpectationsFile]) -> None:
        self._options = options
        self._runs = {
            file.path: tuple(self._given(run, file.path) for run in file.runs) for file in files
        }
        self._opener = runs.opener(*chain.from_iterable(self._runs.values()))
        self._outcomes: dict[bytes, tuple[Outcome, str]] = {}
        self.undecided = False

    def _given(self, run: Run, path: str) -> Run:
        """The Run with what the command line says of all files, and the project file of this one
        where neither says it."""
        from msgspec.structs import replace

        options = self._options
        default = runs.in_project(options, path)
        return replace(
            run,
            plugins=(*run.plugins, *(options.plugin or ())),
            kubernetes_version=options.kubernetes_version
            or run.kubernetes_version
            or default.kubernetes_version,
            feature_gates=options.feature_gates or run.feature_gates or default.feature_gates,
            min_compatibility_version=options.min_compatibility_version
            or run.min_compatibility_version
            or default.min_compatibility_version,
            allow_empty_state=run.allow_empty_state or options.allow_empty_state,
            extenders=run.extenders and not options.no_extenders,
            plugin_timeout=options.plugin_timeout,
        )

    def cases(self, file: ExpectationsFile) -> Iterator[CaseResult]:
        from msgspec.structs import replace

        for expectation, position in zip(file.expectations, file.positions, strict=True):
            line, column = (position.line, position.column) if position else (None, None)
            yield replace(self._case(file, expectation), line=line, column=column)

    def _case(self, file: ExpectationsFile, expectation: Expectation) -> CaseResult:
        """The first failure in any of the file's Runs counts."""
        from ksched_cli.analysis.expectations import CaseResult

        described = self._runs[file.path]
        version = ""
        for run in described:
            outcome, version = self._outcome(run)
            failure = expectation.check(outcome)
            if failure is not None:
                drawn = f"with seed {run.seed}: " if len(described) > 1 else ""
                command = _explaining(run, failure, version)
                message = f"{drawn}{failure.message}"
                return CaseResult(file.path, expectation.name, False, message, command, version)
        return CaseResult(file.path, expectation.name, True, "", "", version)

    def _outcome(self, run: Run) -> tuple[Outcome, str]:
        from ksched_cli.run.run import as_json

        key = as_json(run)
        if key not in self._outcomes:
            outcome, engine = self._replayed(run) if run.timeline else self._ran(run)
            self.undecided = self.undecided or outcome.undecided
            self._outcomes[key] = outcome, engine.configuration.release.version
        return self._outcomes[key]

    def _ran(self, run: Run) -> tuple[Outcome, Engine]:
        from ksched_cli.analysis.expectations import outcome_of

        simulation = self._opener.simulation(run)
        runs.introduce(simulation)
        outcome = outcome_of(self._opener, run, simulation)
        runs.report_defects(simulation, self._options.debug)
        return outcome, simulation

    def _replayed(self, run: Run) -> tuple[Outcome, Engine]:
        from ksched_cli.analysis.expectations import outcome_of_replay
        from ksched_cli.run.open import Watch

        replay = self._opener.replay(run, Watch(keeps_records=True))
        runs.introduce(replay)
        outcome = outcome_of_replay(self._opener, run, replay)
        runs.report_defects(replay, self._options.debug)
        return outcome, replay.cluster.engine


def _command(*arguments: str) -> str:
    return f"{program_name()} {shlex.join(arguments)}"


def _explaining(run: Run, failure: Failure, version: str) -> str:
    """The command that shows why, as it is typed."""
    from msgspec.structs import replace

    minor = ".".join(version.lstrip("v").split(".")[:2])
    options = runs.arguments_of(replace(run, kubernetes_version=minor))
    if run.timeline:
        timeline = options.index("--timeline")
        options[timeline : timeline + 2] = []
        return _command("replay", run.timeline, *options)
    if not failure.pod:
        return _command("schedule", *options)
    named = (
        [*options, "--", failure.pod] if failure.pod.startswith("-") else [failure.pod, *options]
    )
    return _command("explain", *named)
