"""Operators, strings and optionals."""

import math
from typing import Any

import pytest

from ksched_cli.cel.functions import STANDARD
from ksched_cli.cel.values import NONE, CelError, Duration, Optional, Timestamp, TypeName, Uint
from ksched_cli.kube.int64 import MIN_INT64


@pytest.mark.parametrize(
    ("function", "arguments", "result"),
    [
        ("_/_", (-7, 2), -3),
        ("_%_", (-7, 2), -1),
        ("_/_", (1.0, 0.0), math.inf),
        ("_-_", (Uint(3), Uint(1)), 2),
        ("_*_", (2.0, 1.5), 3.0),
        ("-_", (Duration(1),), Duration(-1)),
        ("!_", (False,), True),
        ("_>=_", ("b", "a"), True),
        ("startsWith", ("abc", "ab"), True),
        ("endsWith", ("abc", "ab"), False),
        ("contains", ("abc", "b"), True),
        ("type", (1,), TypeName("int")),
        ("cel.@mapInsert", ({"a": 1}, "b", 2), {"a": 1, "b": 2}),
        ("cel.@mapInsert", ({"a": 1}, {"b": 2}), {"a": 1, "b": 2}),
        ("optional.ofNonZeroValue", (0,), NONE),
        ("optional.ofNonZeroValue", (STANDARD["timestamp"]("0001-01-01T00:00:00Z"),), NONE),
        ("optional.ofNonZeroValue", (1,), Optional(True, 1)),
        ("optional.unwrap", ([Optional(True, 1), NONE],), [1]),
        ("first", ([],), NONE),
        ("last", ([1, 2],), Optional(True, 2)),
        ("hasValue", (NONE,), False),
        ("int", ("-12",), -12),
        ("int", (-1.9,), -1),
        ("uint", ("18446744073709551615",), 2**64 - 1),
        ("double", ("1e3",), 1000.0),
        ("string", (1e6,), "1e+06"),
        ("string", (Duration(-1),), "-0.000000001s"),
        ("bool", ("T",), True),
        ("duration", ("1h30m",), Duration(5400 * 10**9)),
        ("_+_", (Timestamp(0), Duration(1)), Timestamp(1)),
        ("_-_", (Timestamp(0), Timestamp(1)), Duration(-1)),
        ("getHours", (Timestamp(0), "-01:30"), 22),
        ("getMilliseconds", (Duration(1_500_000_000),), 1500),
        ("getMilliseconds", (Timestamp(1_500_000_000),), 500),
        ("getMinutes", (Timestamp(60_500_000_000),), 1),
        ("getMonth", (Timestamp(31 * 86_400 * 10**9),), 1),
        ("getDayOfWeek", (Timestamp(0),), 4),
        ("getDayOfWeek", (Timestamp(3 * 86_400 * 10**9),), 0),
        ("_-_", (Timestamp(3), Duration(1)), Timestamp(2)),
        ("charAt", ("abc", 3), ""),
        ("substring", ("a\u00e9c", 1, 2), "\u00e9"),
        ("split", ("abc", "", 2), ["a", "bc"]),
        ("split", ("a b c", " ", 2), ["a", "b c"]),
        ("replace", ("aaa", "a", "b", 2), "bba"),
        ("strings.quote", ('a"\n',), '"a\\"\\n"'),
        ("join", (["a", "b"], "-"), "a-b"),
        ("format", ("%s %d %x", ["a", 1, b"\xff"]), "a 1 ff"),
        ("format", ("%.1f %e%%", [1234.56, 12345.678]), "1,234.6 1.234568\u00d710\u2070\u2074%"),
        ("format", ("%s", [[None, "a", 1.5, {"b": True}]]), '[null, "a", 1.500000, {"b":true}]'),
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
        ("int", (True,), "no such overload"),
        ("int", ("x",), "type conversion error from 'string' to 'int'"),
        ("int", (9223372036854775808.0,), "integer overflow"),
        ("uint", (-0.5,), "unsigned integer overflow"),
        ("timestamp", (253402300800,), "timestamp overflow"),
        ("timestamp", ("2023-02-29T00:00:00Z",), "type conversion error"),
        ("getHours", (Timestamp(0), "No/Where"), "unknown time zone No/Where"),
        ("substring", ("abc", 2, 1), "invalid substring range. start: 2, end: 1"),
        ("format", ("%d", ["a"]), "decimal clause can only be used on integers, was given string"),
        ("format", ("%s%s", ["a"]), "index 1 out of range"),
        ("cel.@mapInsert", ({"a": 1}, "a", 2), "key a already exists"),
    ],
)
def test_a_function_fails(function: str, arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(CelError, match=message):
        STANDARD[function](*arguments)


@pytest.mark.parametrize(
    "text",
    [
        "2020-01-01T00:00:00+02:00",
        "2020-01-01T00:00:00.120000001Z",
        "9999-12-31T23:59:59.999999999Z",
        "0001-01-01T00:00:00Z",
    ],
)
def test_a_time_reads_as_it_was_written(text: str) -> None:
    assert STANDARD["string"](STANDARD["timestamp"](text)) == text
