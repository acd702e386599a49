"""What a sweep would run."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from ksched_cli.analysis.run_figures import Failed
from ksched_cli.run.run import Run
from ksched_cli.sweep.answers import SweepPlan
from ksched_cli.sweep.execution import Execution
from ksched_cli.sweep.outcome import RowsFile
from tests.report.schemas import shown
from tests.run.runs import TIMELINE
from tests.sweep.sweeps import in_this_process, sweep
from tests.sweep.test_summary import result


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0123, "0.1s"), (1.5, "7.5s"), (119, "9m 55s"), (1800, "2h 30m")],
)
def test_durations_are_in_units_that_people_use(tmp_path: Path, seconds: float, text: str) -> None:
    read = sweep(tmp_path, seeds=5)
    with RowsFile() as rows:
        execution = Execution.of(read.plan, read.shared, rows)
        sample = replace(result("base", 0, 3).outcome, seconds=seconds)
        title = shown(SweepPlan.of(execution, sample, 1))[0]
    assert title == f"5 runs; a run takes {seconds:.3g}s: {text}"


def test_a_sample_that_fails_is_named(tmp_path: Path) -> None:
    read = sweep(tmp_path, seeds=2)
    with RowsFile() as rows:
        execution = Execution.of(read.plan, read.shared, rows)
        failed = SweepPlan.of(execution, Failed(error="broken", seconds=0.5), 1)
        assert shown(failed)[0] == "2 runs; the first one ends in error: broken"
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
        text = " ".join(shown(missing))
        assert text.startswith("2 runs; their duration is unknown: --dry-run imports only")
        execution.execute(in_this_process(read.shared))
        complete = SweepPlan.of(execution, None, 1)
        assert complete.estimated_seconds == 0
        assert shown(complete)[0] == "2 runs, of which 2 have rows"


def test_axes_are_listed_with_their_values(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(json.dumps(TIMELINE))
    read = sweep(tmp_path, Run(), timelines=["t.json"], noRetries=[False, True], seeds=2)
    with RowsFile() as rows:
        plan = SweepPlan.of(Execution.of(read.plan, read.shared, rows), None, 1)
        axes = plan.axes
        assert (axes["timelines"], axes["noRetries"]) == (("t.json",), (False, True))
        assert (axes["kubernetesVersions"], axes["seeds"]) == ((None,), (0, 1))
        assert "kubernetesVersions 1 the state's" in shown(plan)
