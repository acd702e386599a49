"""What a review says beside kube-scheduler's verdict: findings.yaml has the cases."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from ksched_cli.config.review import review
from ksched_cli.kube.documents import parse_path, path_text
from tests.config.registries import REGISTRY, configured

CASES = yaml.load(Path(__file__).with_name("findings.yaml").read_text(), yaml.CSafeLoader)


def texts(case: dict[str, Any]) -> str:
    return case.get("whole") or configured(case["body"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_problem_is_found_with_its_place(case: dict[str, Any]) -> None:
    findings = review(texts(case), REGISTRY).findings
    for expected in case["findings"]:
        exact = {key: expected[key] for key in ("severity", "rule", "path", "line")}
        matching = [
            finding
            for finding in findings
            if all(getattr(finding, key) == value for key, value in exact.items())
        ]
        assert matching, f"no {exact} in {findings}"
        assert expected.get("hint", "") in matching[0].hint
        assert expected.get("message", "") in matching[0].message


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_finding_says_whether_kube_scheduler_refuses_the_file(case: dict[str, Any]) -> None:
    result = review(texts(case), REGISTRY)
    assert result.verdict.accepts == (not any(finding.refused for finding in result.findings))


def test_a_path_is_written_and_read() -> None:
    path = ("profiles", 0, "plugins", "score", "enabled", 12)
    assert parse_path(path_text(path)) == path
