"""What a sweep would run."""

from pathlib import Path

import pytest

from ksched_cli.report.sweep_plan import SweepPlan, document, duration, table
from ksched_cli.report.table import Limit
from ksched_cli.sweep.execution import Execution
from ksched_cli.sweep.outcome import failure
from ksched_cli.sweep.rows import RowsFile
from tests.sweep.sweeps import plan


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(1.5, "1.5 seconds"), (119, "119.0 seconds"), (600, "10.0 minutes"), (9000, "2.5 hours")],
)
def test_durations_are_in_units_that_people_use(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_a_sample_that_fails_is_named(tmp_path: Path) -> None:
    with RowsFile() as rows:
        execution = Execution.of(plan(tmp_path, seeds=2), rows)
        failed = SweepPlan(execution, (0.5, failure("broken")), 1)
        assert not failed.is_ok
        assert table(failed, Limit(100)).startswith("2 runs; the first one ends in error: broken")
        assert document(failed)["sampleError"] == "broken"


def test_the_estimate_is_shared_by_the_workers(tmp_path: Path) -> None:
    with RowsFile() as rows:
        execution = Execution.of(plan(tmp_path, seeds=20), rows)
        assert SweepPlan(execution, (30.0, {"status": "ok"}), 4).estimate == 150
        assert SweepPlan(execution, None, 4).estimate == 0
