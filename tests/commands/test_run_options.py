"""What the options of many runs say, and which of them contradict each other."""

from __future__ import annotations

import pytest

from ksched_cli.commands.command_line import positive_number
from ksched_cli.commands.run_options import ManyRunsOptions, executor_options
from ksched_cli.commands.runs import run_of
from ksched_cli.errors import UsageError
from ksched_cli.run.run import Run


def test_without_options_runs_are_made_here_one_after_the_other() -> None:
    executor = executor_options(ManyRunsOptions())
    assert (executor.workers, executor.address, executor.retries) == (0, "", 2)
    assert run_of(ManyRunsOptions()) == Run()


def test_options_say_what_all_runs_have() -> None:
    given = {
        "plugin": ["p.py"],
        "kubernetes_version": "1.35",
        "feature_gates": "A=true",
        "no_workloads": True,
        "no_extenders": True,
    }
    assert run_of(ManyRunsOptions(given=given)) == Run(
        plugins=("p.py",),
        kubernetes_version="1.35",
        feature_gates="A=true",
        workloads=False,
        extenders=False,
    )


def test_workers_and_a_scheduler_exclude_each_other() -> None:
    with pytest.raises(UsageError, match="--workers cannot be combined with --scheduler"):
        executor_options(ManyRunsOptions(workers=2, scheduler="tcp://host:8786"))


@pytest.mark.parametrize("text", ["soon", "0", "-1", "nan", "inf", "", "1e9"])
def test_a_time_that_is_no_number_above_0_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--run-timeout takes a number of seconds above 0"):
        positive_number("--run-timeout", "a number of seconds")(text)
