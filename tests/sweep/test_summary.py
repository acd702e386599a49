"""Summaries of rows."""

from typing import Any

import pytest

from ksched_cli.analysis.replay_figures import Durations
from ksched_cli.analysis.run_figures import Ended, Failed, Share
from ksched_cli.run.run import Run
from ksched_cli.sweep.execution import Result
from ksched_cli.sweep.plan import StudyPlan, SweepAxis, Value
from ksched_cli.sweep.summary import MAXIMIZE, MINIMIZE, effects_of, pareto_front, summarize

ORDER = ("base", "other")
PARAMETERS: dict[str, Any] = {
    "state": "s",
    "timeline": None,
    "configuration": "c",
    "changes": "none",
    "plugins": [],
    "patches": {},
    "kubernetesVersion": None,
    "autoscaler": None,
    "seed": 1,
}


def result(variant: str, seed: int, nodes: int, *, state: int = 0, **fields: Any) -> Result:
    """fields: of the outcome"""
    counts = {"placed": 3, "pending": 0, "gated": 0, "evicted": 0, "nodes_used": nodes}
    others: dict[str, Any] = {"placements": str(nodes), "metrics": {}, "seconds": 0.1}
    share = {"cpu": Share(0.5, 1.0, 0.25)}
    outcome = Ended(**{**counts, "utilization": share, **others, **fields})
    return Result(f"{variant}-{state}-{seed}", variant, (state, seed), PARAMETERS, outcome)


def failed(variant: str, seed: int, outcome: Failed) -> Result:
    return Result(f"{variant}-{seed}", variant, (0, seed), PARAMETERS, outcome)


def test_differences_are_of_runs_with_the_same_seed() -> None:
    results = [result("other", 0, 3), result("other", 1, 6), result("base", 1, 5),
               result("base", 0, 4)]  # fmt: skip
    summary = summarize(results, ORDER)
    base, other = summary.variants
    assert (base.name, base.metrics["nodesUsed"].difference) == ("base", None)
    metric = other.metrics["nodesUsed"]
    assert metric.spread.median == 4.5
    assert metric.difference is not None
    assert (metric.difference.least, metric.difference.most) == (-1, 1)
    assert (metric.pairs, metric.wins, metric.losses) == (2, 1, 1)


def test_runs_without_a_partner_are_no_pair() -> None:
    results = [result("base", 0, 4), result("other", 1, 3)]
    _, other = summarize(results, ORDER).variants
    assert other.metrics["nodesUsed"].difference is None
    assert other.metrics["nodesUsed"].pairs == 0


def test_more_is_better_where_the_file_says_so() -> None:
    results = [
        result("base", 0, 4, metrics={"m": 1.0}),
        result("other", 0, 4, metrics={"m": 2.0}),
    ]
    for metrics, wins in (({"m": MAXIMIZE}, 1), ({"m": MINIMIZE}, 0), (None, None)):
        summary = summarize(results, ORDER, metrics)
        assert summary.variants[1].metrics["m"].wins == wins
        assert ("pending" in summary.metrics) == (metrics is None)


def test_of_replays_waits_and_node_hours_are_compared() -> None:
    times = Durations(5, 1, 8, 8.5, 9, 10)
    results = [
        result(name, 0, 4, wait=times, node_hours=hours, cost=hours * 2.0)
        for name, hours in (("base", 3), ("other", 2))
    ]
    summary = summarize(results, ORDER, is_over_time=True)
    assert list(summary.metrics) == ["wait.mean", "nodeHours", "cost", "wait.p99", "pending"]
    base, other = summary.variants
    assert base.metrics["wait.p99"].spread.median == 9
    assert (other.metrics["nodeHours"].wins, other.metrics["wait.mean"].wins) == (1, 0)


def test_outcomes_are_counted_for_each_state() -> None:
    results = [result("base", seed, 3, placements=f"{seed % 2}") for seed in range(4)]
    results.append(result("base", 5, 3, placements="0", state=1))
    (base,) = summarize(results, ORDER).variants
    assert (base.runs, base.outcomes) == (5, 3)


def test_runs_that_failed_are_grouped_and_not_counted_in_metrics() -> None:
    broken, late = Failed(error="broken", is_defect=True), Failed(status="timeout", error="late")
    results = [result("base", 0, 4), *(failed("other", seed, broken) for seed in range(3))]
    summary = summarize([*results, failed("other", 7, late)], ORDER)
    assert summary.statuses == {"ok": 1, "error": 3, "timeout": 1}
    assert summary.is_defective
    assert [(item.error, item.runs) for item in summary.failures] == [("broken", 3), ("late", 1)]
    assert summary.variants[1].metrics == {}
    assert not summarize([failed("base", 0, late)], ORDER).is_defective


def test_the_front_has_what_nothing_is_better_than() -> None:
    points = {"a": (1.0, 5.0), "b": (2.0, 4.0), "c": (1.0, 4.0), "d": (2.0, 4.0)}
    assert pareto_front(points) == {"a", "b", "d"}


def test_variants_on_the_front_of_the_first_two_metrics_are_marked() -> None:
    summary = summarize([result("base", 0, 4, evicted=2), result("other", 0, 3, evicted=1)], ORDER)
    assert summary.front == ("evicted", "nodesUsed")
    assert [item.on_front for item in summary.variants] == [False, True]
    same = summarize([result("base", 0, 4), result("other", 0, 3)], ORDER)
    assert same.front == ()


def test_the_spread_is_the_median_and_what_ninety_per_cent_lie_between() -> None:
    results = [result("base", seed, seed) for seed in range(101)]
    (base,) = summarize(results, ORDER).variants
    spread = base.metrics["nodesUsed"].spread
    assert (spread.median, spread.low, spread.high) == pytest.approx((50, 5, 95))


def test_equal_variants_name_the_first_one_that_is_the_same() -> None:
    nodes = {"a": 4, "b": 4, "c": 3}
    results = [result(name, seed, count) for name, count in nodes.items() for seed in range(2)]
    same = {each.name: each.same_as for each in summarize(results, ["a", "b", "c"]).variants}
    assert same == {"a": "", "b": "a", "c": ""}


def test_the_mean_has_its_95_per_cent_interval() -> None:
    results = [result("a", seed, nodes) for seed, nodes in enumerate((2, 4, 6))]
    mean = summarize(results, ["a"]).variants[0].metrics["nodesUsed"].mean
    # Student's t of two degrees of freedom is 4.303; the deviation is 2.
    assert mean.mean == 4
    assert mean.high == pytest.approx(4 + 4.303 * 2 / 3**0.5)


def test_the_effect_of_an_axis_is_over_all_runs_that_differ_in_nothing_else() -> None:
    """With gates on instead of off, 10 and 20 nodes become 11 and 25 with the seed 0, and 12 and 21
    with the seed 1: 20 and 10 per cent of the 30."""
    gates = SweepAxis("featureGates", (Value("off"), Value("on")))
    weight = SweepAxis("patches.weight", (Value(1), Value(2)))
    plan = StudyPlan(Run(), (gates, weight, SweepAxis("seeds", (Value(0), Value(1)))))
    nodes = {(0, 0): (10, 10), (0, 1): (20, 20), (1, 0): (11, 12), (1, 1): (25, 21)}
    results = [
        result("a", seed, count)._replace(indexes=(gate, value, seed))
        for (gate, value), counts in nodes.items()
        for seed, count in enumerate(counts)
    ]
    on, heavier = effects_of(results, plan, ["nodesUsed"])
    assert (on.axis, on.value, on.first, on.runs) == ("featureGates", "on", "off", 4)
    assert on.percent.mean == pytest.approx(15)
    assert on.percent.high == pytest.approx(15 + 12.706 * 50**0.5 / 2**0.5)
    assert (heavier.axis, heavier.runs) == ("weight", 4)
    assert heavier.percent.mean == pytest.approx((100 * 24 / 21 + 100 * 19 / 22) / 2)
