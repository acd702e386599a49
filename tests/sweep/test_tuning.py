"""Asking Optuna for trials, and telling it what came of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("optuna", reason="the extra tune is not installed")

from ksched_cli.analysis.run_figures import Failed, Outcome
from ksched_cli.errors import UsageError
from ksched_cli.sweep.outcome import Task
from ksched_cli.sweep.tune_file import Objective
from ksched_cli.sweep.tuning import (
    Problem,
    TrialResult,
    TrialSearch,
    TuningError,
    means,
    nearest_to_ideal,
)
from tests.sweep.test_summary import result
from tests.sweep.test_tune import problem_of
from tests.sweep.test_tune_file import tune_file


def outcome(nodes: float, placed: int = 1) -> Outcome:
    return result("base", 0, int(nodes), placed=placed).outcome


def problem(folder: Path, **fields: Any) -> Problem:
    return problem_of(tune_file(folder, **fields))


def distance(task: Task) -> Outcome:
    """Least where the weight is 7."""
    weight = {patch.path[-6:]: patch.value for patch in task.run.patches}["weight"]
    return outcome(abs(weight - 7))


def search_through(search: TrialSearch, limit: int = 10_000) -> int:
    """Makes up to so many runs, and returns how many there were."""
    count = 0
    for task in search.tasks():
        search.take(task, distance(task))
        count += 1
        if count == limit:
            break
    return count


def test_the_best_value_is_searched_for(tmp_path: Path) -> None:
    search = TrialSearch(problem(tmp_path, trials=30, seeds=2))
    count = search_through(search)
    assert (search.complete, search.missing) == (30, 0)
    assert count <= 60, "trials with the same parameters share their runs"
    best = search.front()[0]
    assert abs(best.parameters["weight"] - 7) <= 1
    assert best.values == (abs(best.parameters["weight"] - 7),)


def test_a_search_is_repeatable(tmp_path: Path) -> None:
    fronts = []
    for _ in range(2):
        search = TrialSearch(problem(tmp_path, trials=10))
        search_through(search)
        fronts.append(search.front())
    assert fronts[0] == fronts[1]


def test_a_study_goes_on_where_it_was(tmp_path: Path) -> None:
    path = str(tmp_path / "study.log")
    first = TrialSearch(problem(tmp_path, trials=8), path)
    search_through(first, limit=10)
    again = TrialSearch(problem(tmp_path, trials=8), path)
    assert again.resumed == first.ended > 0
    search_through(again)
    assert again.ended == 8
    assert TrialSearch(problem(tmp_path, trials=8), path).missing == 0


def test_a_study_of_something_else_is_refused(tmp_path: Path) -> None:
    path = str(tmp_path / "study.log")
    TrialSearch(problem(tmp_path), path)
    with pytest.raises(UsageError, match="its trials have other states"):
        TrialSearch(problem(tmp_path, seeds=9), path)


def test_a_line_of_a_study_that_was_not_finished_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "study.log"
    TrialSearch(problem(tmp_path), str(path))
    whole = path.read_text()
    path.write_text(whole + '{"op_code":4,"wor')
    TrialSearch(problem(tmp_path), str(path))
    assert path.read_text().startswith(whole + '{"op_code":0,')
    path.write_text('{"op_co')
    TrialSearch(problem(tmp_path), str(path))
    assert path.read_text().startswith('{"op_code":0,')


@pytest.mark.parametrize("text", ["precious", "precious\n", '{"a": 1}', '{"op_code":0}\nprecious'])
def test_a_file_of_other_things_is_no_study_and_stays_as_it_is(text: str, tmp_path: Path) -> None:
    path = tmp_path / "precious"
    path.write_text(text)
    with pytest.raises(UsageError, match=r"line \d is not a line of a study"):
        TrialSearch(problem(tmp_path), str(path))
    assert path.read_text() == text


def test_trials_that_fail_are_passed_over(tmp_path: Path) -> None:
    search = TrialSearch(problem(tmp_path, trials=6, seeds=1))
    for index, task in enumerate(search.tasks()):
        search.take(task, Failed(error="broken") if index % 2 else outcome(3))
    assert search.complete > 0
    assert search.front()[0].values == (3,)
    broken = TrialSearch(problem(tmp_path, trials=3, seeds=1))
    for task in broken.tasks():
        broken.take(task, Failed(error="broken"))
    with pytest.raises(TuningError, match="no trial finished: error: broken"):
        broken.front()


def test_of_a_trial_the_mean_counts() -> None:
    assert means([outcome(2), outcome(5, 4)], ("nodesUsed", "placed")) == (3.5, 2.5)
    with pytest.raises(TuningError, match='"gaps"; ksched sweep -o csv lists the metrics'):
        means([outcome(2)], ("gaps",))


def test_of_several_objectives_the_trial_nearest_to_the_best_of_each_is_chosen() -> None:
    objectives = (Objective("a", "minimize"), Objective("b", "maximize"))
    front = [
        TrialResult(number, {}, values)
        for number, values in enumerate([(0.0, 0.0), (2.0, 90.0), (10.0, 100.0)])
    ]
    assert nearest_to_ideal(front, objectives).number == 1


@pytest.mark.parametrize("first", ["placed", "nodesUsed"])
def test_the_front_begins_with_the_best_of_the_first_objective(first: str, tmp_path: Path) -> None:
    """More pods take more nodes: no trial is better than another in both."""
    objectives = [
        {"metric": "placed", "goal": "maximize"},
        {"metric": "nodesUsed", "goal": "minimize"},
    ]
    if first == "nodesUsed":
        objectives.reverse()
    search = TrialSearch(problem(tmp_path, trials=5, seeds=1, objectives=objectives))
    for number, task in enumerate(search.tasks()):
        search.take(task, outcome(number, placed=number))
    values = [result.values[0] for result in search.front()]
    assert len(values) > 1
    assert values == sorted(values, reverse=first == "placed")


def constrained(folder: Path, trials: int, study: str = "", **bounds: float) -> TrialSearch:
    """The weight 7 uses fewest nodes; of each weight as many pods are placed."""
    bound = {"metric": "placed", **bounds}
    search = TrialSearch(problem(folder, trials=trials, seeds=1, constraints=[bound]), study)
    for task in search.tasks():
        weight = {patch.path[-6:]: patch.value for patch in task.run.patches}["weight"]
        search.take(task, outcome(abs(weight - 7), placed=weight))
    return search


def test_the_best_of_those_that_keep_a_constraint_is_chosen(tmp_path: Path) -> None:
    at_least, at_most = constrained(tmp_path, 40, atLeast=12), constrained(tmp_path, 40, atMost=4)
    for search, weight in ((at_least, 12), (at_most, 4)):
        best = search.front()[0]
        assert best.constrained == (best.parameters["weight"],)
        assert best.parameters["weight"] == weight
        assert best.values == (abs(weight - 7),)


def test_where_no_trial_keeps_a_constraint_the_nearest_is_named(tmp_path: Path) -> None:
    search = constrained(tmp_path, 5, atLeast=90.5)
    with pytest.raises(TuningError, match=r"no trial keeps placed at least 90.5; the nearest, tr"):
        search.front()


def test_a_study_with_a_constraint_goes_on_and_one_with_another_is_refused(tmp_path: Path) -> None:
    path = str(tmp_path / "study.log")
    first = constrained(tmp_path, 10, path, atLeast=12)
    again = constrained(tmp_path, 10, path, atLeast=12)
    assert again.resumed == 10
    assert again.front() == first.front()
    with pytest.raises(UsageError, match="its trials have other states"):
        constrained(tmp_path, 10, path, atLeast=13)
