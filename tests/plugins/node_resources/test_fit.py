"""NodeResourcesFit against a plain loop in Go's arithmetic, and its explanations."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clusters import states
from ksched_cli.config.types import UtilizationShapePoint
from ksched_cli.kube.int64 import divide
from ksched_cli.plugins.node_resources.scoring import (
    Amount,
    broken_linear,
    least_allocated,
    most_allocated,
    weighted_mean,
)
from ksched_cli.testing import cluster, explanation, node, pod, simulation, verdicts

LARGEST, SMALLEST = 2**63 - 1, -(2**63)
AMOUNTS = st.one_of(st.integers(0, 10_000), st.integers(0, LARGEST), st.just(LARGEST))
CAPACITIES = st.one_of(st.integers(1, 10_000), st.integers(1, LARGEST))


def wrapped(number):
    """As an int64 that overflows."""
    return (number - SMALLEST) % 2**64 + SMALLEST


def quotient(amount, by):
    """Go's division, towards zero."""
    found = abs(amount) // abs(by)
    return found if (amount >= 0) == (by >= 0) else -found


def least(requested, capacity):
    if requested > capacity:
        return 0
    return quotient(wrapped((capacity - requested) * 100), capacity)


def most(requested, capacity):
    return quotient(wrapped(min(requested, capacity) * 100), capacity)


def column(*values):
    return np.array(values, dtype=np.int64)


@given(st.integers(SMALLEST, LARGEST), st.integers(1, LARGEST))
def test_division_is_towards_zero_for_numbers_and_for_columns(amount, by):
    assert divide(amount, by) == quotient(amount, by)
    assert divide(column(amount), column(by)).tolist() == [quotient(amount, by)]


@given(AMOUNTS, CAPACITIES)
@example(209715200, 9 * 10**18)
def test_the_two_simple_strategies_are_exact_also_where_they_overflow(requested, capacity):
    assert least_allocated(column(requested), column(capacity))[0] == least(requested, capacity)
    assert most_allocated(column(requested), column(capacity))[0] == most(requested, capacity)


@given(st.lists(st.tuples(AMOUNTS, CAPACITIES), min_size=1))
def test_a_huge_amount_in_a_column_does_not_change_the_others(pairs):
    requested, capacity = (column(*values) for values in zip(*pairs, strict=True))
    assert least_allocated(requested, capacity).tolist() == [least(*pair) for pair in pairs]


@given(st.integers(0, 2**54 - 1), st.integers(1, 2**54 - 1))
def test_where_no_product_overflows_the_quick_way_is_as_exact(requested, capacity):
    used, whole = column(requested), column(capacity)
    assert least_allocated(used, whole, True)[0] == least(requested, capacity)
    assert most_allocated(used, whole, True)[0] == most(requested, capacity)


def test_sums_that_might_overflow_are_noticed():
    huge = pod("huge", requests={"memory": "4Ti"}, node="n")
    assert not simulation(cluster(node("n"), pod("plain", node="n"))).snapshot.huge
    assert simulation(cluster(node("n"), huge)).snapshot.huge


SHAPES = st.lists(
    st.tuples(st.integers(0, 100), st.integers(0, 10)),
    min_size=1,
    max_size=4,
    unique_by=lambda point: point[0],
).map(sorted)


@given(SHAPES, AMOUNTS, CAPACITIES)
def test_a_ratio_follows_its_shape(shape, requested, capacity):
    points = [(utilization, score * 10) for utilization, score in shape]
    percent = 100 if requested > capacity else quotient(wrapped(requested * 100), capacity)
    wanted = points[-1][1]
    for i, (utilization, score) in enumerate(points):
        if percent <= utilization:
            before = points[i - 1] if i else None
            wanted = score
            if before:
                rise = (score - before[1]) * (percent - before[0])
                wanted = before[1] + quotient(rise, utilization - before[0])
            break
    score = broken_linear([UtilizationShapePoint(utilization=u, score=s) for u, s in shape])
    assert score(column(requested), column(capacity))[0] == wanted


@given(
    st.lists(
        st.tuples(st.integers(0, 200), st.integers(0, 100), st.integers(1, 9)),
        min_size=1,
        max_size=4,
    ),
    st.booleans(),
)
def test_the_mean_is_over_the_resources_that_a_node_has(resources, skip_zero):
    found = [
        Amount(column(requested), column(capacity), capacity > 0)
        for requested, capacity, _ in resources
    ]
    weights = [weight for _, _, weight in resources]
    points = [
        (most(requested, capacity), weight)
        for requested, capacity, weight in resources
        if capacity and (most(requested, capacity) or not skip_zero)
    ]
    total = sum(weight for _, weight in points)
    wanted = 0
    if total:
        mean = sum(score * weight for score, weight in points) / total
        wanted = math.floor(mean + 0.5) if skip_zero else math.floor(mean)
    assert weighted_mean(found, weights, most_allocated, skip_zero=skip_zero)[0] == wanted


@given(states(max_pending=2))
def test_verdicts_are_those_of_a_plain_loop(state):
    run = simulation(state)
    for one in run.pending():
        found = verdicts("NodeResourcesFit", state, pod=one.key)
        for row, name in enumerate(run.snapshot.names):
            there = run.snapshot.pods[row]
            wanted, hopeless = [], False
            if len(there) + 1 > run.snapshot.allocatable("pods")[row]:
                wanted.append("Too many pods")
            for resource, amount in one.resources.requests.items():
                whole = int(run.snapshot.allocatable(resource)[row])
                used = sum(other.resources.requests.get(resource, 0) for other in there)
                if amount and amount > whole - used:
                    wanted.append(f"Insufficient {resource}")
                    hopeless |= amount > whole
            status = found[name]
            assert sorted(status.reasons) == sorted(wanted)
            assert status.is_success == (not wanted)
            if wanted:
                text = "UnschedulableAndUnresolvable" if hopeless else "Unschedulable"
                assert status.code.text == text


@pytest.mark.parametrize("count", [3, 70])
def test_any_number_of_shortages_is_told_apart(count):
    names = [f"example.com/r{i:02}" for i in range(count)]
    state = cluster(node("a"), pod("p", requests=dict.fromkeys(names, 1)))
    (status,) = verdicts("NodeResourcesFit", state).values()
    assert list(status.reasons) == [f"Insufficient {name}" for name in names]


def test_an_explanation_gives_amounts_as_people_write_them():
    state = cluster(
        node("a", cpu="2", memory="4Gi", pods=1, resources={"example.com/gpu": 1}),
        pod("there", node="a", cpu="1500m", memory="3Gi"),
        pod("p", cpu="750m", memory="1536Mi", requests={"example.com/gpu": 2}),
    )
    (rejection,) = explanation(state).nodes[0].rejections
    assert rejection.details == (
        "pods: 1 of 1 are there",
        "cpu: wants 750m, 500m free of 2",
        "example.com/gpu: wants 2, 1 free of 1",
        "memory: wants 1.5Gi, 1Gi free of 4Gi",
    )


def test_an_explanation_of_a_score_says_how_much_would_be_used():
    state = cluster(node("a", cpu="4", memory="8Gi"), pod("p", cpu="1", memory="2Gi"))
    score = explanation(state).nodes[0].scores["NodeResourcesFit"]
    assert score.details == ("cpu 25% used", "memory 25% used")
