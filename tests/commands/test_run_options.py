"""What the options of many runs say, and which of them contradict each other."""

from __future__ import annotations

import pytest

from ksched_cli.commands.run_options import RunOptions, executor_options, seconds, settings_of
from ksched_cli.errors import UsageError


def test_without_options_runs_are_made_here_one_after_the_other() -> None:
    executor = executor_options(RunOptions())
    assert (executor.workers, executor.address, executor.retries) == (0, "", 2)
    settings = settings_of(RunOptions())
    assert settings.workloads
    assert settings.extenders


def test_what_options_leave_out_is_left_out_of_all_runs() -> None:
    settings = settings_of(RunOptions(no_workloads=True, no_extenders=True, metric=["m:f"]))
    assert not settings.workloads
    assert not settings.extenders
    assert settings.metrics == ("m:f",)


def test_workers_and_a_scheduler_exclude_each_other() -> None:
    with pytest.raises(UsageError, match="--workers and --scheduler exclude each other"):
        executor_options(RunOptions(workers=2, scheduler="tcp://host:8786"))


@pytest.mark.parametrize("text", ["soon", "0", "-1", "nan", "inf", "", "1e9"])
def test_a_time_that_is_no_number_above_0_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--run-timeout takes a number of seconds above 0"):
        seconds(text)
