"""Which runs are made, where, and where their rows go."""

import json
import os
import signal
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from ksched_cli.analysis.run_figures import Ended, Outcome
from ksched_cli.errors import InputError, MissingExtraError
from ksched_cli.sweep.execution import Execution, open_executor
from ksched_cli.sweep.outcome import RowsFile, Task
from ksched_cli.sweep.run_process import ExecutorOptions, RunProcess
from tests.report.schemas import conforms
from tests.sweep.sweeps import STRATEGY, Sweep, in_this_process, sweep, write_state

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


@pytest.mark.slow
def test_workers_of_this_machine_make_the_same_rows(tmp_path: Path) -> None:
    read = sweep(tmp_path, patches=PATCHES, seeds=4)
    with (
        open_executor(read.shared, ExecutorOptions(workers=2)) as (executor, workers),
        RowsFile() as rows,
    ):
        execution = Execution.of(read.plan, read.shared, rows)
        execution.execute(executor)
        results = list(execution.results())
    assert workers == 2
    assert {result.outcome.worker for result in results} <= {"local-1", "local-2"}
    outcomes = [replace(result.outcome, seconds=0, worker="") for result in results]
    assert outcomes == [replace(outcome, seconds=0) for outcome in read.outcomes()]


# A run says which process makes it.
SLOW = """
import os, time
from ksched_cli.api import SUCCESS, FilterPlugin, Measures

class Slow(FilterPlugin, Measures):
    name = "Slow"
    def filter(self, state, pod, node):
        return SUCCESS
    def metrics(self):
        time.sleep(0.4)
        return {"process": os.getpid()}
"""


@pytest.fixture
def slow(tmp_path: Path) -> Sweep:
    (tmp_path / "slow.py").write_text(SLOW)
    return sweep(tmp_path, plugins=["slow.py"], seeds=2)


@pytest.mark.slow
def test_a_run_that_takes_long_keeps_no_other_waiting(slow: Sweep) -> None:
    with open_executor(slow.shared, ExecutorOptions(workers=2)) as (executor, _):
        outcomes = [outcome for _, outcome in executor(iter(slow.tasks()), 2)]
    processes = {each.metrics["Slow.process"] for each in outcomes if isinstance(each, Ended)}
    assert len(processes) == 2


@pytest.mark.slow
def test_a_sweep_that_is_interrupted_ends_its_processes(slow: Sweep) -> None:
    with open_executor(slow.shared, ExecutorOptions(workers=2)) as (executor, _):
        runs = executor(iter(slow.tasks() * 2), 4)
        _, outcome = next(runs)
        del runs
    assert isinstance(outcome, Ended)
    with pytest.raises(ProcessLookupError):
        os.kill(int(outcome.metrics["Slow.process"]), 0)


@pytest.mark.slow
def test_a_process_that_is_killed_loses_no_row(slow: Sweep) -> None:
    statuses = []
    with open_executor(slow.shared, ExecutorOptions(workers=2)) as (executor, _):
        for _, outcome in executor(iter(slow.tasks() * 3), 6):
            assert isinstance(outcome, Ended)
            statuses.append(outcome.status)
            if len(statuses) == 1:
                os.kill(int(outcome.metrics["Slow.process"]), signal.SIGKILL)
    assert statuses == ["ok"] * 6


def test_what_breaks_while_a_process_is_waited_for_ends_the_sweep(
    slow: Sweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    def perform(*_: object) -> Outcome:
        raise MemoryError

    monkeypatch.setattr(RunProcess, "perform", perform)
    with (
        open_executor(slow.shared, ExecutorOptions(workers=2)) as (executor, _),
        pytest.raises(MemoryError),
    ):
        list(executor(iter(slow.tasks()), 2))


def test_without_dask_the_scheduler_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "ksched_cli.sweep.dask_workers", raising=False)
    monkeypatch.setitem(sys.modules, "distributed", None)
    options = ExecutorOptions(address="tcp://127.0.0.1:1")
    message = r"--scheduler needs the extra sweep: .* pip install '\.\[sweep\]'"
    with (
        pytest.raises(MissingExtraError, match=message),
        open_executor(sweep(tmp_path).shared, options),
    ):
        pass
