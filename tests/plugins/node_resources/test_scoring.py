"""The scoring strategies against plain loops in Go's arithmetic."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ksched_cli.kube.int64 import divide
from ksched_cli.plugins.args import UtilizationShapePoint
from ksched_cli.plugins.node_resources.scoring import (
    LEAST,
    MAX_PLAIN,
    MOST,
    ResourceUsage,
    mean_by_row,
    requested_to_capacity_ratio,
    weighted_mean,
)

LARGEST, SMALLEST = 2**63 - 1, -(2**63)
AMOUNTS = st.one_of(st.integers(0, 10_000), st.integers(0, LARGEST), st.just(LARGEST))
CAPACITIES = st.one_of(st.integers(1, 10_000), st.integers(1, LARGEST))


def wrapped(number: int) -> int:
    """As an int64 that overflows."""
    return (number - SMALLEST) % 2**64 + SMALLEST


def quotient(amount: int, by: int) -> int:
    """Go's division, towards zero."""
    magnitude = abs(amount) // abs(by)
    return magnitude if (amount >= 0) == (by >= 0) else -magnitude


def least(requested: int, capacity: int) -> int:
    if requested > capacity:
        return 0
    return quotient(wrapped((capacity - requested) * 100), capacity)


def most(requested: int, capacity: int) -> int:
    return quotient(wrapped(min(requested, capacity) * 100), capacity)


def column(*values: int) -> NDArray[np.int64]:
    return np.array(values, dtype=np.int64)


@given(st.integers(SMALLEST, LARGEST), st.integers(1, LARGEST))
def test_division_is_towards_zero_for_numbers_and_for_columns(amount: int, by: int) -> None:
    assert divide(amount, by) == quotient(amount, by)
    assert divide(column(amount), column(by)).tolist() == [quotient(amount, by)]


@given(AMOUNTS, CAPACITIES)
@example(209715200, 9 * 10**18)
def test_the_two_simple_strategies_are_exact_also_where_they_overflow(
    requested: int, capacity: int
) -> None:
    assert LEAST.columns(column(requested), column(capacity))[0] == least(requested, capacity)
    assert MOST.columns(column(requested), column(capacity))[0] == most(requested, capacity)


@given(st.lists(st.tuples(AMOUNTS, CAPACITIES), min_size=1))
def test_a_huge_amount_in_a_column_does_not_change_the_others(pairs: list[tuple[int, int]]) -> None:
    requested, capacity = (column(*values) for values in zip(*pairs, strict=True))
    assert LEAST.columns(requested, capacity).tolist() == [least(*pair) for pair in pairs]


# A capacity and an amount whose percentage falls just short of a whole number, or reaches it.
CLOSE_AMOUNTS = st.tuples(
    st.integers(1, MAX_PLAIN - 1), st.integers(0, 100), st.integers(-1, 1)
).map(lambda drawn: (max(drawn[0] * drawn[1] // 100 + drawn[2], 0), drawn[0]))


@given(CLOSE_AMOUNTS)
@example((MAX_PLAIN // 2 - 1, MAX_PLAIN - 1))
@example((11, 10))
def test_the_form_for_single_rows_is_exact(amounts: tuple[int, int]) -> None:
    requested, capacity = amounts
    row = (0, 0, 0, requested - 1, requested, capacity, capacity, 0)
    by_row = mean_by_row(LEAST, (1, 0), (1, 2))
    assert by_row(row) == least(requested, capacity)
    by_row = mean_by_row(MOST, (1, 0), (1, 2))
    assert by_row(row) == most(requested, capacity)


def test_the_scores_of_a_row_are_rounded_down_before_their_mean_is() -> None:
    for strategy in (LEAST, MOST):
        by_row = mean_by_row(strategy, (1, 2), (1, 1))
        assert by_row((0, 0, 0, 0, 0, 3, 3, 0)) == (33 + 66) // 2


@given(CLOSE_AMOUNTS | st.tuples(st.integers(0, 2**53), st.integers(1, MAX_PLAIN - 1)))
@example((MAX_PLAIN // 2 - 1, MAX_PLAIN - 1))
def test_strategies_of_floats_are_exact_where_no_product_overflows(
    amounts: tuple[int, int],
) -> None:
    used, whole = (np.array([amount], dtype=np.float64) for amount in amounts)
    assert int(LEAST.floats(used.copy(), whole)[0]) == least(*amounts)
    assert int(MOST.floats(used.copy(), whole)[0]) == most(*amounts)


SHAPES = st.lists(
    st.tuples(st.integers(0, 100), st.integers(0, 10)),
    min_size=1,
    max_size=4,
    unique_by=lambda point: point[0],
).map(sorted)


@given(SHAPES, AMOUNTS, CAPACITIES)
@example([(0, 1), (100, 10)], 199, 200)
@example([(0, 10), (1, 0)], 0, 1)
@example([(0, 1), (100, 10)], 2**57, 2**57)
def test_a_ratio_follows_its_shape(
    shape: list[tuple[int, int]], requested: int, capacity: int
) -> None:
    points = [(utilization, score * 10) for utilization, score in shape]
    percent = 100 if requested > capacity else quotient(wrapped(requested * 100), capacity)
    expected = points[-1][1]
    for i, (utilization, score) in enumerate(points):
        if percent <= utilization:
            before = points[i - 1] if i else None
            expected = score
            if before:
                rise = (score - before[1]) * (percent - before[0])
                expected = before[1] + quotient(rise, utilization - before[0])
            break
    strategy: Callable[..., Any] = requested_to_capacity_ratio(
        [UtilizationShapePoint(utilization=u, score=s) for u, s in shape], exact=False
    )
    assert strategy(column(requested), column(capacity))[0] == expected


@given(
    st.lists(
        st.tuples(st.integers(0, 200), st.integers(0, 100), st.integers(1, 9)),
        min_size=1,
        max_size=4,
    ),
    st.booleans(),
)
def test_the_mean_is_over_the_resources_that_a_node_has(
    resources: list[tuple[int, ...]], skip_zero: bool
) -> None:
    usages = [
        ResourceUsage(column(requested), column(capacity)) for requested, capacity, _ in resources
    ]
    weights = [weight for _, _, weight in resources]
    points = [
        (most(requested, capacity), weight)
        for requested, capacity, weight in resources
        if capacity and (most(requested, capacity) or not skip_zero)
    ]
    total = sum(weight for _, weight in points)
    expected = 0
    if total:
        mean = sum(score * weight for score, weight in points) / total
        expected = math.floor(mean + 0.5) if skip_zero else math.floor(mean)
    assert weighted_mean(usages, weights, MOST.columns, skip_zero=skip_zero)[0] == expected
