"""What a sweep would run."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from ksched_cli.report.sweep import duration_text, plan_table
from ksched_cli.report.table import Limit
from ksched_cli.run.run import Run
from ksched_cli.sweep.answers import SweepPlan
from ksched_cli.sweep.execution import Execution
from ksched_cli.sweep.outcome import Failed, RowsFile
from tests.run.runs import TIMELINE
from tests.sweep.sweeps import in_this_process, sweep
from tests.sweep.test_summary import result


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(1.5, "1.5 seconds"), (119, "119.0 seconds"), (600, "10.0 minutes"), (9000, "2.5 hours")],
)
def test_durations_are_in_units_that_people_use(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


def test_a_sample_that_fails_is_named(tmp_path: Path) -> None:
    read = sweep(tmp_path, seeds=2)
    with RowsFile() as rows:
        execution = Execution.of(read.plan, read.shared, rows)
        failed = SweepPlan.of(execution, Failed(error="broken", seconds=0.5), 1)
        assert plan_table(failed, Limit(100)).startswith(
            "2 runs; the first one ends in error: broken"
        )
        assert failed.sample_error == "broken"


def test_the_estimate_is_shared_by_the_workers(tmp_path: Path) -> None:
    read = sweep(tmp_path, seeds=20)
    with RowsFile() as rows:
        execution = Execution.of(read.plan, read.shared, rows)
        sample = replace(result("base", 0, 3).outcome, seconds=30)
        assert SweepPlan.of(execution, sample, 4).estimated_seconds == 150


def test_without_a_sample_there_is_no_estimate(tmp_path: Path) -> None:
    read = sweep(tmp_path, seeds=2)
    with RowsFile() as rows:
        execution = Execution.of(read.plan, read.shared, rows)
        missing = SweepPlan.of(execution, None, 1)
        assert (missing.sample_error, missing.estimated_seconds) == (None, None)
        text = " ".join(plan_table(missing, Limit(100)).split())
        assert text.startswith("2 runs; their duration is unknown: --dry-run imports only")
        execution.execute(in_this_process(read.shared))
        complete = SweepPlan.of(execution, None, 1)
        assert complete.estimated_seconds == 0
        assert plan_table(complete, Limit(100)).startswith("2 runs, of which 2 have rows\n")


def test_axes_are_listed_with_their_values(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(json.dumps(TIMELINE))
    read = sweep(tmp_path, Run(), timelines=["t.json"], noRetries=[False, True], seeds=2)
    with RowsFile() as rows:
        plan = SweepPlan.of(Execution.of(read.plan, read.shared, rows), None, 1)
        axes = plan.axes
        assert (axes["timelines"], axes["noRetries"]) == (("t.json",), (False, True))
        assert (axes["kubernetesVersions"], axes["seeds"]) == ((None,), (0, 1))
        text = plan_table(plan, Limit(100))
    assert "kubernetesVersions  1  the state's" in text
