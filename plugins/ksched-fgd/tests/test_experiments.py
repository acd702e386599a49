"""Experiments from trace to table: a small one, run by ksched, and its measures."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from gpu_objects import gpu_node, gpu_pod
from ksched_fgd import PLUGINS
from ksched_fgd.command_line import main
from ksched_fgd.experiment import POLICIES, configuration
from ksched_fgd.figures import draw_figures
from ksched_fgd.gpu_requests import GpuRequest
from ksched_fgd.grid import read_rows
from ksched_fgd.measure import BINS, arrivals, measures
from ksched_fgd.results import (
    MEASURES,
    Agreement,
    Run,
    Table,
    agreement,
    compare_tables,
    read_results,
)
from ksched_fgd.traces import TraceError, TraceNode, TracePod
from ksched_fgd.typical_pods import Demand, TypicalPod
from ksched_fgd.workload import Workload

from ksched_cli.testing import cluster, simulate

NAN = float("nan")
PODS = ["name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec"] + [
    f"p{i},{1000 * (1 + i % 3)},1024,1,{(1000, 500, 250)[i % 3]}," for i in range(12)
]
NODES = ["sn,cpu_milli,memory_mib,gpu,model", "n1,64000,65536,4,T4", "n2,32000,65536,2,P100"]


@pytest.mark.parametrize("name", POLICIES)
def test_the_configuration_of_each_policy_places_pods(name: str) -> None:
    state = cluster(gpu_node("a"), gpu_node("b"), gpu_pod("p"), gpu_pod("q", 500))
    run = simulate(state, configuration(POLICIES[name], 1), PLUGINS)
    assert len(run.placements) == 2
    assert all(attempt.notes for attempt in run.attempts)


def test_the_measures_follow_the_pods_as_they_arrive() -> None:
    """Two GPUs. Half of one is asked for, then one and a half more, of which a whole one fits
    nowhere; all typical pods want a whole GPU."""
    node = TraceNode("n", 10_000, 1024, 2, "T4")
    pods = [
        TracePod("a", 1000, 1, GpuRequest(1, 500)),
        TracePod("b", 1000, 1, GpuRequest(1, 500)),
        TracePod("c", 1000, 1, GpuRequest(2, 1000)),
    ]
    workload = Workload(pods, [node], [TypicalPod(Demand(1000, GpuRequest(1, 1000)), 1.0)])
    result = {
        "placements": {"paib-gpu/a": "n", "paib-gpu/b": "n"},
        "notes": {"paib-gpu/a": {"GPU": [0]}, "paib-gpu/b": {"GPU": [1]}},
    }
    measured = measures(workload.nodes, workload.typical, arrivals(workload, result))
    assert measured.gpus == 2
    assert (measured.allocated[25], measured.allocated[50]) == (25.0, 50.0)
    assert (measured.fragments[25], measured.fragments[50]) == (25.0, 50.0)
    assert measured.idle_fragments[25] == 33.33
    assert measured.idle_fragments[50] == 100.0
    # An empty bin has the mean of its neighbours, and nothing where these are empty too.
    assert (measured.allocated[24], measured.allocated[51]) == (25.0, 50.0)
    assert measured.allocated[27] != measured.allocated[27]


@pytest.mark.filterwarnings("error")
def test_no_share_of_idle_gpus_counts_while_none_is_idle() -> None:
    """One GPU of 1,000. The pod that takes its last thousandth leaves nothing idle, of which
    upstream has no share either; the mean of its bin is that of the other pods there."""
    node = TraceNode("n", 10_000, 1024, 1, "T4")
    pods = [
        TracePod("a", 1000, 1, GpuRequest(1, 998)),
        TracePod("b", 1000, 1, GpuRequest(1, 2)),
        TracePod("c", 1000, 1, GpuRequest(1, 300)),
    ]
    workload = Workload(pods, [node], [TypicalPod(Demand(1000, GpuRequest(1, 1000)), 1.0)])
    result = {
        "placements": {"paib-gpu/a": "n", "paib-gpu/b": "n"},
        "notes": {"paib-gpu/a": {"GPU": [0]}, "paib-gpu/b": {"GPU": [0]}},
    }
    measured = measures(workload.nodes, workload.typical, arrivals(workload, result))
    assert measured.allocated[100] == pytest.approx(99.9)
    assert (measured.fragments[100], measured.fragments[130]) == (0.1, 0.0)
    assert measured.idle_fragments[100] == 100.0
    assert measured.idle_fragments[130] != measured.idle_fragments[130]


def test_values_agree_where_they_are_the_same_number_or_both_missing() -> None:
    assert agreement([1.0, NAN, 2.0], [1.0, NAN, 2.5]) == Agreement(1, 3, 2, 0.5)
    assert agreement([NAN], [1.0]) == Agreement(1, 1, 0, float("inf"))


def test_runs_that_the_paper_does_not_have_are_left_out() -> None:
    run, other = Run("w", "06-FGD", 1.3, 42), Run("w", "06-FGD", 1.3, 43)
    compared = compare_tables({run: [1.0], other: [2.0]}, {run: [1.0]})
    assert compared == {("w", "06-FGD"): Agreement(1, 1, 1, 0.0)}


def call(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["ksched-fgd", *map(str, arguments)])
    with pytest.raises(SystemExit) as end:
        main()
    return int(end.value.code or 0)


def test_a_run_adds_its_measures_and_compare_finds_them_equal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pods, nodes, ours = tmp_path / "pods.csv", tmp_path / "nodes.csv", tmp_path / "ours"
    pods.write_text("\n".join(PODS))
    nodes.write_text("\n".join(NODES))
    for policy in ("FGD", "Packing"):
        options = ("--policy", policy, "--seed", 7, "--results", ours)
        assert call(monkeypatch, "run", pods, nodes, *options) == 0
    assert "pods Packing 7: " in capsys.readouterr().out
    for measure in MEASURES:
        runs = set(read_results(ours, measure))
        assert runs == {Run("pods", name, 1.3, 7) for name in ("06-FGD", "04-GpuPacking")}
    assert call(monkeypatch, "compare", ours, ours) == 0
    assert "all: 786 of 786 equal" in capsys.readouterr().out


def test_compare_names_a_file_that_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, "compare", tmp_path, tmp_path) == 2
    assert "analysis_allo_discrete.csv cannot be read" in capsys.readouterr().err


def test_a_policy_that_is_none_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, "config", "--policy", "Best") == 2
    assert "Best is none of Random, DotProd" in capsys.readouterr().err


def test_results_that_are_no_table_are_refused(tmp_path: Path) -> None:
    (tmp_path / MEASURES[0].file).write_text("a,b\n1,2\n")
    with pytest.raises(TraceError, match="is not a file of results"):
        read_results(tmp_path, MEASURES[0])


def test_a_grid_is_a_sweep_whose_rows_have_the_measures_of_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same values by both ways: each pod is tried once."""
    pods, nodes, folder = tmp_path / "pods.csv", tmp_path / "nodes.csv", tmp_path / "grid"
    pods.write_text("\n".join(PODS))
    nodes.write_text("\n".join(NODES))
    chosen = ("--policies", "FGD,BestFit", "--seeds", "7-8", "-o", folder)
    assert call(monkeypatch, "grid", pods, "--nodes", nodes, *chosen) == 0
    assert "4 runs: ksched sweep" in capsys.readouterr().out
    assert json.loads((folder / "sweep.yaml").read_text())["noRetries"] is True
    rows, ours, single = tmp_path / "rows.jsonl", tmp_path / "ours", tmp_path / "single"
    command = [sys.executable, "-m", "ksched_cli", "sweep", folder / "sweep.yaml", "--rows", rows]
    subprocess.run([str(part) for part in command], check=True, capture_output=True)
    assert call(monkeypatch, "collect", rows, "--results", ours) == 0
    options = ("--policy", "FGD", "--seed", 8, "--results", single)
    assert call(monkeypatch, "run", pods, nodes, *options) == 0
    capsys.readouterr()
    assert call(monkeypatch, "compare", single, ours) == 0
    assert "all: 393 of 393 equal" in capsys.readouterr().out


def test_rows_that_are_not_of_a_grid_are_named(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"status": "error"}\n{"status": "ok", "state": "a b"}\n')
    with pytest.raises(TraceError, match=r"rows\.jsonl, line 2: no row of a grid"):
        read_rows(rows)


def test_a_figure_has_a_line_for_each_policy(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    values = [float(number) for number in range(BINS - 1)] + [NAN]
    table: Table = {Run("w", "06-FGD", 1.3, seed): values for seed in (42, 43)}
    (path,) = draw_figures(tmp_path / "new", "w", [(MEASURES[0], table)])
    assert path.name == "w-allocated.png"
    assert path.read_bytes().startswith(b"\x89PNG")
