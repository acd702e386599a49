"""A whole search, in this process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("optuna", reason="the extra tune is not installed")

from ksched_cli.errors import KschedError
from ksched_cli.sweep.environment import RunEnvironment
from ksched_cli.sweep.materials import Run
from ksched_cli.sweep.outcome import Outcome, perform
from ksched_cli.sweep.preparation import Settings
from ksched_cli.sweep.tune import TuneResult, read_problem, search_and_judge
from ksched_cli.sweep.tuning import Search
from tests.sweep.test_tune_file import tune_file

SETTINGS = Settings(minors=("1.34",))


def tuned(folder: Path, **fields: object) -> TuneResult:
    problem, _ = read_problem(tune_file(folder, **fields), SETTINGS)
    environment = RunEnvironment(problem.materials)

    def execute(runs: Iterator[Run], count: int) -> Iterator[tuple[Run, Outcome]]:
        for run in runs:
            yield run, perform(environment, run)

    return search_and_judge(problem, Search(problem), execute)


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
    with pytest.raises(KschedError, match="percentageOfNodesToScore"):
        read_problem(file, SETTINGS)
