"""Where runs are made."""

import sys
from pathlib import Path

import pytest

from ksched_cli.errors import MissingExtraError
from ksched_cli.sweep.execution import ExecutorOptions
from ksched_cli.sweep.executors import open_executor
from tests.sweep.sweeps import plan


def test_without_workers_one_run_is_made_after_the_other(tmp_path: Path) -> None:
    sweep = plan(tmp_path, seeds=2)
    with open_executor(sweep.materials, ExecutorOptions()) as (executor, workers):
        outcomes = [outcome for _, outcome in executor(sweep.runs(), 2)]
    assert workers == 1
    assert [(item["status"], item["worker"]) for item in outcomes] == [("ok", "serial")] * 2


def test_workers_of_this_machine_are_started_by_dask(tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="the extra sweep is not installed")
    sweep = plan(tmp_path, seeds=2)
    with open_executor(sweep.materials, ExecutorOptions(workers=1)) as (executor, workers):
        outcomes = [outcome for _, outcome in executor(sweep.runs(), 2)]
    assert workers == 1
    assert [item["status"] for item in outcomes] == ["ok"] * 2
    assert outcomes[0]["worker"].startswith("tcp://127.0.0.1:")


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
    monkeypatch.delitem(sys.modules, "ksched_cli.sweep.cluster", raising=False)
    monkeypatch.setitem(sys.modules, "distributed", None)
    message = rf"{name} needs the extra sweep: .* pip install '\.\[sweep\]'"
    with (
        pytest.raises(MissingExtraError, match=message),
        open_executor(plan(tmp_path).materials, options),
    ):
        pass
