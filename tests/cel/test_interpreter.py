"""What upstream's compiler makes of expressions, from cel_expressions.jsonl.

Each line: an expression; what it gives for DEVICE: true, false, "error" (at run time) or "compile
error"; and what that costs, where upstream's own count is the same every time.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.cel.environment import CelCompileError, check, check_result
from ksched_cli.cel.interpreter import DeviceInput, Program
from ksched_cli.cel.values import CelAbortError, CelError, DomainMap, Semver
from ksched_cli.kube.quantity import Quantity

DRIVER = "d.io"
CASES = [
    json.loads(line)
    for line in Path(__file__).with_name("cel_expressions.jsonl").read_text().splitlines()
]
DEVICE = DeviceInput(
    DRIVER,
    DomainMap(
        {
            DRIVER: {"model": "a100", "idx": 3, "ecc": True, "ver": Semver.parse("1.2.3")},
            "other.com": {"x": "y"},
        }
    ),
    DomainMap({DRIVER: {"memory": Quantity.parse("40Gi")}}),
)


def outcome(expression: str) -> tuple[object, int | None]:
    """What it gives, and the cost or None, where attributes are no lists."""
    try:
        checked = check(expression, reads_lists=False)
        check_result(checked, "any")
        program = Program(checked)
    except CelCompileError:
        return "compile error", None
    try:
        return program.evaluate(DEVICE)
    except (CelError, CelAbortError):
        return "error", None


@pytest.mark.parametrize(
    "cases",
    [CASES[at : at + 20] for at in range(0, len(CASES), 20)],
    ids=lambda cases: f"{cases[0]['expression']} and those after it",
)
def test_an_expression_gives_and_costs_what_it_does_upstream(cases: list[dict[str, Any]]) -> None:
    wrong = {}
    for case in cases:
        gives, cost = outcome(case["expression"])
        if gives != case["gives"] or cost != case.get("cost", cost):
            wrong[case["expression"]] = gives, cost
    assert wrong == {}


def test_messages_are_an_error_though_upstream_has_them() -> None:
    assert outcome("google.protobuf.Int64Value{value: 1} == 1")[0] == "compile error"


@pytest.mark.parametrize(
    ("expression", "gives"),
    [
        ("quantity('1e308').asApproximateFloat() == 1e308", True),
        ("quantity('1e309').asApproximateFloat() > 1e308", True),
        ("quantity('-1e400').asApproximateFloat() < -1e308", True),
        (f"quantity('{'9' * 400}').asApproximateFloat() > 1e308", True),
        ("quantity('0e400').asApproximateFloat() == 0.0", False),
        ("lists.range(1099511627776).size() > 0", "error"),
        ("lists.range(9223372036854775807).size() > 0", "error"),
        ("lists.range(-9223372036854775807).size() == 0", True),
    ],
)
def test_numbers_of_any_size_are_upstreams(expression: str, gives: object) -> None:
    """As v1.34.1 answers; a list that costs more than an expression may is not made."""
    assert outcome(expression)[0] == gives
