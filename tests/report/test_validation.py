"""A review of a configuration as JSON, as a table, and for CI."""

from xml.etree import ElementTree

import pytest

from ksched_cli.analysis.configuration import ValidationResult, ValidationResults
from ksched_cli.analysis.reviewer import ReviewedText, review_text
from ksched_cli.config.sources import ConfigurationText, Sources, TextPlace
from ksched_cli.report.forms import Form, render
from ksched_cli.report.limit import EVERYTHING, Limit
from tests.config.registries import REGISTRY
from tests.report.schemas import conforms

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


WHOLE = TextPlace()


def result(text: str, place: TextPlace = WHOLE) -> ValidationResult:
    source = ConfigurationText("c.yaml", text.encode(), place=place)
    return ValidationResult.of(review_text(source, REGISTRY))


def table(text: str, limit: Limit = EVERYTHING) -> list[str]:
    return render(result(text), Form.TABLE, limit).splitlines()


@pytest.mark.parametrize("text", [HEAD, HEAD + "parallelism: 0\nfoo: 1\n", "a: b: c", ""])
def test_reviews_are_as_their_schema_says(text: str) -> None:
    conforms(result(text), "validation_result")


def test_nothing_to_remark() -> None:
    assert table(HEAD) == ["c.yaml: valid, no findings"]


def test_a_finding_has_its_position_message_line_and_hint() -> None:
    lines = table(HEAD + "paralelism: 3\n")
    assert lines[0] == "c.yaml: not valid: 1 error"
    at = lines.index("c.yaml:3:1: error: paralelism (unknown-key)")
    assert lines[at + 1 : at + 5] == [
        'unknown key "paralelism"',
        "   3 | paralelism: 3",
        "     | ^",
        '→ did you mean "parallelism"?',
    ]


def test_the_caret_is_under_the_place_in_a_long_line() -> None:
    names = ", ".join(f"{{name: ImageLocality{each}}}" for each in range(20))
    text = f"{HEAD}profiles: [{{plugins: {{score: {{enabled: [{names}]}}}}}}]\n"
    lines = table(text, Limit(width=80))
    shown = [(line, lines[at + 1]) for at, line in enumerate(lines) if line.startswith("   3 | ")]
    assert len(shown) == 20
    for number, (line, mark) in enumerate(shown):
        assert len(line) <= 80
        at = mark.index("^")
        assert line[at:].startswith(f"{{name: ImageLocality{number}"[: 79 - at])


def test_a_line_inside_of_another_object_is_that_of_the_file() -> None:
    answer = result(HEAD + "paralelism: 3\n", TextPlace(5, 5, 4))
    lines = render(answer, Form.TABLE, EVERYTHING).splitlines()
    at = lines.index("c.yaml:7:5: error: paralelism (unknown-key)")
    assert lines[at + 2 : at + 4] == ["   7 | paralelism: 3", "     | ^"]
    quoted = result(HEAD + "paralelism: 3\n", TextPlace(5, 5, line_by_line=False))
    assert "|" not in render(quoted, Form.TABLE, EVERYTHING)


@pytest.mark.parametrize("form", [Form.TABLE, Form.HTML, Form.MARKDOWN])
def test_secrets_are_not_in_the_lines(form: Form) -> None:
    args = "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {token: hunter2}}]}]\n"
    url = "extenders: [{urlPrefix: 'https://me:hunter2@host/x', wieght: 1}]\n"
    text = render(result(HEAD + args + url), form, EVERYTHING)
    assert "hunter2" not in text
    assert "token: ***" in text
    assert "https://me:***@host/x" in text


def test_findings_are_counted_by_severity() -> None:
    assert table(HEAD + "parallelism: 0\nfoo: 1\n")[0] == "c.yaml: not valid: 2 errors"


def test_an_error_that_kube_scheduler_accepts_is_said_to_be_one() -> None:
    text = HEAD + "profiles: [{plugins: {filter: {disabled: [{name: VolumeBinding}]}}}]\n"
    first = table(text)[0]
    assert first == "c.yaml: not valid, though kube-scheduler accepts it: 1 error"


def test_messages_wrap_to_the_width() -> None:
    lines = table(HEAD + "parallelism: 0\n", Limit(width=50))
    assert len(lines) > len(table(HEAD + "parallelism: 0\n"))
    assert all(len(line) <= 50 for line in lines)


def reviewed(*bodies: str) -> list[ReviewedText]:
    texts = [ConfigurationText(f"{i}.yaml", (HEAD + b).encode()) for i, b in enumerate(bodies)]
    return [review_text(text, REGISTRY) for text in texts]


def test_reviews_of_several_are_as_their_schema_says() -> None:
    texts = reviewed("", "paralelism: 3\n")
    answer = ValidationResults.of(texts, Sources((), ("other.yaml",)))
    conforms(answer, "validation_results")
    assert (answer.valid, answer.passed_over) == (False, ("other.yaml",))


def test_several_have_a_row_each_those_that_are_not_valid_first() -> None:
    answer = ValidationResults.of(reviewed("", "foo: 1\n"), Sources((), ("o.yaml",)))
    lines = render(answer, Form.TABLE, EVERYTHING).splitlines()
    assert lines[:2] == ["1 of 2 configurations is not valid", "1 file without a configuration"]
    rows = [" ".join(line.split()) for line in lines[lines.index("Files") + 2 :][:2]]
    assert rows == ["1.yaml not valid refuses 1 0 0 0", "0.yaml valid accepts 0 0 0 0"]
    assert "1.yaml: kube-scheduler v1.34.1 refuses it at decode" in lines


def test_each_configuration_is_a_case_of_its_files_suite() -> None:
    answer = ValidationResults.of(reviewed("", "foo: 1\n"), Sources((), ()))
    first, second = ElementTree.fromstring(render(answer, Form.JUNIT).encode())
    assert (first.get("name"), first.get("failures")) == ("0.yaml", "0")
    failure = second.find(".//failure")
    assert failure is not None
    assert (failure.get("message") or "").startswith('foo: unknown key "foo"')
    assert (failure.text or "").splitlines()[1:3] == [
        "1.yaml:3:1: error: foo (unknown-key)",
        '    unknown key "foo"',
    ]
