"""`ksched test FILE...`: do expectations about a run hold?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import typer

from ksched_cli.commands.options import OF_CONFIGURATION, CommonOptions, Debug
from ksched_cli.commands.output import show
from ksched_cli.commands.runs import answered, in_project, refuses_plugins, run_of
from ksched_cli.errors import ExitCode


@dataclass(frozen=True, slots=True)
class TestOptions(CommonOptions):
    """Options of `test`: what the command line says of the runs of all files."""

    TAKES: ClassVar = (*OF_CONFIGURATION, "allow_empty_state", "plugin_timeout")

    debug: Debug = False


def test(
    options: TestOptions,
    paths: Annotated[
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
    from msgspec import structs

    from ksched_cli.analysis.expectations import Expect, files_of_expectations, read_expectations
    from ksched_cli.framework.discovery import ImportPolicy

    given = run_of(options)
    files = [read_expectations(path) for path in files_of_expectations(paths)]
    for file in files:
        policy = ImportPolicy(given.plugins, not refuses_plugins(options, file.path))
        for source in dict.fromkeys(text for run in file.runs for text in run.plugins):
            policy.check(source, file.path)
    # Each Run of a file has what the command line says of all files, and the project file of this
    # one where neither says it.
    described, completed = [], []
    for file in files:
        runs = []
        for run in file.runs:
            own = structs.replace(
                run,
                plugins=(*run.plugins, *given.plugins),
                kubernetes_version=given.kubernetes_version or run.kubernetes_version,
                feature_gates=given.feature_gates or run.feature_gates,
                min_compatibility_version=given.min_compatibility_version
                or run.min_compatibility_version,
                allow_empty_state=run.allow_empty_state or given.allow_empty_state,
                extenders=run.extenders and given.extenders,
                plugin_timeout=given.plugin_timeout or run.plugin_timeout,
            )
            runs.append(in_project(own, file.path))
        completed.append(replace(file, runs=tuple(runs)))
        described += runs
    return show(answered(Expect(files=tuple(completed)), *described), options)
