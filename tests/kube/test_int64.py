"""Division and overflow are Go's."""

import numpy as np
import pytest

from ksched_cli.kube.int64 import MAX_INT64, MIN_INT64, divide, wrap

CASES = [(7, 2, 3), (-7, 2, -3), (7, -2, -3), (-7, -2, 3), (6, 3, 2), (-6, 3, -2), (0, 5, 0)]


@pytest.mark.parametrize(("amount", "by", "quotient"), CASES)
def test_a_quotient_is_rounded_towards_zero(amount: int, by: int, quotient: int) -> None:
    assert divide(amount, by) == quotient


def test_columns_are_divided_element_by_element() -> None:
    amounts, divisors, quotients = (np.array(column) for column in zip(*CASES, strict=True))
    assert divide(amounts, divisors).tolist() == quotients.tolist()
    assert divide(np.array([7, -7]), 2).tolist() == [3, -3]


@pytest.mark.parametrize(
    ("number", "wrapped"),
    [
        (0, 0),
        (MAX_INT64, MAX_INT64),
        (MAX_INT64 + 1, MIN_INT64),
        (MIN_INT64 - 1, MAX_INT64),
        (1 << 64, 0),
    ],
)
def test_a_number_that_is_too_great_wraps_around(number: int, wrapped: int) -> None:
    assert wrap(number) == wrapped
