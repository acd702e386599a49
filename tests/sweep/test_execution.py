"""Which runs are made, where, and where their rows go."""

import json
import sys
from pathlib import Path

import pytest

from ksched_cli.errors import InputError, MissingExtraError
from ksched_cli.sweep.execution import Execution, open_executor
from ksched_cli.sweep.outcome import RowsFile, Task
from ksched_cli.sweep.run_process import ExecutorOptions
from tests.report.schemas import conforms
from tests.sweep.sweeps import STRATEGY, in_this_process, sweep, write_state

PATCHES = [{"path": STRATEGY, "values": ["LeastAllocated", "MostAllocated"]}]


def test_every_run_gets_a_row_that_its_schema_allows(tmp_path: Path) -> None:
    read = sweep(tmp_path, patches=PATCHES, seeds=2)
    progress: list[tuple[int, int]] = []
    with RowsFile() as rows:
        execution = Execution.of(read.plan, read.shared, rows)
        execution.execute(in_this_process(read.shared), lambda *n: progress.append(n))
        all_rows = [conforms(row, "sweep_row") for row in execution.all_rows()]
    assert [row["id"] for row in all_rows] == [task.id for task in read.tasks()]
    assert [(row["patches"][STRATEGY], row["seed"]) for row in all_rows] == [
        (value, seed) for value in ("LeastAllocated", "MostAllocated") for seed in (0, 1)
    ]
    assert progress == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_a_run_with_a_row_is_not_made_again(tmp_path: Path) -> None:
    path = str(tmp_path / "rows.jsonl")
    performed: list[Task] = []
    for patches in (PATCHES[:0], PATCHES, PATCHES):
        read = sweep(tmp_path, patches=patches, seeds=2)
        with RowsFile(path) as rows:
            execution = Execution.of(read.plan, read.shared, rows)
            execution.execute(in_this_process(read.shared, performed))
            assert execution.resumed == execution.planned
            row_counts = len(list(execution.all_rows())), len(list(rows.rows()))
    assert len(performed) == 6
    assert row_counts == (4, 6), "the file has rows of another sweep too"


def test_rows_have_the_names_that_the_file_has_now(tmp_path: Path) -> None:
    path = str(tmp_path / "rows.jsonl")
    performed: list[Task] = []
    for name in ("first", "second"):
        read = sweep(tmp_path, changes=[{"name": name, "changes": ["cordon a"]}])
        with RowsFile(path) as rows:
            execution = Execution.of(read.plan, read.shared, rows)
            execution.execute(in_this_process(read.shared, performed))
            assert [row["changes"] for row in execution.all_rows()] == [name]
    assert len(performed) == 1


def test_runs_that_are_the_same_are_made_once_and_count_for_each_variant(tmp_path: Path) -> None:
    write_state(tmp_path / "cluster.json")
    for name in ("x.yaml", "y.yaml"):
        (tmp_path / name).write_text(
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        )
    read = sweep(tmp_path, states=["cluster.json"], configurations=["x.yaml", "y.yaml"])
    performed: list[Task] = []
    with RowsFile() as rows:
        execution = Execution.of(read.plan, read.shared, rows)
        execution.execute(in_this_process(read.shared, performed))
        assert [result.variant for result in execution.results()] == ["x.yaml", "y.yaml"]
    assert (len(performed), execution.planned) == (1, 1)


def test_a_sample_writes_no_row(tmp_path: Path) -> None:
    read = sweep(tmp_path, seeds=3)
    with RowsFile() as rows:
        execution = Execution.of(read.plan, read.shared, rows)
        sample = execution.sample(in_this_process(read.shared))
        assert sample is not None
        assert sample.seconds > 0
        assert not rows.settled
        executor = in_this_process(read.shared)
        assert execution.sample(executor, may_import=lambda run: False) is None
        execution.execute(in_this_process(read.shared))
        assert execution.sample(in_this_process(read.shared)) is None


def test_a_row_that_was_changed_is_an_error(tmp_path: Path) -> None:
    read, path = sweep(tmp_path), tmp_path / "rows.jsonl"
    with RowsFile(str(path)) as rows:
        Execution.of(read.plan, read.shared, rows).execute(in_this_process(read.shared))
    path.write_text(json.dumps({**json.loads(path.read_text()), "placed": "many"}) + "\n")
    with RowsFile(str(path)) as rows, pytest.raises(InputError, match=r"the row of run .*placed"):
        Execution.of(read.plan, read.shared, rows)


# -- where runs are made --------------------------------------------------------------------------


def test_without_workers_one_run_is_made_after_the_other(tmp_path: Path) -> None:
    read = sweep(tmp_path, seeds=2)
    with open_executor(read.shared, ExecutorOptions()) as (executor, workers):
        outcomes = [outcome for _, outcome in executor(iter(read.tasks()), 2)]
    assert workers == 1
    assert [(item.status, item.worker) for item in outcomes] == [("ok", "serial")] * 2


def test_workers_of_this_machine_are_started_by_dask(tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="the extra sweep is not installed")
    read = sweep(tmp_path, seeds=2)
    with open_executor(read.shared, ExecutorOptions(workers=1)) as (executor, workers):
        outcomes = [outcome for _, outcome in executor(iter(read.tasks()), 2)]
    assert workers == 1
    assert [item.status for item in outcomes] == ["ok"] * 2
    assert outcomes[0].worker.startswith("tls://127.0.0.1:")


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (ExecutorOptions(workers=2), "--workers"),
        (ExecutorOptions(address="tcp://127.0.0.1:1"), "--scheduler"),
    ],
)
def test_without_dask_workers_name_the_extra(
    options: ExecutorOptions, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "ksched_cli.sweep.dask_workers", raising=False)
    monkeypatch.setitem(sys.modules, "distributed", None)
    message = rf"{name} needs the extra sweep: .* pip install '\.\[sweep\]'"
    with (
        pytest.raises(MissingExtraError, match=message),
        open_executor(sweep(tmp_path).shared, options),
    ):
        pass
