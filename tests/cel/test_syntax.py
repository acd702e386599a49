"""Trees of checked expressions."""

from typing import Any

import pytest

from ksched_cli.cel.environment import check
from ksched_cli.cel.syntax import (
    CallExpression,
    Comprehension,
    Constant,
    Identifier,
    ListLiteral,
    MapLiteral,
    Select,
    children,
)
from ksched_cli.cel.values import Uint


def root(expression: str) -> Any:
    return check(expression).root


def test_constants_have_their_types() -> None:
    literals = ("-1", "2u", "1.5", "'a'", "b'b'", "true", "null")
    values = [root(literal).value for literal in literals]
    assert values == [-1, 2, 1.5, "a", b"b", True, None]
    assert type(values[1]) is Uint


def test_a_variable_has_its_qualified_name() -> None:
    assert root("google.protobuf.Duration") == Identifier(
        "google.protobuf.Duration", True, offset=15
    )
    assert root("int") == Identifier("int", True, offset=0)


def test_a_call_has_its_target_first_and_the_overloads_left() -> None:
    call = root("device.driver.startsWith('a')")
    assert isinstance(call, CallExpression)
    assert call.is_member
    assert call.overloads == ("starts_with_string",)
    assert children(call)[1:] == (Constant("a", offset=25),)


def test_has_is_a_test_of_a_field() -> None:
    select = root("has(device.attributes['d.io'].model)")
    assert isinstance(select, Select)
    assert (select.field, select.test_only) == ("model", True)
    assert children(select) == (select.operand,)


def test_optional_elements_and_entries_are_marked() -> None:
    literal = root("[1, ?optional.of(2)]")
    assert isinstance(literal, ListLiteral)
    assert literal.optional == {1}
    mapping = root("{'a': 1, ?'b': optional.of(2)}")
    assert isinstance(mapping, MapLiteral)
    assert [entry.optional for entry in mapping.entries] == [False, True]
    assert len(children(mapping)) == 4


def test_a_macro_is_a_comprehension() -> None:
    comprehension = root("[1, 2].exists(x, x > 1)")
    assert isinstance(comprehension, Comprehension)
    assert (comprehension.variable, comprehension.second_variable) == ("x", "")
    assert comprehension.start == Constant(False, offset=13)
    assert children(comprehension)[0] == comprehension.over


@pytest.mark.parametrize("expression", ["!!true", "!!!!true", "--1", "- -1"])
def test_signs_undo_each_other(expression: str) -> None:
    assert isinstance(root(expression), Constant)
    assert isinstance(root(f"{expression[0]}{expression}"), CallExpression)
