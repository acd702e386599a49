"""`ksched sweep` from the command line."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.sweep import executors
from ksched_cli.sweep.environment import RunEnvironment
from ksched_cli.sweep.execution import Executor
from ksched_cli.sweep.materials import Materials, Run
from ksched_cli.sweep.outcome import Outcome, perform
from tests.commands.runners import Ksched
from tests.report.schemas import conforms
from tests.sweep.sweeps import STRATEGY, write_sweep

PATCHES = [{"path": STRATEGY, "values": ["LeastAllocated", "MostAllocated"]}]


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other processes take long to start; tests/sweep has tests with them."""

    def serially(materials: Materials, timeout: float) -> Executor:
        environment = RunEnvironment(materials)

        def execute(runs: Iterator[Run], count: int) -> Iterator[tuple[Run, Outcome]]:
            for run in runs:
                yield run, {**perform(environment, run), "worker": "here"}

        return execute

    monkeypatch.setattr(executors, "serially", serially)
    monkeypatch.setattr("ksched_cli.sweep.execution.serially", serially)


def result(ksched: Ksched, *arguments: object, code: int = 0) -> dict[str, Any]:
    status, out, err = ksched("sweep", *arguments, "-o", "json")
    assert status == code, err
    return conforms(json.loads(out), "sweep_result")


def test_variants_are_compared_with_the_first(ksched: Ksched, tmp_path: Path) -> None:
    answer = result(ksched, write_sweep(tmp_path, patches=PATCHES, seeds=3))
    runs = {"planned": 6, "ok": 6, "error": 0, "timeout": 0, "lost": 0, "resumed": 0}
    assert answer["runs"] == runs
    assert answer["baseline"] == "NodeResourcesFit.type=LeastAllocated"
    base, packed = answer["variants"]
    assert base["metrics"]["nodesUsed"]["difference"] is None
    nodes = packed["metrics"]["nodesUsed"]
    assert nodes["difference"]["median"] < 0
    assert (nodes["pairs"], nodes["winRate"]) == (3, 1.0)


def test_rows_are_written_and_gone_on_with(ksched: Ksched, tmp_path: Path) -> None:
    file, rows = write_sweep(tmp_path, seeds=3), tmp_path / "rows.jsonl"
    first = result(ksched, file, "--rows", rows)
    for line in rows.read_text().splitlines():
        conforms(json.loads(line), "sweep_row")
    again = result(ksched, write_sweep(tmp_path, seeds=4), "--rows", rows)
    assert (first["runs"]["resumed"], again["runs"]["resumed"]) == (0, 3)
    assert len(rows.read_text().splitlines()) == 4


def test_csv_has_a_line_per_run(ksched: Ksched, tmp_path: Path) -> None:
    _, out, _ = ksched("sweep", write_sweep(tmp_path, patches=PATCHES, seeds=2), "-o", "csv")
    lines = list(csv.DictReader(io.StringIO(out)))
    assert [(line[f"patches.{STRATEGY}"], line["seed"]) for line in lines] == [
        (value, seed) for value in ("LeastAllocated", "MostAllocated") for seed in ("0", "1")
    ]
    assert [line["nodesUsed"] for line in lines] == ["3", "3", "2", "2"]


def test_the_table_has_a_part_for_each_metric_that_differs(ksched: Ksched, tmp_path: Path) -> None:
    code, out, err = ksched("sweep", write_sweep(tmp_path, patches=PATCHES, seeds=3))
    assert code == 0, err
    assert out.startswith("6 runs: 6 ok; ")
    assert "nodesUsed, less is better" in out
    assert "the same in every run: pending 0, evicted 0" in out


def test_a_dry_run_says_how_many_runs_there_are(ksched: Ksched, tmp_path: Path) -> None:
    file, rows = write_sweep(tmp_path, patches=PATCHES, seeds=3), tmp_path / "rows.jsonl"
    code, out, _ = ksched("sweep", file, "--dry-run", "--rows", rows, "-o", "json")
    answer = conforms(json.loads(out), "sweep_plan")
    assert (code, answer["runs"], answer["resumed"]) == (0, 6, 0)
    assert answer["axes"][STRATEGY] == ["LeastAllocated", "MostAllocated"]
    assert answer["estimatedSeconds"] > 0
    assert rows.read_text() == ""
    _, out, _ = ksched("sweep", file, "--dry-run")
    assert out.startswith("6 runs; a run takes ")


def test_a_plugin_that_fails_is_exit_code_3(ksched: Ksched, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text(
        "from ksched_cli.api import FilterPlugin\n"
        "class Broken(FilterPlugin):\n"
        "    name = 'Broken'\n"
        "    def filter(self, state, pod, node):\n"
        "        raise ValueError('broken')\n"
    )
    file = write_sweep(tmp_path, plugins=[[], "broken.py"])
    answer = result(ksched, file, code=3)
    assert answer["runs"]["error"] == 1
    (failure,) = answer["failures"]
    assert failure["error"] == "plugin Broken failed in filter: ValueError: broken"
    _, out, _ = ksched("sweep", file)
    assert "2 runs: 1 ok, 1 error" in out
    assert "ValueError: broken" in out


def test_a_combination_that_is_not_valid_is_exit_code_1(ksched: Ksched, tmp_path: Path) -> None:
    """Each of the values is valid by itself."""
    patches = [
        {"path": "podInitialBackoffSeconds", "values": [1, 8]},
        {"path": "podMaxBackoffSeconds", "values": [5, 10]},
    ]
    answer = result(ksched, write_sweep(tmp_path, patches=patches), code=1)
    assert (answer["runs"]["ok"], answer["runs"]["error"]) == (3, 1)
    (failure,) = answer["failures"]
    assert failure["example"]["patches"] == {
        "podInitialBackoffSeconds": 8,
        "podMaxBackoffSeconds": 5,
    }
    assert "default configuration with patches" in failure["error"]


def test_a_metric_of_ones_own_is_compared(ksched: Ksched, tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text("def on_a(snapshot, run):\n    return 2.5\n")
    file = write_sweep(tmp_path, metrics={"on_a": "maximize", "missing": "minimize"})
    answer = result(ksched, file, "--metric", f"{tmp_path}/m.py:on_a")
    assert answer["metrics"] == [{"name": "on_a", "better": "more"}]
    assert answer["variants"][0]["metrics"]["on_a"]["median"] == 2.5
    assert any('no run has a metric "missing"' in line for line in answer["warnings"])


def test_ctrl_c_leaves_the_rows(
    ksched: Ksched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(materials: Materials, timeout: float) -> Executor:
        environment = RunEnvironment(materials)

        def execute(runs: Iterator[Run], count: int) -> Iterator[tuple[Run, Outcome]]:
            for index, run in enumerate(runs):
                if index == 2:
                    raise KeyboardInterrupt
                yield run, {**perform(environment, run), "worker": "here"}

        return execute

    monkeypatch.setattr(executors, "serially", interrupted)
    rows = tmp_path / "rows.jsonl"
    code, out, err = ksched("sweep", write_sweep(tmp_path, seeds=5), "--rows", rows)
    assert (code, out) == (130, "")
    assert f"interrupted: 2 of 5 runs are done; the same command goes on with {rows}" in err
    assert len(rows.read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--workers", "2", "--scheduler", "tcp://x:1"], "exclude each other"),
        (["--workers", "0"], "--workers takes a whole number of at least 1"),
        (["--run-timeout", "soon"], "--run-timeout takes a number of seconds above 0"),
        (["--dry-run", "-o", "csv"], "--dry-run has no rows"),
    ],
)
def test_bad_options_are_refused(
    arguments: list[str], problem: str, ksched: Ksched, tmp_path: Path
) -> None:
    code, out, err = ksched("sweep", write_sweep(tmp_path), *arguments)
    assert (code, out) == (2, "")
    assert problem in err
