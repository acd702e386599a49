"""Parsing, type checking, and calls into the library."""

from datetime import timedelta

import pytest

from ksched_cli.cel.environment import CelCompileError, check, library_call
from ksched_cli.cel.values import CelError, Uint
from ksched_cli.kube.quantity import Quantity


@pytest.mark.parametrize(
    ("expression", "result_type"),
    [
        ("device.driver", "string"),
        ("device.attributes['d.io'].model", "dyn"),
        ("device.capacity['d.io'].memory", "kubernetes.Quantity"),
        ("device.attributes.size() > 0", "bool"),
        ("[1u].sum()", "uint"),
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
    ("expression", "message"),
    [
        ("1 +", "Syntax error"),
        ("device.driver == 1", "found no matching overload for '_==_' applied to '(string, int)'"),
        ("unknown", "undeclared reference to 'unknown'"),
    ],
)
def test_an_expression_that_does_not_check_is_a_compile_error(
    expression: str, message: str
) -> None:
    with pytest.raises(CelCompileError) as error:
        check(expression)
    assert message in str(error.value)


def test_the_library_runs_its_own_functions() -> None:
    assert library_call("charAt", ("abc", 1), True) == "b"
    assert library_call("int", ("12",), False) == 12
    assert library_call("_+_", (timedelta(seconds=1), timedelta(seconds=2)), False) == timedelta(
        seconds=3
    )
    unsigned = library_call("uint", (3,), False)
    assert (unsigned, type(unsigned)) == (3, Uint)


@pytest.mark.parametrize(
    ("function", "argument"), [("int", True), ("string", Quantity(1)), ("int", "x")]
)
def test_a_library_call_that_fails_is_a_cel_error(
    function: str, argument: Quantity | bool | str
) -> None:
    with pytest.raises(CelError):
        library_call(function, (argument,), False)
