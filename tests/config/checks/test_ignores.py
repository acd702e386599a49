"""Comments that silence findings."""

import pytest

from ksched_cli.config.checks.findings import Finding
from ksched_cli.config.review import review
from tests.config.registries import REGISTRY, configured

WEIGHT = "profiles:\n- plugins:\n    score:\n      enabled:\n      - name: ImageLocality\n"


def findings(body: str) -> list[tuple[str, int | None]]:
    return [(item.rule, item.line) for item in review(configured(body), REGISTRY).findings]


def ignored(body: str) -> tuple[Finding, ...]:
    return review(configured(body), REGISTRY).ignored


@pytest.mark.parametrize(
    "line",
    [
        "        weight: 0  # ksched: ignore[weight-zero]\n",
        "        weight: 0  # why it is so #ksched:ignore[ weight-zero ]\n",
        "        # ksched: ignore[weight-zero]\n        weight: 0\n",
    ],
    ids=["at the end of the line", "after other words", "on the line above"],
)
def test_a_warning_is_silenced(line: str) -> None:
    assert findings(WEIGHT + line) == []
    assert [item.rule for item in ignored(WEIGHT + line)] == ["weight-zero"]


def test_another_line_is_not() -> None:
    body = WEIGHT + "        weight: 0\n# ksched: ignore[weight-zero]\n"
    assert findings(body) == [("weight-zero", 8), ("ignore-unused", 9)]


def test_an_error_is_not() -> None:
    body = "parallelism: 0  # ksched: ignore[invalid-value]\n"
    assert findings(body) == [("invalid-value", 3), ("ignore-unused", 3)]
    assert not ignored(body)


@pytest.mark.parametrize("rules", ["[weight-zro]", "", "[]"])
def test_a_comment_without_a_rule_is_warned_of(rules: str) -> None:
    assert findings(f"parallelism: 8  # ksched: ignore{rules}\n") == [("ignore-unknown", 3)]


def test_several_rules_stand_in_one_comment() -> None:
    body = WEIGHT + "        weight: 0  # ksched: ignore[weight-zero, weight-negative]\n"
    assert findings(body) == [("ignore-unused", 8)]
