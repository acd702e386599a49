"""`ksched sweep`: many runs, on this machine or on a Dask cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from ksched_cli.commands.command import ExitCode
from ksched_cli.commands.command_line import whole_number
from ksched_cli.commands.options import CommonOptions, NoExtenders, NoWorkloads
from ksched_cli.errors import InterruptedRunError, UsageError
from ksched_cli.report.forms import Form

if TYPE_CHECKING:
    from ksched_cli.report.sweep import SweepReport
    from ksched_cli.sweep.execution import Execution, ExecutorOptions
    from ksched_cli.sweep.preparation import Prepared, Settings


def seconds(text: str | float) -> float:
    """A parser of --run-timeout. Raises UsageError for what is no number above 0."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise UsageError(f'--run-timeout takes a number of seconds above 0; not "{text}"')
    return number


Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        metavar="N",
        parser=whole_number("--workers", 1),
        help="So many processes of this machine, started by Dask (ksched[sweep]).",
        show_default="one run after the other",
    ),
]
Scheduler = Annotated[
    str,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        help="The workers of a Dask cluster that is there, as tcp://host:8786 (ksched[sweep]).",
        show_default=False,
    ),
]
Retries = Annotated[
    int,
    typer.Option(
        "--retries",
        metavar="N",
        parser=whole_number("--retries", 0),
        help="How often a run is sent again whose worker is gone.",
    ),
]
RunTimeout = Annotated[
    float,
    typer.Option(
        "--run-timeout",
        metavar="SECONDS",
        parser=seconds,
        help="A run that takes longer is ended, with its process.",
    ),
]
MetricOption = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        metavar="MODULE:FUNCTION|FILE.py:FUNCTION",
        help="A figure of your own: called with the snapshot after each run and the run's record; "
        "repeatable.",
    ),
]


@dataclass(frozen=True, slots=True)
class SweepOptions(CommonOptions):
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
    workers: Workers = None
    scheduler: Scheduler = ""
    retries: Retries = 2
    run_timeout: RunTimeout = 600.0
    metric: MetricOption = None
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Say how many runs there are, and how long they take."),
    ] = False
    no_workloads: NoWorkloads = False
    no_extenders: NoExtenders = False


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

    cluster = executor_options(
        options.workers, options.scheduler, options.retries, options.run_timeout
    )
    if options.dry_run and options.output in (Form.CSV, Form.HTML):
        raise UsageError(f"--dry-run has no rows: it does not go with -o {options.output.value}")
    sweep_file = read_sweep(file)
    settings = settings_of(options, options.metric, options.no_workloads, options.no_extenders)
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


def executor_options(
    workers: int | None, scheduler: str, retries: int, run_timeout: float
) -> ExecutorOptions:
    """Raises UsageError where they contradict each other."""
    from ksched_cli.sweep.execution import ExecutorOptions

    if workers and scheduler:
        raise UsageError("--workers and --scheduler exclude each other")
    return ExecutorOptions(workers or 0, scheduler, retries, run_timeout)


def settings_of(
    options: CommonOptions, metrics: list[str] | None, no_workloads: bool, no_extenders: bool
) -> Settings:
    """What the options say of all runs."""
    from ksched_cli.sweep.preparation import Settings

    return Settings(
        tuple(options.plugin or ()),
        tuple(metrics or ()),
        tuple(options.kubernetes_version or ()),
        options.feature_gates,
        not no_workloads,
        not no_extenders,
    )


def warn_of_materials(prepared: Prepared) -> None:
    """What the states lack; and whom the extenders of the configurations call."""
    from ksched_cli.commands import session
    from ksched_cli.commands.output import warn

    for line in prepared.warnings:
        warn(line)
    if prepared.materials.extenders:
        session.note_hosts(prepared.configurations)


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
