"""Tables and CSV of a sweep."""

from collections.abc import Iterable
from typing import Any

import pytest

from ksched_cli.analysis.compare import Interval
from ksched_cli.analysis.run_figures import Failed
from ksched_cli.errors import ExitCode
from ksched_cli.report.forms import Form, render
from ksched_cli.report.variants import number, signed
from ksched_cli.sweep.answers import SweepResult
from ksched_cli.sweep.execution import Result
from ksched_cli.sweep.summary import AxisEffect, summarize
from tests.report.schemas import shown
from tests.sweep.test_summary import ORDER, failed, result


@pytest.mark.parametrize(
    ("value", "text"),
    [(3.0, "3"), (1234.0, "1,234"), (0.123456, "0.1235"), (12345.6, "12,346"), (-2.5, "-2.5")],
)
def test_numbers_have_the_digits_that_tell_them_apart(value: float, text: str) -> None:
    assert number(value) == text
    assert signed(value) == (f"+{text}" if value > 0 else text)


def answer(results: Iterable[Result], planned: int, **fields: Any) -> SweepResult:
    return SweepResult.of(summarize(results, ORDER), planned, seconds=12.34, workers=2, **fields)


def test_the_best_variant_comes_first_and_a_metric_has_a_line_per_variant() -> None:
    results = [result("base", seed, 4 + seed) for seed in (0, 1)]
    results += [result("other", seed, 3, evicted=1) for seed in (0, 1)]
    assert shown(answer(results, 4, resumed=1)) == [
        "evicted is least with base: 0",
        "4 runs: 4 ok; 1 had rows before; 12.3 s on 2 workers",
        "",
        "VARIANT RUNS OUTCOMES PARETO FRONT",
        "base 2 2 yes",
        "other 2 1 yes",
        "Pareto front of evicted and nodesUsed",
        "",
        "evicted, less is better",
        "VARIANT MEDIAN 5-95% MEDIAN DIFFERENCE 5-95% BETTER WORSE",
        "base 0 0 … 0",
        "other 1 1 … 1 +1 1 … 1 0% 100%",
        "",
        "nodesUsed, less is better",
        "VARIANT MEDIAN 5-95% MEAN 95% OF THE MEAN MEDIAN DIFFERENCE 5-95% BETTER WORSE",
        "other 3 3 … 3 3 3 … 3 -1.5 -1.95 … -1.05 100% 0%",
        "base 4.5 4.05 … 4.95 4.5 -1.853 … 10.85",
        "",
        "the same in every run: pending 0, utilization.cpu.stddev 0.25",
    ]


def test_equal_variants_share_a_line_and_effects_have_their_intervals() -> None:
    results = [result(name, seed, 4 + seed) for name in ORDER for seed in (0, 1)]
    effect = AxisEffect("weight", 5, 1, "nodesUsed", Interval(-10.0, -12.5, -7.5), 2)
    text = shown(answer(results, 4, effects=[effect]))
    assert "base, other 4.5 4.05 … 4.95 4.5 -1.853 … 10.85" in text
    assert "weight 5 1 nodesUsed -10% -12.5 … -7.5%" in text


def test_runs_of_one_variant_are_counted_first() -> None:
    assert shown(answer([result("base", 0, 4)], 1))[0] == "1 run: 1 ok; 12.3 s on 2 workers"


def test_a_run_that_failed_or_has_a_defect_is_the_exit_code() -> None:
    well = result("base", 0, 4)
    late = failed("other", 0, Failed(status="timeout", error="over 5 s", seconds=5))
    broken = failed("other", 0, Failed(error="broken", seconds=1, is_defect=True))
    codes = [answer(results, 2).exit_code for results in ([well], [well, late], [well, broken])]
    assert codes == [ExitCode.YES, ExitCode.NO, ExitCode.DEFECT]
    text = shown(answer([well, late], 2))
    assert "ENDED RUNS WHY FOR EXAMPLE" in text
    assert "timeout 1 over 5 s s, c, seed 1" in text


def test_groups_of_figures_are_columns_of_csv() -> None:
    row = {
        "id": "x",
        "plugins": ["a", "b"],
        "patches": {"w": [1], "s": "t"},
        "status": "ok",
        "utilization": {"cpu": {"mean": 0.5}},
        "wait": {"mean": 2.5},
        "metrics": {"m": 1},
    }
    header, line = render(answer([], 1, rows=[row]), Form.CSV).splitlines()
    cells = dict(zip(header.split(","), line.split(","), strict=True))
    assert cells["plugins"] == "a b"
    assert (cells["patches.w"], cells["patches.s"]) == ("[1]", "t")
    assert (cells["utilization.cpu.mean"], cells["wait.mean"]) == ("0.5", "2.5")
    assert (cells["metrics.m"], cells["status"]) == ("1", "ok")
