"""A whole search, in this process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("optuna", reason="the extra tune is not installed")

from ksched_cli.errors import InputError
from ksched_cli.sweep.preparation import prepare
from ksched_cli.sweep.tune_file import TuneFile
from ksched_cli.sweep.tuning import Problem, TrialSearch, Tuning, search_and_judge
from ksched_cli.testing import node
from tests.run.runs import TIMELINE
from tests.sweep.sweeps import in_this_process, write_state
from tests.sweep.test_tune_file import tune_file


def problem_of(file: TuneFile) -> Problem:
    prepared = prepare(file.document, (file.plan, file.held_out, file.bounds), ())
    return Problem(file, prepared.shared)


def tuned(folder: Path, **fields: object) -> Tuning:
    problem = problem_of(tune_file(folder, **fields))
    return search_and_judge(problem, TrialSearch(problem), in_this_process(problem.shared))


def test_the_strategy_that_fills_nodes_is_chosen_and_is_better_where_it_was_held_out(
    tmp_path: Path,
) -> None:
    result = tuned(tmp_path, trials=12, seeds=2)
    assert result.best.parameters["strategy"] == "MostAllocated"
    assert result.is_better
    baseline, best = result.held_out.variants
    assert (baseline.runs, best.runs) == (2, 2)
    strategy = result.configuration["profiles"][0]["pluginConfig"][0]["args"]["scoringStrategy"]
    assert strategy == {"type": "MostAllocated"}


def test_what_changes_nothing_is_not_better(tmp_path: Path) -> None:
    path = "podMaxBackoffSeconds"
    result = tuned(tmp_path, trials=3, seeds=1, space=[{"path": path, "between": [10, 20]}])
    assert not result.is_better


def test_a_space_that_leads_out_of_what_kube_scheduler_takes_is_refused(tmp_path: Path) -> None:
    file = tune_file(tmp_path, space=[{"path": "percentageOfNodesToScore", "between": [0, 120]}])
    with pytest.raises(
        InputError, match=r"tune.yaml:1:\d+: space\[0\]: .*percentageOfNodesToScore"
    ):
        problem_of(file)


def test_a_replay_is_tuned_by_how_long_pods_wait(tmp_path: Path) -> None:
    """A pod that wants a node of its own waits where the others are spread."""
    write_state(tmp_path / "nodes.json", node("a", cpu=4), node("b", cpu=4))
    (tmp_path / "week.json").write_text(json.dumps(TIMELINE))
    result = tuned(
        tmp_path,
        states=["nodes.json"],
        timelines=["week.json"],
        objectives=[{"metric": "wait.mean", "goal": "minimize"}],
        trials=8,
        seeds=2,
    )
    assert result.best.parameters["strategy"] == "MostAllocated"
    assert result.is_better


def test_the_least_node_hours_with_which_pods_wait_for_less_than_a_bound(tmp_path: Path) -> None:
    """Nobody may wait: of the strategies, only one keeps that. The node-hours are equal."""
    write_state(tmp_path / "nodes.json", node("a", cpu=4), node("b", cpu=4))
    (tmp_path / "week.json").write_text(json.dumps(TIMELINE))
    result = tuned(
        tmp_path,
        states=["nodes.json"],
        timelines=["week.json"],
        objectives=[{"metric": "nodeHours", "goal": "minimize"}],
        constraints=[{"metric": "wait.p95", "atMost": 0}],
        trials=8,
        seeds=2,
    )
    assert result.best.parameters["strategy"] == "MostAllocated"
    assert result.best.constrained == (0,)
    assert result.is_better
    assert [each.text for each in result.broken("baseline")] == ["wait.p95 at most 0"]
    assert result.broken("tuned") == []
