"""What the rows come to."""

from typing import Any

import pytest

from ksched_cli.sweep.plan import Variants
from ksched_cli.sweep.summary import MAXIMIZE, MINIMIZE, pareto_front, summarize

VARIANTS = Variants(("configuration",), ("state", "changes", "seed"))
ORDER = ("base", "other")


def row(variant: str, seed: int, nodes: int, **fields: Any) -> dict[str, Any]:
    counts = {"placed": 3, "pending": 0, "gated": 0, "evicted": 0, "nodesUsed": nodes}
    return {
        "id": f"{variant}-{seed}",
        "state": "s",
        "configuration": variant,
        "changes": "none",
        "plugins": [],
        "patches": {},
        "kubernetesVersion": None,
        "seed": seed,
        "status": "ok",
        **counts,
        "utilization": {"cpu": {"mean": 0.5, "max": 1.0, "stddev": 0.25}},
        "placements": f"{nodes}",
        "metrics": {},
        "seconds": 0.1,
    } | fields


def test_differences_are_of_runs_with_the_same_seed() -> None:
    rows = [row("other", 0, 3), row("other", 1, 6), row("base", 1, 5), row("base", 0, 4)]
    summary = summarize(rows, VARIANTS, ORDER)
    base, other = summary.variants
    assert (base.name, base.metrics["nodesUsed"].difference) == ("base", None)
    metric = other.metrics["nodesUsed"]
    assert metric.spread.median == 4.5
    assert metric.difference is not None
    assert (metric.difference.least, metric.difference.most) == (-1, 1)
    assert (metric.pairs, metric.wins, metric.losses) == (2, 1, 1)


def test_runs_without_a_partner_are_no_pair() -> None:
    rows = [row("base", 0, 4), row("other", 1, 3)]
    _, other = summarize(rows, VARIANTS, ORDER).variants
    assert other.metrics["nodesUsed"].difference is None
    assert other.metrics["nodesUsed"].pairs == 0


def test_more_is_better_where_the_file_says_so() -> None:
    rows = [row("base", 0, 4, metrics={"m": 1.0}), row("other", 0, 4, metrics={"m": 2.0})]
    for metrics, wins in (({"m": MAXIMIZE}, 1), ({"m": MINIMIZE}, 0), (None, None)):
        summary = summarize(rows, VARIANTS, ORDER, metrics)
        assert summary.variants[1].metrics["m"].wins == wins
        assert ("pending" in summary.metrics) == (metrics is None)


def test_outcomes_are_counted_for_each_state() -> None:
    rows = [row("base", seed, 3, placements=f"{seed % 2}") for seed in range(4)]
    rows.append(row("base", 5, 3, placements="0", state="t"))
    (base,) = summarize(rows, VARIANTS, ORDER).variants
    assert (base.runs, base.outcomes) == (5, 3)


def test_runs_that_failed_are_grouped_and_not_counted_in_metrics() -> None:
    failed = {"status": "error", "error": "broken", "defect": True}
    rows = [row("base", 0, 4), *(row("other", seed, 4, **failed) for seed in range(3))]
    rows.append(row("other", 7, 4, status="timeout", error="late", defect=False))
    summary = summarize(rows, VARIANTS, ORDER)
    assert summary.statuses == {"ok": 1, "error": 3, "timeout": 1}
    assert summary.is_defective
    assert [(item.error, item.runs) for item in summary.failures] == [("broken", 3), ("late", 1)]
    assert summary.variants[1].metrics == {}


def test_of_a_run_that_was_made_again_the_last_row_counts() -> None:
    rows = [row("base", 0, 4, status="lost"), row("base", 0, 4)]
    summary = summarize(rows, VARIANTS, ORDER)
    assert summary.statuses == {"ok": 1}
    assert summary.failures == ()


def test_the_front_has_what_nothing_is_better_than() -> None:
    points = {"a": (1.0, 5.0), "b": (2.0, 4.0), "c": (1.0, 4.0), "d": (2.0, 4.0)}
    assert pareto_front(points) == {"a", "b", "d"}


def test_variants_on_the_front_of_the_first_two_metrics_are_marked() -> None:
    rows = [row("base", 0, 4, evicted=2), row("other", 0, 3, evicted=1)]
    summary = summarize(rows, VARIANTS, ORDER)
    assert summary.front == ("evicted", "nodesUsed")
    assert [item.on_front for item in summary.variants] == [False, True]
    same = summarize([row("base", 0, 4), row("other", 0, 3)], VARIANTS, ORDER)
    assert same.front == ()


def test_the_spread_is_the_median_and_what_ninety_per_cent_lie_between() -> None:
    rows = [row("base", seed, seed) for seed in range(101)]
    (base,) = summarize(rows, VARIANTS, ORDER).variants
    spread = base.metrics["nodesUsed"].spread
    assert (spread.median, spread.low, spread.high) == pytest.approx((50, 5, 95))
