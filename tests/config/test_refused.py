"""Configurations that kube-scheduler v1.34.1 itself refused, with its stage and its words.

refused.jsonl was written by the real decoder, validation and scheduler.New over mutated inputs.
"""

import json
from pathlib import Path

import pytest

from ksched_cli.config.review import review
from tests.config.known import KNOWN

CASES = [json.loads(line) for line in Path(__file__).with_name("refused.jsonl").open()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["error"][:60])
def test_kube_schedulers_stage_and_words_are_ours(case):
    found = review(case["text"], KNOWN)
    assert (found.verdict.stage, found.verdict.error) == (case["stage"], case["error"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["error"][:60])
def test_what_kube_scheduler_refuses_has_a_finding_of_severity_error(case):
    found = review(case["text"], KNOWN)
    assert not found.valid
    assert "refused" not in {finding.rule for finding in found.findings}
