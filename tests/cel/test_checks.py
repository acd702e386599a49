"""Checks of literals and result types: which expressions are refused, and with which message."""

import pytest

from ksched_cli.cel.environment import CelCompileError, check, check_result


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("device.foo == 1", "undefined field 'foo'"),
        ("device.driver", "must evaluate to bool or the unknown type, not string"),
        ("device.driver.matches('(')", "invalid matches argument"),
        ("duration('soon') == duration('1s')", "invalid duration argument"),
        ("timestamp('soon') == timestamp('2026-01-01T00:00:00Z')", "invalid timestamp argument"),
        ("[1, 'a'].exists(x, true)", "expected type 'int' but found 'string'"),
        ("{'a': 1, 'b': 'c'}.size() == 2", "expected type 'int' but found 'string'"),
        ("['a'].indexOf(1) == 0", "found no matching overload for 'indexOf'"),
        ("'%d'.format([true]) == 'a'", "can only be used on integers, was given bool"),
        ("{'a': 1}.all(key, key, true)", "duplicate variable name: key"),
        ("1 == null", "applied to '(int, null)'"),
        ("null == 'a'", "applied to '(null, string)'"),
        ("[[]].exists(x, x + [x] == x)", "applied to '(list(dyn), list(list(dyn)))'"),
    ],
)
def test_an_expression_is_refused_with_the_reason(expression: str, message: str) -> None:
    with pytest.raises(CelCompileError) as error:
        check_result(check(expression))
    assert message in str(error.value)


@pytest.mark.parametrize(
    "expression",
    [
        "device.driver.matches('a+')",
        "duration('1s') < duration('2s')",
        "['a'].indexOf('a') == 0",
        "'%s %d'.format(['a', 1]) == 'a 1'",
        "device.attributes['d.io'].model",
        "null == duration('1s') || duration('1s') == null",
        "([[dyn('a')]] + [[1]])[0][0] == 'a' && ([[1]] + [[dyn('a')]])[0][0] == 'a'",
        ".size('a') == 1",
        "optional.of({'a': 1}).a.orValue(2) == 1",
    ],
)
def test_valid_literals_and_results_of_unknown_type_pass(expression: str) -> None:
    check_result(check(expression))
