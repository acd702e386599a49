"""Asking Optuna for trials, and telling it what came of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("optuna", reason="the extra tune is not installed")

from ksched_cli.errors import UsageError
from ksched_cli.sweep.materials import Run
from ksched_cli.sweep.outcome import Outcome, failure
from ksched_cli.sweep.preparation import Settings
from ksched_cli.sweep.tune import read_problem
from ksched_cli.sweep.tune_file import Objective
from ksched_cli.sweep.tuning import (
    Problem,
    Search,
    TrialResult,
    TuningError,
    nearest_to_ideal,
    objective_values,
)
from tests.sweep.test_tune_file import tune_file


def outcome(nodes: float, placed: int = 1) -> Outcome:
    counts = {"placed": placed, "pending": 0, "gated": 0, "evicted": 0, "nodesUsed": nodes}
    return {"status": "ok", **counts, "seconds": 0.1, "utilization": {}, "metrics": {}}


def problem(folder: Path, **fields: Any) -> Problem:
    return read_problem(tune_file(folder, **fields), Settings(minors=("1.34",)))[0]


def distance(run: Run) -> Outcome:
    """Least where the weight is 7."""
    weight = {path.text[-6:]: value for path, value in run.patches}["weight"]
    return outcome(abs(weight - 7))


def search_through(search: Search, limit: int = 10_000) -> int:
    """Makes up to so many runs, and returns how many there were."""
    count = 0
    for run in search.runs():
        search.take(run, distance(run))
        count += 1
        if count == limit:
            break
    return count


def test_the_best_value_is_searched_for(tmp_path: Path) -> None:
    search = Search(problem(tmp_path, trials=30, seeds=2))
    count = search_through(search)
    assert (search.complete, search.missing) == (30, 0)
    assert count <= 60, "trials with the same parameters share their runs"
    best = search.front()[0]
    assert abs(best.parameters["weight"] - 7) <= 1
    assert best.values == (abs(best.parameters["weight"] - 7),)


def test_a_search_is_repeatable(tmp_path: Path) -> None:
    fronts = []
    for _ in range(2):
        search = Search(problem(tmp_path, trials=10))
        search_through(search)
        fronts.append(search.front())
    assert fronts[0] == fronts[1]


def test_a_study_goes_on_where_it_was(tmp_path: Path) -> None:
    path = str(tmp_path / "study.log")
    first = Search(problem(tmp_path, trials=8), path)
    search_through(first, limit=10)
    again = Search(problem(tmp_path, trials=8), path)
    assert again.resumed == first.ended > 0
    search_through(again)
    assert again.ended == 8
    assert Search(problem(tmp_path, trials=8), path).missing == 0


def test_a_study_of_something_else_is_refused(tmp_path: Path) -> None:
    path = str(tmp_path / "study.log")
    Search(problem(tmp_path), path)
    with pytest.raises(UsageError, match="its trials are of other states"):
        Search(problem(tmp_path, seeds=9), path)


def test_trials_that_fail_are_passed_over(tmp_path: Path) -> None:
    search = Search(problem(tmp_path, trials=6, seeds=1))
    for index, run in enumerate(search.runs()):
        search.take(run, failure("broken") if index % 2 else outcome(3))
    assert search.complete > 0
    assert search.front()[0].values == (3,)
    broken = Search(problem(tmp_path, trials=3, seeds=1))
    for run in broken.runs():
        broken.take(run, failure("broken"))
    with pytest.raises(TuningError, match="no trial came to its end: error: broken"):
        broken.front()


def test_of_a_trial_the_mean_counts() -> None:
    objectives = (Objective("nodesUsed", "minimize"), Objective("placed", "maximize"))
    assert objective_values([outcome(2), outcome(5, 4)], objectives) == (3.5, 2.5)
    with pytest.raises(TuningError, match='no run has a metric "gaps"; there are placed, pending'):
        objective_values([outcome(2)], (Objective("gaps", "minimize"),))


def test_of_several_objectives_the_trial_nearest_to_the_best_of_each_is_chosen() -> None:
    objectives = (Objective("a", "minimize"), Objective("b", "maximize"))
    front = [
        TrialResult(number, {}, values)
        for number, values in enumerate([(0.0, 0.0), (2.0, 90.0), (10.0, 100.0)])
    ]
    assert nearest_to_ideal(front, objectives).number == 1
