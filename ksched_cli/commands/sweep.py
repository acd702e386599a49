"""`ksched sweep`: many runs, on this machine or on a Dask cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter
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
from ksched_cli.errors import InterruptedRunError, UsageError
from ksched_cli.report.forms import Form

if TYPE_CHECKING:
    from ksched_cli.report.sweep import SweepReport
    from ksched_cli.sweep.execution import Execution, ExecutorOptions


@dataclass(frozen=True, slots=True)
class SweepOptions(RunOptions):
    """Of `sweep`: a field per option."""

    rows: Annotated[
        str,
        typer.Option(
            "--rows",
            metavar="FILE.jsonl",
            help="Keep a row of every run here; runs that have one are not made again.",
            show_default=False,
        ),
    ] = ""
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Say how many runs there are, and how long they take."),
    ] = False


def sweep(
    options: SweepOptions,
    file: Annotated[str, typer.Argument(metavar="FILE", help="Of kind Sweep.")],
) -> ExitCode:
    """Many runs: states, configurations, changes, values in configurations, seeds, versions.

    FILE names them, and this makes every combination, each as `schedule` would. The result compares
    the variants with the first of them, run by run on the same state with the same seed. -o csv has
    a line per run. Without --workers or --scheduler the runs are made one after the other. Exit
    code 0 when every run came to its end, 1 when some did not, 3 when a plugin failed.
    """
    from ksched_cli.commands.output import set_release
    from ksched_cli.sweep.execution import Execution
    from ksched_cli.sweep.preparation import plan_of
    from ksched_cli.sweep.rows import RowsFile
    from ksched_cli.sweep.sweep_file import read_sweep

    cluster = executor_options(options)
    if options.dry_run and options.output in (Form.CSV, Form.HTML):
        raise UsageError(f"--dry-run has no rows: it does not go with -o {options.output.value}")
    sweep_file = read_sweep(file)
    settings = settings_of(options)
    plan, prepared = plan_of(sweep_file, settings)
    set_release(prepared.release)
    warn_of_materials(prepared)
    with RowsFile(options.rows) as rows_file:
        execution = Execution.of(plan, rows_file)
        if options.dry_run:
            return _show_plan(execution, cluster, options)
        report = _run(execution, cluster, sweep_file.metrics, options.rows)
        _warn_of_missing_metrics(sweep_file.metrics, report)
        _show(report, execution, options)
    if report.summary.is_defective:
        return ExitCode.DEFECT
    return ExitCode.YES if set(report.summary.statuses) <= {"ok"} else ExitCode.NO


def _run(
    execution: Execution,
    options: ExecutorOptions,
    metrics: Mapping[str, str],
    rows: str,
) -> SweepReport:
    """Makes the runs that have no rows. Raises InterruptedRunError at Ctrl-C; the rows stay."""
    from ksched_cli.commands import progress
    from ksched_cli.report.sweep import SweepReport
    from ksched_cli.sweep.executors import open_executor
    from ksched_cli.sweep.plan import Variants
    from ksched_cli.sweep.summary import summarize

    planned, resumed = len(execution.ids), execution.resumed
    worker_count, begin = 1, perf_counter()
    if resumed < planned:
        try:
            with open_executor(execution.plan.materials, options) as (executor, worker_count):
                begin = perf_counter()
                with progress.of_runs() as on_row:
                    execution.execute(executor, on_row)
        except KeyboardInterrupt:
            done = f"{execution.resumed:,} of {planned:,} runs are done"
            hint = f"; the same command goes on with {rows}" if rows else "; --rows keeps them"
            raise InterruptedRunError(f"interrupted: {done}{hint}") from None
    took = perf_counter() - begin
    variants = Variants.of(execution.plan)
    summary = summarize(execution.all_rows(), variants, list(execution.variants), metrics)
    return SweepReport(summary, planned, resumed, took, worker_count, rows)


def _warn_of_missing_metrics(metrics: Mapping[str, str], report: SweepReport) -> None:
    from ksched_cli.commands.output import warn

    for name in metrics:
        if name not in report.summary.metrics and report.summary.statuses.get("ok"):
            warn(f'no run has a metric "{name}"; -o csv shows those that there are')


def _show(report: SweepReport, execution: Execution, options: CommonOptions) -> None:
    from ksched_cli.commands.output import limit, show
    from ksched_cli.report import sweep as renderer
    from ksched_cli.report.forms import Report
    from ksched_cli.report.table import PAGE

    show(
        Report(
            document=lambda: renderer.document(report),
            table=lambda: renderer.table(report, limit()),
            headline=lambda: renderer.headline(report, PAGE),
            texts={Form.CSV: lambda: renderer.rows_as_csv(execution.all_rows())},
        ),
        options.output,
    )


def _show_plan(execution: Execution, cluster: ExecutorOptions, options: CommonOptions) -> ExitCode:
    """The runs that there would be, and how long they would take. The sample is a run of this
    machine."""
    from ksched_cli.commands.output import limit, show
    from ksched_cli.report import sweep_plan as renderer
    from ksched_cli.report.forms import Report
    from ksched_cli.sweep.execution import serially

    executor = serially(execution.plan.materials, cluster.timeout)
    plan = renderer.SweepPlan(execution, execution.sample(executor), max(cluster.workers, 1))
    show(
        Report(
            document=lambda: renderer.document(plan),
            table=lambda: renderer.table(plan, limit()),
        ),
        options.output,
    )
    return ExitCode.YES if plan.is_ok else ExitCode.NO
