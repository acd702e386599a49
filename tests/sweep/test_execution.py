"""Which runs are made, and where their rows go."""

from collections.abc import Iterator
from pathlib import Path

from ksched_cli.sweep.environment import RunEnvironment
from ksched_cli.sweep.execution import Execution, Executor
from ksched_cli.sweep.materials import Materials, Run
from ksched_cli.sweep.outcome import Outcome, perform
from ksched_cli.sweep.rows import RowsFile
from tests.report.schemas import conforms
from tests.sweep.sweeps import STRATEGY, plan

PATCHES = [{"path": STRATEGY, "values": ["LeastAllocated", "MostAllocated"]}]


def in_this_process(materials: Materials, performed: list[Run]) -> Executor:
    environment = RunEnvironment(materials)

    def execute(runs: Iterator[Run], count: int) -> Iterator[tuple[Run, Outcome]]:
        for run in runs:
            performed.append(run)
            yield run, {**perform(environment, run), "worker": "here"}

    return execute


def test_every_run_gets_a_row_that_its_schema_allows(tmp_path: Path) -> None:
    sweep = plan(tmp_path, patches=PATCHES, seeds=2)
    progress: list[tuple[int, int]] = []
    with RowsFile() as rows:
        execution = Execution.of(sweep, rows)
        execution.execute(in_this_process(sweep.materials, []), lambda *n: progress.append(n))
        all_rows = [conforms(row, "sweep_row") for row in execution.all_rows()]
    assert [row["id"] for row in all_rows] == [run.id for run in sweep.runs()]
    assert {(row["patches"][STRATEGY], row["seed"]) for row in all_rows} == {
        (value, seed) for value in ("LeastAllocated", "MostAllocated") for seed in (0, 1)
    }
    assert progress == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_a_run_with_a_row_is_not_made_again(tmp_path: Path) -> None:
    path = str(tmp_path / "rows.jsonl")
    performed: list[Run] = []
    for patches in (PATCHES[:0], PATCHES):
        sweep = plan(tmp_path, patches=patches, seeds=2)
        with RowsFile(path) as rows:
            execution = Execution.of(sweep, rows)
            execution.execute(in_this_process(sweep.materials, performed))
            assert execution.resumed == len(execution.ids)
    assert len(performed) == 6
    with RowsFile(path) as rows:
        execution = Execution.of(sweep, rows)
        assert not execution.execute(in_this_process(sweep.materials, performed))
        assert len(list(execution.all_rows())) == 4, "the file has rows of another sweep too"
        assert len(list(rows.rows())) == 6
    assert len(performed) == 6


def test_runs_that_are_the_same_are_made_once(tmp_path: Path) -> None:
    patches = [{"path": STRATEGY, "values": ["MostAllocated", "MostAllocated"]}]
    sweep = plan(tmp_path, patches=patches)
    performed: list[Run] = []
    with RowsFile() as rows:
        execution = Execution.of(sweep, rows)
        execution.execute(in_this_process(sweep.materials, performed))
    assert len(performed) == 1


def test_a_sample_writes_no_row(tmp_path: Path) -> None:
    sweep = plan(tmp_path, seeds=3)
    with RowsFile() as rows:
        execution = Execution.of(sweep, rows)
        sample = execution.sample(in_this_process(sweep.materials, []))
        assert sample is not None
        assert sample[0] > 0
        assert not rows.settled
        execution.execute(in_this_process(sweep.materials, []))
        assert execution.sample(in_this_process(sweep.materials, [])) is None
