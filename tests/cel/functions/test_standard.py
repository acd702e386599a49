"""Operators, strings and optionals."""

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ksched_cli.cel.functions import STANDARD
from ksched_cli.cel.values import NONE, CelError, Optional, TypeName, Uint
from ksched_cli.kube.int64 import MIN_INT64


@pytest.mark.parametrize(
    ("function", "arguments", "result"),
    [
        ("_/_", (-7, 2), -3),
        ("_%_", (-7, 2), -1),
        ("_/_", (1.0, 0.0), math.inf),
        ("_-_", (Uint(3), Uint(1)), 2),
        ("_*_", (2.0, 1.5), 3.0),
        ("-_", (timedelta(1),), timedelta(-1)),
        ("!_", (False,), True),
        ("_>=_", ("b", "a"), True),
        ("startsWith", ("abc", "ab"), True),
        ("endsWith", ("abc", "ab"), False),
        ("contains", ("abc", "b"), True),
        ("type", (1,), TypeName("int")),
        ("cel.@mapInsert", ({"a": 1}, "b", 2), {"a": 1, "b": 2}),
        ("cel.@mapInsert", ({"a": 1}, {"b": 2}), {"a": 1, "b": 2}),
        ("optional.ofNonZeroValue", (0,), NONE),
        ("optional.ofNonZeroValue", (datetime(1, 1, 1, tzinfo=UTC),), NONE),
        ("optional.ofNonZeroValue", (1,), Optional(True, 1)),
        ("optional.unwrap", ([Optional(True, 1), NONE],), [1]),
        ("first", ([],), NONE),
        ("last", ([1, 2],), Optional(True, 2)),
        ("hasValue", (NONE,), False),
    ],
)
def test_a_function(function: str, arguments: tuple[Any, ...], result: object) -> None:
    assert STANDARD[function](*arguments) == result


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        ("_/_", (1, 0), "division by zero"),
        ("_%_", (1, 0), "modulus by zero"),
        ("_/_", (MIN_INT64, -1), "integer overflow"),
        ("_-_", (Uint(1), Uint(2)), "unsigned integer overflow"),
        ("_*_", (1, 1.0), "no such overload"),
        ("value", (NONE,), "dereference"),
        ("cel.@mapInsert", ({"a": 1}, "a", 2), "key a already exists"),
    ],
)
def test_a_function_fails(function: str, arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(CelError, match=message):
        STANDARD[function](*arguments)
