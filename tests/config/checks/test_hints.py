"""A hint says what helps: a configuration that follows it no longer has the finding, and no new
one."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from ksched_cli.config.allowed_plugins import parse_allowed
from ksched_cli.config.checks.findings import Finding, Severity
from ksched_cli.config.checks.rules import rules
from ksched_cli.config.review import review
from ksched_cli.kube.versions import MINORS, NEWEST, release_of
from ksched_cli.plugins import registry_of
from tests.config.registries import configured

HINTS = yaml.load(Path(__file__).with_name("hints.yaml").read_text(), yaml.CSafeLoader)
# These hints are not followed by another text: a command to run, files of another machine, a
# template to render, and options.
NOT_IN_THE_FILE = {
    "syntax", "wrong-kind", "old-version", "extender-file", "points-unknown",
}  # fmt: skip


def findings(text: str, minor: str = NEWEST) -> tuple[Finding, ...]:
    return review(text, registry_of(release_of(minor))).findings


def severe(items: tuple[Finding, ...]) -> set[str]:
    return {item.rule for item in items if item.severity != Severity.INFO}


@pytest.mark.parametrize("case", HINTS, ids=lambda case: f"{case['rule']}: {case['hint']}")
def test_what_a_hint_says_helps(case: dict[str, Any]) -> None:
    text = case.get("file") or configured(case["body"])
    before = findings(text, case.get("minor", NEWEST))
    hints = [item.hint for item in before if item.rule == case["rule"]]
    assert any(hint.startswith(case["hint"]) for hint in hints), hints
    assert case["fixed"]
    for body in case["fixed"]:
        after = findings(configured(body), case.get("minor", NEWEST))
        assert case["rule"] not in {item.rule for item in after}, after
        assert severe(after) <= severe(before)


def test_the_hints_of_all_rules_are_followed() -> None:
    with_hint = {
        finding.rule
        for rule in rules().values()
        for minor in MINORS
        for finding in review(
            rule.example, registry_of(release_of(minor)), parse_allowed(rule.allow)
        ).findings
        if finding.hint
    }
    assert with_hint - NOT_IN_THE_FILE <= {case["rule"] for case in HINTS}
    without = {rule for rule in rules() if rule not in with_hint}
    assert without <= {
        "not-text",
        "changed-since",
        "refused",
        "changes-later",
        "refused-later",
        "forbidden-value",
        "syntax",
    }
