"""A review of a configuration as JSON and as a table."""

import pytest

from ksched_cli.config.review import review
from ksched_cli.report import validation
from ksched_cli.report.table import EVERYTHING, Limit
from tests.config.registries import REGISTRY
from tests.report.schemas import conforms

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def table(text: str, limit: Limit = EVERYTHING) -> list[str]:
    return validation.table(review(text, REGISTRY), "c.yaml", limit).splitlines()


@pytest.mark.parametrize("text", [HEAD, HEAD + "parallelism: 0\nfoo: 1\n", "a: b: c", ""])
def test_reviews_are_as_their_schema_says(text: str) -> None:
    conforms(validation.document(review(text, REGISTRY)), "validation_result")


def test_nothing_to_remark() -> None:
    assert table(HEAD) == ["c.yaml: valid, nothing to remark"]


def test_a_finding_has_its_position_message_and_hint() -> None:
    lines = table(HEAD + "paralelism: 3\n")
    assert lines[0].startswith("c.yaml:3:1: error: paralelism (")
    assert '    → did you mean "parallelism"?' in lines
    assert lines[-1] == "c.yaml: not valid: 1 error"


def test_findings_are_counted_by_severity() -> None:
    assert table(HEAD + "parallelism: 0\nfoo: 1\n")[-1] == "c.yaml: not valid: 2 errors"


def test_messages_wrap_to_the_width() -> None:
    lines = table(HEAD + "parallelism: 0\n", Limit(width=50))
    assert len(lines) > len(table(HEAD + "parallelism: 0\n"))
    assert all(len(line) <= 50 for line in lines if line.startswith("    "))
