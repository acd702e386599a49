"""Runs on a real cluster: two workers, over TCP on the loopback address."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("distributed", reason="the extra sweep is not installed")

from distributed import Client, LocalCluster

from ksched_cli.analysis.run_figures import Failed, Outcome
from ksched_cli.errors import UsageError
from ksched_cli.run.run import Run
from ksched_cli.sweep import dask_workers
from ksched_cli.sweep.dask_workers import Batches, VersionMismatchError, check_versions, on_cluster
from ksched_cli.sweep.execution import Execution
from ksched_cli.sweep.outcome import RowsFile, Task
from ksched_cli.sweep.run_process import Executor, ExecutorOptions, serially
from tests.sweep.sweeps import STRATEGY, Sweep, sweep

pytestmark = pytest.mark.slow

SEEDS = 5
PATCHES = [{"path": STRATEGY, "values": ["LeastAllocated", "MostAllocated"]}]
# Runs take their time; that with a node of this name ends its process.
SLOW_OR_POISON = """
import os, time
from ksched_cli.api import SUCCESS, FilterPlugin

class Poison(FilterPlugin):
    name = "Poison"
    def filter(self, state, pod, node):
        time.sleep(0.005)
        if node.name == "poison-1":
            os._exit(7)
        return SUCCESS
"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
    ) as cluster:
        yield cluster.scheduler_address


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sweep")
    (folder / "poison.py").write_text(SLOW_OR_POISON)
    return folder


@pytest.fixture(scope="module")
def read(folder: Path) -> Sweep:
    return sweep(folder, poisoned(folder), patches=PATCHES, seeds=SEEDS)


def poisoned(folder: Path) -> Run:
    return Run(plugins=(f"{folder}/poison.py",), kubernetes_version="1.34")


@pytest.fixture(scope="module")
def undisturbed(read: Sweep) -> list[dict[str, Any]]:
    return rows_of(read, serially(read.shared, 60))


def rows_of(read: Sweep, executor: Executor, path: str = "") -> list[dict[str, Any]]:
    """All rows but for the times."""
    with RowsFile(path) as rows:
        execution = Execution.of(read.plan, read.shared, rows)
        execution.execute(executor)
        return [{**row, "seconds": 0, "worker": ""} for row in execution.all_rows()]


def test_a_worker_that_is_killed_midway_loses_no_row(
    read: Sweep, undisturbed: list[dict[str, Any]], address: str
) -> None:
    with (
        Client(address) as client,
        on_cluster(read.shared, ExecutorOptions(address=address)) as (execute, workers),
    ):
        assert workers == 2

        def disturbed(tasks: Iterator[Task], count: int) -> Iterator[tuple[Task, Outcome]]:
            for index, pair in enumerate(execute(tasks, count)):
                if index == 2:
                    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
                yield pair

        assert rows_of(read, disturbed) == undisturbed


def test_an_interrupted_sweep_goes_on_where_it_was(
    read: Sweep, undisturbed: list[dict[str, Any]], address: str, tmp_path: Path
) -> None:
    path = str(tmp_path / "rows.jsonl")

    def interrupted(tasks: Iterator[Task], count: int) -> Iterator[tuple[Task, Outcome]]:
        for index, pair in enumerate(execute(tasks, count)):
            if index == 3:
                raise KeyboardInterrupt
            yield pair

    options = ExecutorOptions(address=address)
    with (
        pytest.raises(KeyboardInterrupt),
        on_cluster(read.shared, options) as (execute, _),
    ):
        rows_of(read, interrupted, path)
    assert len(Path(path).read_text().splitlines()) == 3
    with on_cluster(read.shared, options) as (execute, _):
        assert rows_of(read, execute, path) == undisturbed
    assert len(Path(path).read_text().splitlines()) == len(undisturbed)


def test_a_run_that_ends_its_process_is_an_error_and_all_others_are_made(
    folder: Path, address: str
) -> None:
    changes = [{"name": "none"}, "add-nodes poison --like a --count 1"]
    read = sweep(folder, poisoned(folder), changes=changes, seeds=[1])
    with on_cluster(read.shared, ExecutorOptions(address=address)) as (execute, _):
        rows = rows_of(read, execute)
    statuses = {row["changes"]: (row["status"], row.get("error")) for row in rows}
    assert statuses == {
        "none": ("ok", None),
        changes[1]: ("error", "its process ended: exit code 7"),
    }


def test_a_worker_of_another_version_is_refused_before_the_first_run(
    read: Sweep, address: str
) -> None:
    other = replace(read.shared, versions={"ksched": "0.0.9"})
    with (
        pytest.raises(VersionMismatchError, match=r"has ksched .*, this machine 0\.0\.9"),
        on_cluster(other, ExecutorOptions(address=address)),
    ):
        pass


@pytest.mark.parametrize(
    ("there", "problem"),
    [
        ({"ksched": "1", "p": "2"}, "the worker w has p 2, this machine 1"),
        ({"ksched": "1"}, "the worker w has p not installed, this machine 1"),
        (ModuleNotFoundError("No module named 'ksched_cli'"), "install ksched 1 there"),
    ],
)
def test_what_differs_between_versions_is_named(
    there: dict[str, str] | Exception, problem: str
) -> None:
    with pytest.raises(VersionMismatchError, match=problem):
        check_versions("w", there, {"ksched": "1", "p": "1"})


def test_a_cluster_that_does_not_answer_is_named(
    read: Sweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_workers, "CONNECT_SECONDS", 1)
    with (
        pytest.raises(UsageError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"),
        on_cluster(read.shared, ExecutorOptions(address="tcp://127.0.0.1:9")),
    ):
        pass


class GoneFuture:
    """A batch whose worker is gone for good."""

    status = "error"

    def exception(self) -> Exception:
        return RuntimeError("killed")


def test_a_run_that_never_comes_back_is_lost(read: Sweep) -> None:
    batches = Batches(None, "token", {}, retries=1)
    tasks = read.tasks()[:2]
    assert list(batches.settle(GoneFuture(), tasks, 0)) == [], "sent again"
    ((task, outcome),) = batches.settle(GoneFuture(), tasks[:1], 1)
    assert task is tasks[0]
    assert isinstance(outcome, Failed)
    assert outcome.status == "lost"
    assert outcome.error == "no worker came back with it, 2 times: RuntimeError"
