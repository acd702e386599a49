"""A review of a configuration as JSON and as a table."""

import pytest

from ksched_cli.config.answers import ValidationResult, ValidationResults
from ksched_cli.config.review import review
from ksched_cli.config.reviewer import ReviewedText, review_text
from ksched_cli.config.sources import ConfigurationText, Sources
from ksched_cli.report import validation
from ksched_cli.report.table import EVERYTHING, Limit
from tests.config.registries import REGISTRY
from tests.report.schemas import conforms

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def table(text: str, limit: Limit = EVERYTHING) -> list[str]:
    source = ConfigurationText("c.yaml", text.encode())
    return validation.table(review_text(source, REGISTRY), limit).splitlines()


@pytest.mark.parametrize("text", [HEAD, HEAD + "parallelism: 0\nfoo: 1\n", "a: b: c", ""])
def test_reviews_are_as_their_schema_says(text: str) -> None:
    conforms(ValidationResult.of(review(text, REGISTRY), ""), "validation_result")


def test_nothing_to_remark() -> None:
    assert table(HEAD) == ["c.yaml: valid, no findings"]


def test_a_finding_has_its_position_message_and_hint() -> None:
    lines = table(HEAD + "paralelism: 3\n")
    assert lines[0].startswith("c.yaml:3:1: error: paralelism (")
    assert '    → did you mean "parallelism"?' in lines
    assert lines[-1] == "c.yaml: not valid: 1 error"


def test_findings_are_counted_by_severity() -> None:
    assert table(HEAD + "parallelism: 0\nfoo: 1\n")[-1] == "c.yaml: not valid: 2 errors"


def test_an_error_that_kube_scheduler_accepts_is_said_to_be_one() -> None:
    last = table(HEAD + "profiles: [{plugins: {filter: {disabled: [{name: VolumeBinding}]}}}]\n")[
        -1
    ]
    assert last == "c.yaml: not valid, though kube-scheduler accepts it: 1 error"


def test_messages_wrap_to_the_width() -> None:
    lines = table(HEAD + "parallelism: 0\n", Limit(width=50))
    assert len(lines) > len(table(HEAD + "parallelism: 0\n"))
    assert all(len(line) <= 50 for line in lines if line.startswith("    "))


def reviewed(*bodies: str) -> list[ReviewedText]:
    texts = [ConfigurationText(f"{i}.yaml", (HEAD + b).encode()) for i, b in enumerate(bodies)]
    return [review_text(text, REGISTRY) for text in texts]


def test_reviews_of_several_are_as_their_schema_says() -> None:
    texts = reviewed("", "paralelism: 3\n")
    answer = ValidationResults.of(texts, Sources((), ("other.yaml",)), ())
    conforms(answer, "validation_results")
    assert (answer.valid, answer.passed_over) == (False, ("other.yaml",))


def test_several_are_counted_by_verdict() -> None:
    lines = validation.tables(reviewed("", "foo: 1\n"), Sources((), ("o.yaml",)), EVERYTHING)
    assert lines.splitlines()[0] == "0.yaml: valid, no findings"
    assert lines.splitlines()[-1] == "2 configurations: 1 valid, 1 not; 1 file without one"


def test_each_configuration_is_a_case_of_its_files_suite() -> None:
    first, second = validation.suites(reviewed("", "foo: 1\n"))
    assert (first.name, [case.failure for case in first.cases]) == ("0.yaml", [None])
    assert (second.cases[0].failure or "").startswith('foo: unknown key "foo"')
