"""The options of commands that make many runs, and what they say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from ksched_cli.commands.command_line import option, positive_number, whole_number
from ksched_cli.commands.options import OF_CONFIGURATION, CommonOptions
from ksched_cli.commands.runs import refuses_plugins
from ksched_cli.errors import UsageError

if TYPE_CHECKING:
    from ksched_cli.framework.discovery import ImportPolicy
    from ksched_cli.sweep.run_process import ExecutorOptions
    from ksched_cli.sweep.sweep_file import SweepFile


@dataclass(frozen=True, slots=True)
class ManyRunsOptions(CommonOptions):
    """Options of `sweep` and `tune`: where runs are made, and what all of them have.

    workers N: Number of local worker processes.
    scheduler ADDRESS: Use the workers of a Dask cluster, such as tcp://host:8786 (ksched[sweep]).
    retries N: Number of retries of a run whose worker died.
    run_timeout SECONDS: End a run that takes longer, with its process.
    metric MODULE:FUNCTION|FILE.py:FUNCTION: Measure each run with this function of snapshot and
        record; repeatable.
    """

    TAKES: ClassVar = (*OF_CONFIGURATION, "allow_empty_state", "workloads")

    workers: Annotated[
        int | None,
        option(parser=whole_number("--workers", 1, 1_000), show_default="one run after the other"),
    ] = None
    scheduler: str = ""
    retries: Annotated[int, option(parser=whole_number("--retries", 0))] = 2
    run_timeout: Annotated[
        float, option(parser=positive_number("--run-timeout", "a number of seconds"))
    ] = 600.0
    metric: list[str] | None = None


def executor_options(options: ManyRunsOptions) -> ExecutorOptions:
    """Return how the runs are distributed. Raises UsageError if the options contradict each
    other."""
    from ksched_cli.sweep.run_process import ExecutorOptions

    if options.workers and options.scheduler:
        raise UsageError("--workers cannot be combined with --scheduler")
    return ExecutorOptions(
        options.workers or 0, options.scheduler, options.retries, options.run_timeout
    )


def import_policy(options: ManyRunsOptions, path: str, file: SweepFile) -> ImportPolicy:
    """Return which plugins may be imported. path: of the file. Raises UsageError if the file names
    another one."""
    from ksched_cli.framework.discovery import ImportPolicy
    from ksched_cli.sweep.plan import PLUGINS

    policy = ImportPolicy(options.given["plugin"] or (), not refuses_plugins(options, path))
    for run in map(file.plan.run, file.plan.varied(PLUGINS)):
        for source in run.plugins:
            policy.check(source, file.document.name)
    return policy
