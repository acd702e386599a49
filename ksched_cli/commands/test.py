"""`ksched test FILE...`: do expectations about a run hold?"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ksched_cli.commands.command import ExitCode
from ksched_cli.commands.options import (
    CommonOptions,
    Debug,
    NoExtenders,
    PluginTimeout,
    StateOptions,
)
from ksched_cli.errors import UsageError
from ksched_cli.report.forms import Form

if TYPE_CHECKING:
    from ksched_cli.analysis.expectations import Failure, Outcome
    from ksched_cli.analysis.expectations_file import ExpectationsFile
    from ksched_cli.report.expectations import CaseResult

_MENTION = re.compile(rb"""^\s*["']?kind["']?\s*:\s*["']?Expectations\b""", re.M)


def test(
    options: CommonOptions,
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="Files of expectations, folders with their sub-folders, globs, or -.",
        ),
    ],
    no_extenders: NoExtenders = False,  # noqa: PT028  # a command, no test of pytest's
    debug: Debug = False,  # noqa: PT028
    plugin_timeout: PluginTimeout = 0,  # noqa: PT028
) -> ExitCode:
    """Do the expectations in these files hold?

    Each file names a cluster state, maybe a configuration and changes, and what is expected of the
    run: where pods land, which stay pending and why, how they spread. A failed case says what came
    out, and the command that explains it. Exit code 0 when all hold, 1 when one fails, 3 when a
    plugin's failure leaves some pod undecided.
    """
    from ksched_cli.analysis.expectations_file import read_expectations
    from ksched_cli.commands.output import limit, show
    from ksched_cli.report import expectations as renderer
    from ksched_cli.report.forms import Report
    from ksched_cli.report.junit import junit

    runs = _Runs(options, no_extenders, debug, plugin_timeout)
    read = [read_expectations(path) for path in _files_of_expectations(files)]
    cases = [case for file in read for case in runs.cases(file)]
    show(
        Report(
            document=lambda: renderer.document(cases),
            table=lambda: renderer.table(cases, limit()),
            texts={Form.JUNIT: lambda: junit(renderer.suites(cases))},
        ),
        options.output,
    )
    if runs.undecided:
        return ExitCode.DEFECT
    return ExitCode.YES if all(case.passed for case in cases) else ExitCode.NO


def _files_of_expectations(paths: Sequence[str]) -> Iterator[str]:
    """The files that are named, and those in folders that are of the kind. Raises UsageError where
    there is none."""
    from ksched_cli.kube.documents import read_file
    from ksched_cli.kube.file_paths import expand_paths

    count = 0
    for path, is_named in expand_paths(paths):
        if is_named or _MENTION.search(read_file(path)[0]):
            count += 1
            yield path
    if not count:
        raise UsageError(f"no file of kind Expectations in {' '.join(paths)}")


class _Runs:
    """Runs of the files; cases that ask about the same state, configuration, changes and version
    share one."""

    def __init__(
        self, options: CommonOptions, no_extenders: bool, debug: bool, plugin_timeout: float
    ) -> None:
        self._options, self._plugin_timeout = options, plugin_timeout
        self._no_extenders, self._debug = no_extenders, debug
        self._outcomes: dict[str, tuple[Outcome, str]] = {}
        self.undecided = False

    def cases(self, file: ExpectationsFile) -> Iterator[CaseResult]:
        from ksched_cli.report.expectations import CaseResult

        outcome, version = self._outcome(file)
        for expectation in file.expectations:
            failure = expectation.check(outcome)
            message, command = "", ""
            if failure is not None:
                message = failure.message
                command = self._explaining(file, failure, version)
            yield CaseResult(file.path, expectation.name, message, command, version)

    def _outcome(self, file: ExpectationsFile) -> tuple[Outcome, str]:
        from ksched_cli.analysis.expectations import outcome_of
        from ksched_cli.commands import session

        key = json.dumps([file.states, file.config, file.changes, file.kubernetes_version])
        if key not in self._outcomes:
            options = self._state_options(file)
            simulation = session.open_simulation(options)
            outcome = outcome_of(simulation)
            simulation.close()
            session.report_defects(simulation, self._debug)
            self.undecided = self.undecided or bool(outcome.run.failed)
            self._outcomes[key] = outcome, simulation.configuration.release.version
        return self._outcomes[key]

    def _state_options(self, file: ExpectationsFile) -> StateOptions:
        """The changes are read from the file as from a scenario."""
        common = self._options
        minors = [file.kubernetes_version] if file.kubernetes_version else None
        return StateOptions(
            plugin=common.plugin,
            quiet=common.quiet,
            kubernetes_version=common.kubernetes_version or minors,
            feature_gates=common.feature_gates,
            state=list(file.states),
            config=file.config or None,
            scenario=[file.path] if file.changes else None,
            no_extenders=self._no_extenders,
            debug=self._debug,
            plugin_timeout=self._plugin_timeout,
        )

    def _explaining(self, file: ExpectationsFile, failure: Failure, version: str) -> str:
        """The command that shows why, as it is typed."""
        options = self._state_options(file)
        arguments = ["explain", failure.pod] if failure.pod else ["schedule"]
        for path in options.state or ():
            arguments += ["--state", path]
        if options.config:
            arguments += ["--config", options.config]
        for path in options.scenario or ():
            arguments += ["--scenario", path]
        for source in options.plugin or ():
            arguments += ["--plugin", source]
        arguments += ["--kubernetes-version", ".".join(version.lstrip("v").split(".")[:2])]
        if options.feature_gates:
            arguments += ["--feature-gates", options.feature_gates]
        if options.no_extenders:
            arguments.append("--no-extenders")
        return shlex.join(["ksched", *arguments])
