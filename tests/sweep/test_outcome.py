"""What comes of a run; tests/commands/test_sweep.py compares it with `schedule` and `replay`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.analysis.run_figures import Ended, Failed, Outcome
from ksched_cli.sweep.preparation import prepare
from ksched_cli.sweep.sweep_file import read_sweep
from ksched_cli.testing import node, pod
from tests.run.runs import TIMELINE
from tests.sweep.sweeps import BASE, Sweep, sweep, write_state

BROKEN = """
from ksched_cli.api import FilterPlugin

class Broken(FilterPlugin):
    name = "Broken"
    def filter(self, state, pod, node):
        raise ValueError("broken")
"""
HALF = """
import msgspec
from ksched_cli.api import ScorePlugin

class Args(msgspec.Struct):
    factor: float = 1.0

class Half(ScorePlugin):
    name = "Half"
    args = Args

    def __init__(self, args, handle):
        self.factor = args.factor

    def score(self, state, pod, node):
        return int(100 * self.factor) if node.name == "b" else 50
"""


def ended(outcome: Outcome) -> Ended:
    assert isinstance(outcome, Ended), outcome
    return outcome


def outcome_of(folder: Path, **fields: Any) -> Ended:
    """The only run's outcome."""
    (outcome,) = sweep(folder, **fields).outcomes()
    return ended(outcome)


def test_an_outcome_has_how_full_the_nodes_are(tmp_path: Path) -> None:
    outcome = outcome_of(tmp_path)
    assert (outcome.status, outcome.nodes_used) == ("ok", 3)
    assert outcome.utilization["cpu"].mean == pytest.approx((0.5 + 0.25 + 0.75) / 3)
    assert outcome.seconds > 0
    assert outcome.figures()["utilization.cpu.mean"] == outcome.utilization["cpu"].mean


def test_evictions_count(tmp_path: Path) -> None:
    write_state(
        tmp_path / "full.json",
        node("a", cpu="1"),
        pod("low", node="a", cpu="1", priority=0),
        pod("high", cpu="1", priority=10),
    )
    outcome = outcome_of(tmp_path, states=["full.json"])
    assert (outcome.placed, outcome.evicted, outcome.pending) == (1, 1, 0)


def test_placements_are_the_same_where_pods_are_on_the_same_nodes(tmp_path: Path) -> None:
    outcomes = sweep(tmp_path, seeds=[*range(6), 0]).outcomes()
    digests = [ended(outcome).placements for outcome in outcomes]
    assert digests[0] == digests[-1]
    assert len(set(digests)) > 1


def test_a_run_that_cannot_be_made_is_an_error_but_no_defect(tmp_path: Path) -> None:
    """Each of the values is valid by itself."""
    patches = [
        {"path": "podMaxBackoffSeconds", "values": [10, 5]},
        {"path": "podInitialBackoffSeconds", "values": [1, 8]},
    ]
    outcome = sweep(tmp_path, patches=patches).outcomes()[-1]
    assert isinstance(outcome, Failed)
    assert (outcome.status, outcome.is_defect) == ("error", False)
    assert "podMaxBackoffSeconds" in outcome.error


@pytest.mark.parametrize("is_over_time", [False, True])
def test_a_plugin_that_fails_is_a_defect(is_over_time: bool, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text(BROKEN)
    (tmp_path / "week.json").write_text(json.dumps(TIMELINE))
    fields: dict[str, Any] = {"timelines": ["week.json"]} if is_over_time else {}
    (outcome,) = sweep(tmp_path, plugins=["broken.py"], **fields).outcomes()
    assert isinstance(outcome, Failed)
    assert (outcome.status, outcome.is_defect) == ("error", True)
    assert outcome.error == "plugin Broken failed in filter: ValueError: broken"


def test_a_float_in_the_args_of_a_plugin_is_swept(tmp_path: Path) -> None:
    (tmp_path / "half.py").write_text(HALF)
    write_state(tmp_path / "cluster.json")
    (tmp_path / "sweep.yaml").write_text(
        "apiVersion: ksched/v1\nkind: Sweep\nstates: [cluster.json]\nplugins: [half.py]\npatches:\n"
        "- {path: 'profiles[0].pluginConfig[Half].args.factor', values: [0.25, 0.5, 1]}\n"
    )
    file = read_sweep(str(tmp_path / "sweep.yaml"), BASE)
    read = Sweep(file.plan, prepare(file.document, [file.plan], ()))
    rows = [read.plan.parameters(indexes)["patches"] for indexes in read.plan.indexes()]
    assert [value for row in rows for value in row.values()] == [0.25, 0.5, 1]
    placements = [ended(outcome).placements for outcome in read.outcomes()]
    assert placements[0] != placements[2]
