"""`ksched tune`: the values in a configuration that serve some objectives best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from ksched_cli.commands.command import ExitCode
from ksched_cli.commands.options import CommonOptions
from ksched_cli.commands.run_options import (
    RunOptions,
    executor_options,
    settings_of,
    warn_of_materials,
)
from ksched_cli.errors import InterruptedRunError

if TYPE_CHECKING:
    from ksched_cli.sweep.tune import TuneResult


@dataclass(frozen=True, slots=True)
class TuneOptions(RunOptions):
    """Of `tune`: a field per option."""

    study: Annotated[
        str,
        typer.Option(
            "--study",
            metavar="FILE",
            help="Keep the trials here, and go on with those that are there.",
            show_default=False,
        ),
    ] = ""
    best: Annotated[
        str,
        typer.Option(
            "--best",
            metavar="FILE",
            help="Write the tuned configuration here; else it is printed.",
            show_default=False,
        ),
    ] = ""


def tune(
    options: TuneOptions,
    file: Annotated[str, typer.Argument(metavar="FILE", help="Of kind Tune.")],
) -> ExitCode:
    """The weights, args and sampling that serve one or several metrics best.

    FILE names the states and seeds of the trials, the space, the objectives, and the states or
    seeds that no trial sees: the result is compared with the untuned configuration there. Needs the
    extra tune. Exit code 0 when it is better there, 1 when it is not.
    """
    from ksched_cli.commands import progress
    from ksched_cli.commands.output import set_release
    from ksched_cli.live.snapshot_file import check_writable
    from ksched_cli.sweep.executors import open_executor
    from ksched_cli.sweep.tune import read_problem, search_and_judge
    from ksched_cli.sweep.tune_file import read_tune
    from ksched_cli.sweep.tuning import Search

    cluster = executor_options(options)
    if options.best:
        check_writable(options.best)
    settings = settings_of(options)
    problem, prepared = read_problem(read_tune(file), settings)
    set_release(prepared.release)
    warn_of_materials(prepared)
    search = Search(problem, options.study)
    try:
        with (
            open_executor(problem.materials, cluster) as (executor, _),
            progress.of_runs("trials") as on_trial,
        ):
            result = search_and_judge(problem, search, executor, on_trial)
    except KeyboardInterrupt:
        done = f"{search.ended:,} of {problem.file.trials:,} trials are done"
        hint = (
            f"; the same command goes on with {options.study}"
            if options.study
            else "; --study keeps them"
        )
        raise InterruptedRunError(f"interrupted: {done}{hint}") from None
    if options.best:
        _write(options.best, result)
    _show(result, options.best, options)
    return ExitCode.YES if result.is_better else ExitCode.NO


def _write(path: str, result: TuneResult) -> None:
    """Raises UsageError."""
    from ksched_cli.live.snapshot_file import written_aside
    from ksched_cli.report.tune import configuration_text

    with written_aside(path) as file:
        file.write(configuration_text(result.configuration).encode())


def _show(result: TuneResult, best: str, options: CommonOptions) -> None:
    from ksched_cli.commands.output import limit, show
    from ksched_cli.report import tune as renderer
    from ksched_cli.report.forms import Report

    show(
        Report(
            document=lambda: renderer.document(result, best),
            table=lambda: renderer.table(result, best, limit()),
            headline=lambda: renderer.headline(result),
        ),
        options.output,
    )
