"""Tables and CSV of a sweep."""

import pytest

from ksched_cli.report.sweep import number, rows_as_csv, signed, table
from ksched_cli.report.table import Limit
from ksched_cli.sweep.answers import SweepReport
from ksched_cli.sweep.summary import summarize
from tests.report.schemas import squeezed
from tests.sweep.test_summary import ORDER, result


@pytest.mark.parametrize(
    ("value", "text"),
    [(3.0, "3"), (1234.0, "1,234"), (0.123456, "0.1235"), (12345.6, "12,346"), (-2.5, "-2.5")],
)
def test_numbers_have_the_digits_that_tell_them_apart(value: float, text: str) -> None:
    assert number(value) == text
    assert signed(value) == (f"+{text}" if value > 0 else text)


def test_a_metric_has_a_line_per_variant() -> None:
    results = [result("base", seed, 4 + seed) for seed in (0, 1)]
    results += [result("other", seed, 3, evicted=1) for seed in (0, 1)]
    report = SweepReport(summarize(results, ORDER), 4, 1, 12.34, 2)
    assert squeezed(table(report, Limit(100))) == [
        "4 runs: 4 ok; 1 had rows before; 12.3 s on 2 workers",
        "",
        "VARIANT RUNS OUTCOMES PARETO FRONT",
        "base 2 2 yes",
        "other 2 1 yes",
        "Pareto front of evicted and nodesUsed",
        "",
        "evicted, less is better MEDIAN 5-95% DIFFERENCE 5-95% BETTER WORSE",
        "base 0 0 … 0",
        "other 1 1 … 1 +1 1 … 1 0% 100%",
        "",
        "nodesUsed, less is better MEDIAN 5-95% DIFFERENCE 5-95% BETTER WORSE",
        "base 4.5 4.05 … 4.95",
        "other 3 3 … 3 -1.5 -1.95 … -1.05 100% 0%",
        "",
        "the same in every run: pending 0, utilization.cpu.stddev 0.25",
    ]


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
    header, line = rows_as_csv([row]).splitlines()
    cells = dict(zip(header.split(","), line.split(","), strict=True))
    assert cells["plugins"] == "a b"
    assert (cells["patches.w"], cells["patches.s"]) == ("[1]", "t")
    assert (cells["utilization.cpu.mean"], cells["wait.mean"]) == ("0.5", "2.5")
    assert (cells["metrics.m"], cells["status"]) == ("1", "ok")
