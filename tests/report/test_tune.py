"""The table of a search."""

from dataclasses import replace
from pathlib import Path

from ksched_cli.errors import ExitCode
from ksched_cli.report.limit import EVERYTHING
from ksched_cli.report.view import Medium
from ksched_cli.report.views import view_of
from ksched_cli.run.inputs import Inputs
from ksched_cli.run.run import Run
from ksched_cli.scenario.own_document import OwnDocument
from ksched_cli.sweep.answers import TuneResult
from ksched_cli.sweep.plan import StudyPlan, SweepAxis, Value
from ksched_cli.sweep.preparation import Shared
from ksched_cli.sweep.summary import summarize
from ksched_cli.sweep.tune_file import Dimension, MetricConstraint, Objective, TuneFile
from ksched_cli.sweep.tuning import BASELINE, TUNED, Problem, TrialResult, Tuning
from tests.report.schemas import shown
from tests.sweep import test_summary

PLAN = StudyPlan(Run(), (SweepAxis("seeds", (Value(1), Value(2))),))
FILE = TuneFile(
    OwnDocument("tune.yaml", "", Path(), {}),
    PLAN,
    PLAN,
    (Dimension("weight", "a.weight", low=1, high=9),),
    (Objective("nodesUsed", "minimize"),),
    (),
    5,
    0,
)


def result(
    tuned_nodes: int,
    constraints: tuple[MetricConstraint, ...] = (),
    means: tuple[float, ...] = (3, 3),
) -> Tuning:
    """means: of the constraint's metric, of the baseline and of the best"""
    results = [test_summary.result(BASELINE, seed, 4) for seed in (1, 2)]
    results += [test_summary.result(TUNED, seed, tuned_nodes) for seed in (1, 2)]
    summary = summarize(results, (BASELINE, TUNED), {"nodesUsed": "minimize"})
    constrained = tuple((mean,) if constraints else () for mean in means)
    best = TrialResult(3, {"weight": 7}, (2.0,), constrained[1])
    problem = Problem(replace(FILE, constraints=constraints), Shared(Inputs()))
    held_out = dict(zip((BASELINE, TUNED), constrained, strict=True))
    configuration = {"kind": "K", "a": {"weight": 7}}
    return Tuning(problem, 5, 1, 0, (best,), best, summary, held_out, configuration)


def title(tuning: Tuning) -> str:
    return view_of(TuneResult.of(tuning, ""), Medium.BRIEF).title


def test_the_text_has_the_judgement_the_trials_and_where_the_configuration_is() -> None:
    assert shown(TuneResult.of(result(3), "best.yaml"), EVERYTHING) == [
        "nodesUsed -1 against the baseline on the held-out runs, better in 100% of 2 runs; "
        "5 trials, 1 failed",
        "the configuration is in best.yaml",
        "",
        "On the held-out runs",
        "METRIC CONFIGURATION MEDIAN 5-95% MEDIAN DIFFERENCE 5-95% BETTER WORSE",
        "nodesUsed baseline 4 4 … 4",
        "nodesUsed tuned 3 3 … 3 -1 -1 … -1 100% 0%",
        "",
        "Best trials",
        "TRIAL nodesUsed (less is better) weight",
        "3 (chosen) 2 7",
    ]


def test_without_a_file_the_text_ends_with_the_configuration() -> None:
    assert shown(TuneResult.of(result(3), ""))[-3:] == ["kind: K", "a:", "weight: 7"]


def test_what_is_no_better_is_called_so() -> None:
    assert title(result(4)).startswith("the tuned configuration is no better than the baseline")
    assert TuneResult.of(result(4), "").exit_code == ExitCode.NO
    assert TuneResult.of(result(3), "").exit_code == ExitCode.YES


BOUND = (MetricConstraint("wait.p95", at_most=120),)


def test_a_constraint_that_is_broken_where_it_was_held_out_is_named() -> None:
    broken = result(3, BOUND, (100, 130))
    assert title(broken).startswith(
        "on the held-out runs, the tuned configuration does not keep wait.p95 at most 120"
    )
    assert not broken.is_better
    (constraint,) = TuneResult.of(broken, "").constraints
    assert (constraint.baseline, constraint.tuned, constraint.holds) == (100, 130, False)


def test_a_mean_at_the_bound_keeps_the_constraint() -> None:
    for mean, holds in ((120, True), (120.5, False)):
        tuning = result(3, BOUND, (100, mean))
        (constraint,) = TuneResult.of(tuning, "").constraints
        assert constraint.holds is tuning.is_better is holds


def test_a_configuration_that_keeps_what_the_baseline_breaks_is_better() -> None:
    """It takes more nodes, and keeps the constraint."""
    better = result(5, BOUND, (130, 110))
    assert better.is_better
    assert "the baseline does not keep wait.p95 at most 120 there" in title(better)
