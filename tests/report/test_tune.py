"""The table of a search."""

from pathlib import Path

from ksched_cli.report.table import Limit
from ksched_cli.report.tune import configuration_text, headline, table
from ksched_cli.run.inputs import Inputs
from ksched_cli.run.run import Run
from ksched_cli.sweep.answers import TuneResult
from ksched_cli.sweep.plan import Axis, Plan, Value
from ksched_cli.sweep.preparation import Shared
from ksched_cli.sweep.summary import summarize
from ksched_cli.sweep.sweep_file import FileDocument
from ksched_cli.sweep.tune import BASELINE, TUNED, Tuning
from ksched_cli.sweep.tune_file import Dimension, Objective, TuneFile
from ksched_cli.sweep.tuning import Problem, TrialResult
from tests.report.schemas import squeezed
from tests.sweep import test_summary

PLAN = Plan(Run(), (Axis("seeds", (Value(1), Value(2))),))
FILE = TuneFile(
    FileDocument("tune.yaml", "", Path(), {}),
    PLAN,
    PLAN,
    (Dimension("weight", "a.weight", low=1, high=9),),
    (Objective("nodesUsed", "minimize"),),
    5,
    0,
)


def result(tuned_nodes: int) -> Tuning:
    results = [test_summary.result(BASELINE, seed, 4) for seed in (1, 2)]
    results += [test_summary.result(TUNED, seed, tuned_nodes) for seed in (1, 2)]
    summary = summarize(results, (BASELINE, TUNED), {"nodesUsed": "minimize"})
    best = TrialResult(3, {"weight": 7}, (2.0,))
    problem = Problem(FILE, Shared(Inputs()))
    return Tuning(problem, 5, 1, 0, (best,), best, summary, {"kind": "K", "a": {"weight": 7}})


def test_the_table_has_the_trials_and_the_judgement() -> None:
    assert squeezed(table(result(3), "best.yaml", Limit(90))) == [
        "nodesUsed -1 against the baseline where it was held out, better in 100% of 2 runs; 5",
        "trials, 1 failed",
        "",
        "TRIAL nodesUsed weight",
        "3 (chosen) 2 7",
        "",
        "HELD OUT MEDIAN 5-95% DIFFERENCE BETTER WORSE",
        "nodesUsed baseline 4 4 … 4",
        "nodesUsed tuned 3 3 … 3 -1 100% 0%",
        "",
        "the configuration is in best.yaml",
    ]


def test_what_is_no_better_is_called_so() -> None:
    assert headline(result(4)).startswith("the tuned configuration is no better than the baseline")
    assert not TuneResult.of(result(4), "").held_out.better


def test_the_configuration_is_text_for_a_file() -> None:
    assert configuration_text({"kind": "K", "a": [1]}) == "kind: K\na:\n- 1\n"
