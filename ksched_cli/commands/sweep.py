"""`ksched sweep`: many runs, on this machine or on a Dask cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from ksched_cli.commands.output import show
from ksched_cli.commands.run_options import (
    ManyRunsOptions,
    executor_options,
    import_policy,
)
from ksched_cli.commands.runs import answered, in_project, run_of
from ksched_cli.errors import ExitCode, UsageError
from ksched_cli.report.forms import Form

if TYPE_CHECKING:
    from ksched_cli.analysis.question import Question
    from ksched_cli.answers import Answer
    from ksched_cli.run.run import Run


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
    from ksched_cli.commands.observer import ResumedTerminal
    from ksched_cli.sweep.execution import open_executor
    from ksched_cli.sweep.preparation import every, prepare
    from ksched_cli.sweep.questions import PlanSweep, Sweep
    from ksched_cli.sweep.sweep_file import read_sweep

    cluster = executor_options(options)
    if options.dry_run and options.output in (Form.CSV, Form.PARQUET):
        raise UsageError(
            f"--dry-run cannot be combined with -o {options.output.value}, which prints rows"
        )
    sweep_file = read_sweep(file, in_project(run_of(options), file))
    policy = import_policy(options, file, sweep_file)

    def is_named(run: Run) -> bool:
        return all(map(policy.names, run.plugins))

    may_import = is_named if options.dry_run else every
    plan = sweep_file.plan
    prepared = prepare(sweep_file.document, [plan], options.metric or (), may_import)
    question: Question[Answer] = Sweep(
        plan=plan,
        prepared=prepared,
        executor=lambda: open_executor(prepared.shared, cluster),
        metrics=sweep_file.metrics,
        rows=options.rows,
        with_rows=options.output in (Form.CSV, Form.PARQUET),
    )
    if options.dry_run:
        question = PlanSweep(
            plan=plan,
            prepared=prepared,
            workers=max(cluster.workers, 1),
            timeout=cluster.timeout,
            rows=options.rows,
            may_import=may_import,
        )
    return show(answered(question, observer=ResumedTerminal(options.rows, "--rows")), options)
