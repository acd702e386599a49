"""Functions of lists and sets."""

from typing import Any

import pytest

from ksched_cli.cel.functions import LISTS
from ksched_cli.cel.values import CelError, Duration


@pytest.mark.parametrize(
    ("function", "arguments", "result"),
    [
        ("isSorted", ([1, 1, 2],), True),
        ("isSorted", ([2, 1],), False),
        ("min", ([3, 1, 2],), 1),
        ("max", (["a", "b"],), "b"),
        ("sum", ([1, 2],), 3),
        ("sum", ([],), 0),
        ("list_duration_sum_duration", ([],), Duration(0)),
        ("indexOf", ([1, 2, 1], 1), 0),
        ("lastIndexOf", ([1, 2, 1], 1), 2),
        ("lastIndexOf", ("a b b b", "b ", 3), 2),
        ("indexOf", ([1], 5), -1),
        ("indexOf", ("abc", "c"), 2),
        ("slice", ([1, 2, 3], 1, 3), [2, 3]),
        ("flatten", ([1, [2, [3]]],), [1, 2, [3]]),
        ("flatten", ([1, [2, [3]]], 2), [1, 2, 3]),
        ("reverse", ([1, 2],), [2, 1]),
        ("distinct", ([1, 2, 1],), [1, 2]),
        ("sort", ([2, 1],), [1, 2]),
        ("@sortByAssociatedKeys", (["x", "y"], [2, 1]), ["y", "x"]),
        ("sets.contains", ([1, 2], [2]), True),
        ("sets.contains", ([2], [1, 2]), False),
        ("sets.equivalent", ([1, 2, 2], [2, 1]), True),
        ("sets.intersects", ([1], [2]), False),
    ],
)
def test_a_function_of_lists(function: str, arguments: tuple[Any, ...], result: object) -> None:
    assert LISTS[function](*arguments) == result


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        ("min", ([],), "min called on empty list"),
        ("max", ([[]],), "no such overload"),
        ("slice", ([1], 0, 2), r"cannot slice\(0, 2\), list is length 1"),
        ("flatten", ([1], -1), "level must be non-negative"),
        ("sort", ([1, "a"],), "list elements must have the same type"),
        ("sort", ([[]],), "list elements must be comparable"),
    ],
)
def test_a_function_of_lists_fails(function: str, arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(CelError, match=message):
        LISTS[function](*arguments)
