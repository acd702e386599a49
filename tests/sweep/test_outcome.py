"""What comes of a run."""

from pathlib import Path

import pytest

from ksched_cli.sweep.environment import RunEnvironment
from ksched_cli.sweep.outcome import perform
from ksched_cli.sweep.patches import parse_path
from ksched_cli.sweep.preparation import Settings
from ksched_cli.testing import node, pod
from tests.sweep.sweeps import STRATEGY, plan, write_state

BROKEN = """
from ksched_cli.api import FilterPlugin

class Broken(FilterPlugin):
    name = "Broken"
    def filter(self, state, pod, node):
        raise ValueError("broken")
"""


def test_an_outcome_has_what_schedule_would_say(tmp_path: Path) -> None:
    materials = plan(tmp_path).materials
    outcome = perform(RunEnvironment(materials), materials.run())
    assert outcome["status"] == "ok"
    assert (outcome["placed"], outcome["pending"], outcome["nodesUsed"]) == (3, 0, 3)
    assert outcome["utilization"]["cpu"]["mean"] == pytest.approx((0.5 + 0.25 + 0.75) / 3)
    assert outcome["seconds"] > 0


def test_evictions_count(tmp_path: Path) -> None:
    write_state(
        tmp_path / "full.json",
        node("a", cpu="1"),
        pod("low", node="a", cpu="1", priority=0),
        pod("high", cpu="1", priority=10),
    )
    materials = plan(tmp_path, states=["full.json"]).materials
    outcome = perform(RunEnvironment(materials), materials.run())
    assert (outcome["placed"], outcome["evicted"], outcome["pending"]) == (1, 1, 0)


def test_placements_are_the_same_where_pods_are_on_the_same_nodes(tmp_path: Path) -> None:
    materials = plan(tmp_path).materials
    environment = RunEnvironment(materials)
    digests = [perform(environment, materials.run(seed=s))["placements"] for s in (*range(6), 0)]
    assert digests[0] == digests[-1]
    assert len(set(digests)) > 1


def test_a_run_that_cannot_be_made_is_an_error_but_no_defect(tmp_path: Path) -> None:
    materials = plan(tmp_path).materials
    run = materials.run(patches=((parse_path(STRATEGY), "Fullest"),))
    outcome = perform(RunEnvironment(materials), run)
    assert (outcome["status"], outcome["defect"]) == ("error", False)
    assert "Fullest" in outcome["error"]


def test_a_plugin_that_fails_is_a_defect(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text(BROKEN)
    settings = Settings((f"{tmp_path}/broken.py",), minors=("1.34",))
    materials = plan(tmp_path, settings).materials
    outcome = perform(RunEnvironment(materials), materials.run())
    assert (outcome["status"], outcome["defect"]) == ("error", True)
    assert outcome["error"] == "plugin Broken failed in filter: ValueError: broken"
