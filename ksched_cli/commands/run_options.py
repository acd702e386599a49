"""The options of commands that make many runs, and what they say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from ksched_cli.commands.command_line import MAX_SECONDS, whole_number
from ksched_cli.commands.options import CommonOptions, NoExtenders, NoWorkloads
from ksched_cli.errors import UsageError

if TYPE_CHECKING:
    from ksched_cli.sweep.execution import ExecutorOptions
    from ksched_cli.sweep.preparation import Prepared, Settings


def seconds(text: str | float) -> float:
    """A parser of --run-timeout. Raises UsageError for what is no number above 0."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number <= MAX_SECONDS:
        raise UsageError(f'--run-timeout takes a number of seconds above 0; not "{text}"')
    return number


Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        metavar="N",
        parser=whole_number("--workers", 1, 1_000),
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
class RunOptions(CommonOptions):
    """What `sweep` and `tune` take: where runs are made, and what all of them have."""

    workers: Workers = None
    scheduler: Scheduler = ""
    retries: Retries = 2
    run_timeout: RunTimeout = 600.0
    metric: MetricOption = None
    no_workloads: NoWorkloads = False
    no_extenders: NoExtenders = False


def executor_options(options: RunOptions) -> ExecutorOptions:
    """Raises UsageError where they contradict each other."""
    from ksched_cli.sweep.execution import ExecutorOptions

    if options.workers and options.scheduler:
        raise UsageError("--workers and --scheduler exclude each other")
    return ExecutorOptions(
        options.workers or 0, options.scheduler, options.retries, options.run_timeout
    )


def settings_of(options: RunOptions) -> Settings:
    """What the options say of all runs."""
    from ksched_cli.sweep.preparation import Settings

    return Settings(
        tuple(options.plugin or ()),
        tuple(options.metric or ()),
        tuple(options.kubernetes_version or ()),
        options.feature_gates,
        not options.no_workloads,
        not options.no_extenders,
    )


def warn_of_materials(prepared: Prepared) -> None:
    """What the states lack; and whom the extenders of the configurations call."""
    from ksched_cli.commands import session
    from ksched_cli.commands.output import warn

    for line in prepared.warnings:
        warn(line)
    if prepared.materials.extenders:
        session.note_hosts(prepared.configurations)
