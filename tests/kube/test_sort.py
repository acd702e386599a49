"""The order in which Go's sort.Slice leaves a list; go_sorted.jsonl holds what Go made of some.

Each line: given, pairs of a priority and a start (-1: not started); order, the indices into
`given` in the order that Go sorted it to, by upstream's order of importance.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.kube.sort import go_sort

LINES = (Path(__file__).parent / "data" / "go_sorted.jsonl").read_text().splitlines()
SORTED = [json.loads(line) for line in LINES]


def more_important(first: tuple[int, ...], second: tuple[int, ...]) -> bool:
    """Contradicts itself where neither has started."""
    if first[0] != second[0]:
        return first[0] > second[0]
    return second[1] < 0 or 0 <= first[1] < second[1]


@pytest.mark.parametrize("case", SORTED, ids=lambda case: f"{len(case['given'])} items")
def test_the_order_is_gos(case: dict[str, Any]) -> None:
    items = [(*pair, index) for index, pair in enumerate(case["given"])]
    go_sort(items, more_important)
    assert [index for *_, index in items] == case["order"]


@given(st.lists(st.integers(0, 40), max_size=200))
def test_what_has_an_order_is_sorted(numbers: list[int]) -> None:
    items = list(numbers)
    go_sort(items, lambda first, second: first < second)
    assert items == sorted(numbers)


@given(st.lists(st.integers(0, 2), max_size=12))
def test_short_lists_are_sorted_stably(numbers: list[int]) -> None:
    items = list(enumerate(numbers))
    go_sort(items, lambda first, second: first[1] < second[1])
    assert items == sorted(enumerate(numbers), key=lambda item: item[1])


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-1, 3)), max_size=150))
def test_nothing_is_lost_where_the_order_contradicts_itself(pairs: list[tuple[int, int]]) -> None:
    items = list(pairs)
    go_sort(items, more_important)
    assert sorted(items) == sorted(pairs)
