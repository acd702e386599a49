"""Figures of plugins and of functions."""

from pathlib import Path

import pytest

from ksched_cli.errors import PluginDefectError, UsageError
from ksched_cli.sweep.environment import RunEnvironment
from ksched_cli.sweep.materials import CodeSource
from ksched_cli.sweep.metrics import load_metric, plugin_figures
from ksched_cli.sweep.preparation import Settings
from tests.sweep.sweeps import plan

METRICS = """
def on_a(snapshot, run):
    return sum(node == "a" for node in run.placements.values())

def both(snapshot, run):
    return {"nodes": len(snapshot), "share": 0.5}

def text(snapshot, run):
    return "many"

def broken(snapshot, run):
    raise ValueError("no")
"""
COUNTING = """
from ksched_cli.api import SUCCESS, FilterPlugin, Measures

class Counting(FilterPlugin, Measures):
    name = "Counting"

    def __init__(self, args, handle):
        self.calls = 0

    def filter(self, state, pod, node):
        self.calls += 1
        return SUCCESS

    def metrics(self):
        return {"called": RESULT}
"""


@pytest.fixture
def metrics(tmp_path: Path) -> Path:
    path = tmp_path / "metrics.py"
    path.write_text(METRICS)
    return path


def figures(metrics: Path, name: str) -> dict[str, float]:
    materials = plan(metrics.parent).materials
    simulation = RunEnvironment(materials).simulation(materials.run())
    record = simulation.run()
    return load_metric(CodeSource.of(f"{metrics}:{name}")).figures(simulation, record)


def test_a_function_gives_a_number_or_several(metrics: Path) -> None:
    assert figures(metrics, "on_a") == {"on_a": 2}
    assert figures(metrics, "both") == {"both.nodes": 3, "both.share": 0.5}


@pytest.mark.parametrize(
    ("name", "problem"),
    [("text", "metric text is 'many', expected a number"), ("broken", "broken: ValueError: no")],
)
def test_what_gives_no_number_is_a_defect(name: str, problem: str, metrics: Path) -> None:
    with pytest.raises(PluginDefectError, match=problem):
        figures(metrics, name)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("FILE:missing", "there is no function missing"),
        ("nothing_of_this_name:f", "ModuleNotFoundError"),
        ("json", "takes MODULE:FUNCTION or FILE.py:FUNCTION"),
    ],
)
def test_a_function_that_is_not_there_is_named(text: str, problem: str, metrics: Path) -> None:
    with pytest.raises(UsageError, match=problem):
        load_metric(CodeSource.of(text.replace("FILE", str(metrics))))


def test_a_plugin_adds_figures_under_its_name(tmp_path: Path) -> None:
    path = tmp_path / "counting.py"
    path.write_text(COUNTING.replace("RESULT", "self.calls"))
    materials = plan(tmp_path, Settings((str(path),), minors=("1.34",))).materials
    simulation = RunEnvironment(materials).simulation(materials.run())
    simulation.run()
    assert plugin_figures(simulation)["Counting.called"] > 0


def test_a_plugin_that_fails_to_measure_is_a_defect(tmp_path: Path) -> None:
    path = tmp_path / "counting.py"
    path.write_text(COUNTING.replace("RESULT", "1 / 0"))
    materials = plan(tmp_path, Settings((str(path),), minors=("1.34",))).materials
    with pytest.raises(PluginDefectError, match="Counting failed in metrics: ZeroDivisionError"):
        plugin_figures(RunEnvironment(materials).simulation(materials.run()))
