"""Configurations that kube-scheduler v1.34.1 itself refused, with its stage and its message.

refused.jsonl was written by the real decoder, validation and scheduler.New over mutated inputs.
"""

import json
from pathlib import Path

import pytest

from ksched_cli.config.review import Stage, judge, review, review_bytes
from tests.config.registries import REGISTRY, configured

CASES = [json.loads(line) for line in Path(__file__).with_name("refused.jsonl").open()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["error"][:60])
def test_stage_and_words_are_kube_schedulers_and_a_finding_has_severity_error(
    case: dict[str, str],
) -> None:
    result = review(case["text"], REGISTRY)
    assert (result.verdict.stage, result.verdict.error) == (case["stage"], case["error"])
    assert not result.valid
    assert "refused" not in {finding.rule for finding in result.findings}


def test_a_plain_configuration_has_nothing_to_remark() -> None:
    assert review(configured(""), REGISTRY).findings == ()


def test_errors_come_first_then_by_line() -> None:
    text = configured("zzz: 1\nprofiles:\n- schedulerName: batch\nparallelism: -1\n")
    findings = review(text, REGISTRY).findings
    assert [finding.severity for finding in findings] == ["error", "error", "warning"]
    assert [finding.line for finding in findings[:2]] == [3, 6]


def test_later_stages_are_judged_after_an_error_of_an_earlier_one() -> None:
    judgement = judge(
        configured("foo: 1\nparallelism: 0\nprofiles: [{schedulerName: ''}]\n"), REGISTRY
    )
    assert judgement.verdict.stage == Stage.DECODE
    assert [error.path for error in judgement.field_errors] == [
        "parallelism",
        "profiles[0].schedulerName",
    ]
    assert judgement.startup.errors == ()


def test_a_file_that_is_no_text_has_a_finding() -> None:
    result = review_bytes(b"a: \x80", "config.yaml", REGISTRY)
    assert (result.verdict.stage, result.findings[0].rule) == (Stage.DECODE, "not-text")
    assert not result.valid
