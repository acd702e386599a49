"""The rules: each has a text and an example that it finds, and every rule in the code is listed."""

import re
from pathlib import Path

import pytest

from ksched_cli.config.allowed_plugins import parse_allowed
from ksched_cli.config.checks.rules import Rule, rules
from ksched_cli.config.review import review
from tests.config.registries import REGISTRY

PACKAGE = Path(__file__).parents[3] / "ksched_cli"
# A rule's name where a finding is made.
MENTION = re.compile(
    r"""(?:(?:findings|subject\.findings)\.(?:error|alarm|warn|inform)\(\s*|at_position\(\s*|_about\(\s*
    ignore,\s*|StartupCrash\(\s*|ErrorType\.\w+:\s|args\)\s-\ssubject|"preScore",\s|"score",\s|
    "preFilter",\s)"(?P<rule>[a-z]+(?:-[a-z]+)+|syntax|refused)\"""",
    re.X,
)
EXAMPLES = [pytest.param(rule, id=rule.id) for rule in rules().values() if rule.example]
# No text of a file shows them: bytes that are no text, what no other rule speaks of, other minors.
WITHOUT_EXAMPLE = {"not-text", "forbidden-value", "refused", "refused-later", "changes-later"}


@pytest.mark.parametrize("rule", EXAMPLES)
def test_a_rule_finds_its_example(rule: Rule) -> None:
    findings = review(rule.example, REGISTRY, parse_allowed(rule.allow)).findings
    assert rule.id in {finding.rule for finding in findings}


@pytest.mark.parametrize("rule", EXAMPLES)
def test_the_severity_is_that_of_its_findings(rule: Rule) -> None:
    findings = review(rule.example, REGISTRY, parse_allowed(rule.allow)).findings
    assert {finding.severity for finding in findings if finding.rule == rule.id} == {rule.severity}


def test_every_rule_has_a_title_a_text_and_an_example() -> None:
    for rule in rules().values():
        assert not rule.title.endswith(".")
        assert rule.text.endswith(".")
    assert {rule.id for rule in rules().values() if not rule.example} == WITHOUT_EXAMPLE


def test_every_rule_in_the_code_is_listed() -> None:
    mentioned = {
        match["rule"]
        for folder in ("config", "plugins")
        for path in (PACKAGE / folder).rglob("*.py")
        for match in MENTION.finditer(path.read_text())
    }
    assert len(mentioned) > 40
    assert mentioned <= set(rules())
