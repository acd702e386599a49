"""`ksched sweep`: many runs, on this machine or on a Dask cluster."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer

from ksched_cli.commands import progress
from ksched_cli.commands.output import show, warn
from ksched_cli.commands.run_options import (
    ManyRunsOptions,
    executor_options,
    import_policy,
    interruptible,
    introduce,
)
from ksched_cli.commands.runs import in_project, run_of
from ksched_cli.errors import ExitCode, UsageError
from ksched_cli.kube.file_lock import locked
from ksched_cli.report.forms import Form

if TYPE_CHECKING:
    from ksched_cli.run.run import Run
    from ksched_cli.sweep.answers import SweepResult
    from ksched_cli.sweep.execution import Execution
    from ksched_cli.sweep.preparation import Shared
    from ksched_cli.sweep.run_process import ExecutorOptions
    from ksched_cli.sweep.sweep_file import SweepFile


@dataclass(frozen=True, slots=True)
class SweepOptions(ManyRunsOptions):
    """Options of `sweep`: a field per option.

    rows FILE.jsonl: Save a row of every run to this file; resume if it exists.
    dry_run: Show the number of runs and how long they take.
    """

    rows: str = ""
    dry_run: bool = False


def sweep(
    options: SweepOptions,
    file: Annotated[str, typer.Argument(metavar="FILE", help="File of kind Sweep.")],
) -> ExitCode:
    """Many runs: every combination of what a file says.

    FILE lists states, timelines, configurations, changes, values, seeds, versions, autoscalers and
    other parts of a run. Each run is a `schedule`, or a `replay` where there are timelines. The
    result compares the variants with the first one, on the same states with the same seeds. -o csv
    has a line per run. Without --workers or --scheduler, runs are made one after the other. Exit
    code 0 when every run ended well, 1 when some did not, 3 when a plugin failed.

    Examples:
        ksched sweep sweep.yaml --dry-run
        ksched sweep sweep.yaml --rows rows.jsonl --workers 2
        ksched sweep sweep.yaml -o csv
    """
    from ksched_cli.sweep.answers import SweepPlan
    from ksched_cli.sweep.execution import Execution
    from ksched_cli.sweep.outcome import RowsFile, is_evicting
    from ksched_cli.sweep.preparation import every, prepare
    from ksched_cli.sweep.run_process import serially
    from ksched_cli.sweep.sweep_file import read_sweep

    cluster = executor_options(options)
    if options.dry_run and options.output is Form.CSV:
        raise UsageError(
            f"--dry-run cannot be combined with -o {options.output.value}, which prints rows"
        )
    sweep_file = read_sweep(file, in_project(run_of(options), file))
    policy = import_policy(options, file, sweep_file)

    def is_named(run: Run) -> bool:
        return all(map(policy.names, run.plugins))

    may_import = is_named if options.dry_run else every
    prepared = prepare(sweep_file.document, [sweep_file.plan], options.metric or (), may_import)
    introduce(prepared)
    with (
        locked("" if options.dry_run else options.rows, "--rows"),
        RowsFile(options.rows, dry_run=options.dry_run) as rows_file,
    ):
        execution = Execution.of(sweep_file.plan, prepared.shared, rows_file)
        if options.dry_run:
            executor = serially(prepared.shared, cluster.timeout)
            sample = execution.sample(executor, may_import)
            return show(SweepPlan.of(execution, sample, max(cluster.workers, 1)), options)
        answer = _run(execution, prepared.shared, cluster, sweep_file, options)
        if any(is_evicting(result.outcome) for result in execution.results()):
            warn(*prepared.eviction_warnings)
        measured = {metric.name for metric in answer.metrics}
        for name in sweep_file.metrics:
            if name not in measured and answer.runs.ok:
                warn(f'no run has the metric "{name}"; -o csv lists the metrics')
        return show(answer, options)


def _run(
    execution: Execution,
    shared: Shared,
    cluster: ExecutorOptions,
    file: SweepFile,
    options: SweepOptions,
) -> SweepResult:
    """Make the runs that have no rows, and compare all."""
    from ksched_cli.sweep.answers import SweepResult
    from ksched_cli.sweep.execution import open_executor
    from ksched_cli.sweep.summary import summarize

    planned, resumed = execution.planned, execution.resumed
    worker_count, begin = 1, perf_counter()
    if resumed < planned:
        with (
            interruptible(
                lambda: f"{execution.resumed:,} of {planned:,} runs are done",
                options.rows,
                "--rows",
            ),
            open_executor(shared, cluster) as (executor, worker_count),
            progress.of("runs") as on_row,
        ):
            begin = perf_counter()
            execution.execute(executor, on_row)
    took = perf_counter() - begin
    plan = execution.plan
    summary = summarize(
        execution.results(), plan.variants, file.metrics, is_over_time=plan.is_over_time
    )
    return SweepResult.of(
        summary,
        planned,
        resumed=resumed,
        seconds=took,
        workers=worker_count,
        file=options.rows,
        rows=execution.all_rows() if options.output is Form.CSV else (),
    )
