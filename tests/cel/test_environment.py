"""Parsing and type checking: what cel-go v0.29 says of the same expressions."""

import pytest

from ksched_cli.cel.environment import CelCompileError, check
from ksched_cli.cel.interpreter import DeviceInput, Program


@pytest.mark.parametrize(
    ("expression", "result_type"),
    [
        ("device.driver", "string"),
        ("device.attributes['d.io'].model", "dyn"),
        ("device.capacity['d.io'].memory", "kubernetes.Quantity"),
        ("device.attributes.size() > 0", "bool"),
        ("[1u].sum()", "uint"),
        ("[]", "list(dyn)"),
        ("[optional.none(), optional.of(1)]", "list(optional_type(int))"),
        ("type([1])", "type(list(int))"),
        ("timestamp(0)", "google.protobuf.Timestamp"),
        ("null", "null_type"),
        ("{'a': [1]}.transformMap(k, v, v.size())", "map(string, int)"),
        ("optional.of([1])[?0].optMap(x, string(x))", "optional_type(string)"),
    ],
)
def test_an_expression_has_the_type_that_its_declarations_give(
    expression: str, result_type: str
) -> None:
    assert check(expression).result_type == result_type


def test_attributes_are_of_no_known_type_where_they_are_no_lists() -> None:
    assert check("device.attributes['d.io'].model", reads_lists=False).result_type == "any"
    with pytest.raises(CelCompileError, match="includes"):
        check("device.attributes['d.io'].model.includes('x')", reads_lists=False)


@pytest.mark.parametrize(
    ("expression", "places"),
    [
        (
            "device.driver == 1",
            ["1:15: found no matching overload for '_==_' applied to '(string, int)'"],
        ),
        ("'a'.size(1)", ["1:9: found no matching overload for 'size' applied to 'string.(int)'"]),
        ("unknown", ["1:1: undeclared reference to 'unknown' (in container '')"]),
        ("true &&\n  device.foo", ["2:9: undefined field 'foo'"]),
        ("device.a || device.b", ["1:7: undefined field 'a'", "1:19: undefined field 'b'"]),
        ("1 a", ["1:3: Syntax error: mismatched input 'a' expecting '<EOF>'"]),
        ("(1).a", ["1:4: type 'int' does not support field selection"]),
        ("[1, 'a']", ["1:5: expected type 'int' but found 'string'"]),
        (
            "'a'.map(x, x)",
            [
                "1:1: expression of type 'string' cannot be range of a comprehension (must be list,"
                " map, or dynamic)"
            ],
        ),
        ("[1].all(1, true)", ["1:9: argument must be a simple name"]),
        ("[1].all(i, i, true)", ["1:12: duplicate variable name: i"]),
        ("has(1)", ["1:5: invalid argument to has() macro"]),
        (
            "[1].existsOne(x, true)",
            [
                "1:14: undeclared reference to 'existsOne' (in container '')",
                "1:15: undeclared reference to 'x' (in container '')",
            ],
        ),
        ("9223372036854775808", ["1:1: invalid int literal"]),
        ("18446744073709551616u", ["1:1: invalid uint literal"]),
        ("1e400", ["1:1: invalid double literal"]),
        ("'\\uD800'", ["1:1: invalid unicode code point"]),
        ("package", ["1:1: reserved identifier: package"]),
        (
            "'%d'.format(['a'])",
            [
                "1:14: error during formatting: decimal clause can only be used on integers, was"
                " given string"
            ],
        ),
        ("'%s'.format([])", ["1:12: index 0 out of range"]),
        (
            "'a'.format([1])",
            ["1:11: too many arguments supplied to string.format (expected 0, got 1)"],
        ),
    ],
)
def test_an_expression_that_does_not_check_is_an_error_with_its_places(
    expression: str, places: list[str]
) -> None:
    with pytest.raises(CelCompileError) as error:
        check(expression)
    shown = [line for line in str(error.value).splitlines() if "<input>:" in line]
    assert [line.partition("<input>:")[2] for line in shown] == places


def test_a_place_is_shown_under_its_line() -> None:
    with pytest.raises(CelCompileError) as error:
        check("device.foo == 1")
    assert str(error.value) == (
        "compilation failed: ERROR: <input>:1:7: undefined field 'foo'\n"
        " | device.foo == 1\n"
        " | ......^"
    )


@pytest.mark.parametrize(
    ("opening", "inner", "closing", "deepest"),
    [
        ("(", "true", ")", 249),
        ("!(", "true", ")", 249),
        ("", "1", " + 1", 249),
        ("(1 + ", "1", ")", 124),
        ("(true == ", "true", ")", 124),
        ("[1].all(x, ", "true", ")", 249),
        ("[", "1", "]", 249),
    ],
)
def test_expressions_nest_as_deeply_as_upstream_lets_them(
    opening: str, inner: str, closing: str, deepest: int
) -> None:
    def nested(count: int) -> str:
        return f"{opening * count}{inner}{closing * count} in []"

    assert Program(check(nested(deepest))).evaluate(DeviceInput())[0] is False
    for count in (deepest + 1, 4_000):
        with pytest.raises(CelCompileError, match="recursion"):
            check(nested(count))


def test_an_expression_has_at_most_100_000_characters() -> None:
    check(f"'{'a' * 99_998}'")
    with pytest.raises(CelCompileError, match="size exceeds limit: size: 100001, limit 100000"):
        check(f"'{'a' * 99_999}'")


@pytest.mark.slow
def test_an_expression_that_macros_make_huge_is_an_error() -> None:
    with pytest.raises(CelCompileError, match="more than 100000 nodes, with macros expanded"):
        check(f"optional.of(1){'.optMap(x, x)' * 40} == optional.of(1)")


def test_the_hundred_first_errors_are_shown() -> None:
    with pytest.raises(CelCompileError) as error:
        check(" && ".join(["x"] * 150))
    lines = str(error.value).splitlines()
    assert len(lines) == 3 * 100 + 1
    assert lines[-1] == "50 more errors were truncated"
