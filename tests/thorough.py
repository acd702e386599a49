"""What CI tries more of than the plain suite: it has `--hypothesis-profile thorough`."""

from collections.abc import Sequence
from typing import Any, TypeVar

import pytest
from hypothesis import settings

T = TypeVar("T")


def is_thorough() -> bool:
    return settings.get_current_profile_name() == "thorough"


def first(count: int, cases: Sequence[T]) -> list[Any]:
    """Parameters of a test: the plain suite tries the first `count` of these cases."""
    slow = [pytest.mark.slow]
    return [pytest.param(case, marks=slow * (at >= count)) for at, case in enumerate(cases)]


def each_second(cases: Sequence[T], offset: int = 0) -> list[Any]:
    """Parameters of a test: the plain suite tries each second of these cases, from `offset` on."""
    slow = [pytest.mark.slow]
    return [pytest.param(each, marks=slow * ((at + offset) % 2)) for at, each in enumerate(cases)]


def every(count: int, rows: Sequence[T], columns: Sequence[Any]) -> list[Any]:
    """Parameters of a test: all pairs, of which the plain suite tries one in `count`, so that it
    has each row and each column."""
    slow = [pytest.mark.slow]
    return [
        pytest.param(row, column, marks=slow * bool((y + x) % count))
        for y, row in enumerate(rows)
        for x, column in enumerate(columns)
    ]
