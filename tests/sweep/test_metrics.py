"""Figures of plugins and of functions."""

import json
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.analysis.metrics import load_metric
from ksched_cli.analysis.run_figures import Ended, Failed, Outcome
from ksched_cli.errors import UsageError
from ksched_cli.run.inputs import CodeSource
from ksched_cli.testing import node, pod
from tests.run.runs import TIMELINE
from tests.sweep.sweeps import sweep

METRICS = """
def on_a(snapshot, run):
    return sum(node == "a" for node in run.placements.values())

def both(snapshot, run):
    return {"nodes": len(snapshot), "share": 0.5}

def text(snapshot, run):
    return "many"

def broken(snapshot, run):
    raise ValueError("no")

def waited(snapshot, run):
    return {
        "pods": len(run.pods),
        "placed": max(pod.placed or 0 for pod in run.pods),
        "span": run.end,
    }
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
OVER_TIME = {"timelines": ["week.json"]}


@pytest.fixture
def metrics(tmp_path: Path) -> Path:
    path = tmp_path / "metrics.py"
    path.write_text(METRICS)
    (tmp_path / "week.json").write_text(json.dumps(TIMELINE))
    return path


def outcome_with(metrics: Path, *names: str, **fields: Any) -> Outcome:
    texts = tuple(f"{metrics}:{name}" for name in names)
    (outcome,) = sweep(metrics.parent, metrics=texts, **fields).outcomes()
    return outcome


def test_a_function_gives_a_number_or_several(metrics: Path) -> None:
    outcome = outcome_with(metrics, "on_a", "both")
    assert isinstance(outcome, Ended)
    assert outcome.metrics == {"on_a": 2, "both.nodes": 3, "both.share": 0.5}
    assert outcome.figures()["both.share"] == 0.5


def test_a_function_gets_the_answer_of_a_replay_with_times_in_seconds(metrics: Path) -> None:
    outcome = outcome_with(metrics, "waited", **OVER_TIME)
    assert isinstance(outcome, Ended)
    assert outcome.metrics == {"waited.pods": 6, "waited.placed": 5, "waited.span": 105}


@pytest.mark.parametrize(
    ("name", "problem"),
    [("text", "metric text is 'many', expected a number"), ("broken", "broken: ValueError: no")],
)
def test_what_gives_no_number_is_a_defect(name: str, problem: str, metrics: Path) -> None:
    outcome = outcome_with(metrics, name)
    assert isinstance(outcome, Failed)
    assert outcome.is_defect
    assert problem in outcome.error


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


@pytest.mark.parametrize("fields", [{}, OVER_TIME])
def test_a_plugin_adds_figures_under_its_name(fields: dict[str, Any], metrics: Path) -> None:
    (metrics.parent / "counting.py").write_text(COUNTING.replace("RESULT", "self.calls"))
    outcome = outcome_with(metrics, plugins=["counting.py"], **fields)
    assert isinstance(outcome, Ended)
    assert outcome.metrics["Counting.called"] > 0


def test_a_plugin_that_fails_to_measure_is_a_defect(metrics: Path) -> None:
    (metrics.parent / "counting.py").write_text(COUNTING.replace("RESULT", "1 / 0"))
    outcome = outcome_with(metrics, plugins=["counting.py"])
    assert isinstance(outcome, Failed)
    assert outcome.is_defect
    assert outcome.error == "plugin Counting failed in metrics: ZeroDivisionError: division by zero"


OVERTIME = """
from ksched_cli.api import SUCCESS, FilterPlugin, Measures

class Seconds(FilterPlugin, Measures):
    "The pods on nodes, by seconds."
    name = "Seconds"

    def __init__(self, args, handle):
        self.handle, self.total, self.pods, self.since = handle, 0.0, 0, None

    def carry_over(self, previous):
        self.total, self.pods, self.since = previous.total, previous.pods, previous.since

    def filter(self, state, pod, node):
        return SUCCESS

    def measure(self, now):
        BROKEN
        if self.since is not None:
            self.total += self.pods * (now - self.since)
        self.since, self.pods = now, int(self.handle.snapshot.pod_count.sum())

    def metrics(self):
        return {"pods": self.total}
"""


def test_a_plugin_measures_over_time(metrics: Path) -> None:
    """A pod for 30 s, a second one from 10 to 25 s; in between a node joins, and the plugin is made
    anew. The end is at 40 s: 30 + 15 pod-seconds. The state's four pods run all the time: 160."""
    assert measured(metrics, "pass") == {"Seconds.pods": 205}


def measured(folder: Path, line: str) -> dict[str, float] | str:
    """The figures of OVERTIME with a line of code more, or its error."""
    (folder.parent / "seconds.py").write_text(OVERTIME.replace("BROKEN", line))
    timeline = {
        "apiVersion": "ksched/v1",
        "kind": "Timeline",
        "until": 40,
        "events": [
            {"at": 0, "pod": pod("a", cpu="100m"), "runsFor": 30},
            {"at": 5, "put": node("new", cpu=4)},
            {"at": 10, "pod": pod("b", cpu="100m"), "runsFor": 15},
        ],
    }
    (folder.parent / "week.json").write_text(json.dumps(timeline))
    outcome = outcome_with(folder, plugins=["seconds.py"], **OVER_TIME)
    return outcome.metrics if isinstance(outcome, Ended) else outcome.error


def test_a_plugin_that_fails_over_time_is_a_defect(metrics: Path) -> None:
    text = measured(metrics, "raise ValueError('no')")
    assert text == "plugin Seconds failed in measure: ValueError: no"
