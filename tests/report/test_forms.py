"""One renderer per form."""

import csv
import html
import io
import json
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from hypothesis import HealthCheck, given, settings

from ksched_cli.analysis.expectations import CaseResult, ExpectationsResult
from ksched_cli.answers import document_of
from ksched_cli.report.ci_forms import Case, Suite, junit
from ksched_cli.report.forms import RENDERERS, Form, Report, render
from ksched_cli.report.table import printable
from tests.job_logs import PARTS, SECTION, leave_job, obeyed
from tests.report.anything import Anything

ANSWER = Anything(note="word " * 60, names=("ü: 007",), items=({"none": None, "empty": {}},))
DOCUMENT = json.loads(json.dumps(document_of(ANSWER)))


@pytest.mark.parametrize("form", [Form.JSON, Form.YAML])
def test_json_and_yaml_say_the_same(form: Form) -> None:
    text = render(Report(answer=lambda: ANSWER, table=str), form)
    assert yaml.safe_load(text) == DOCUMENT
    assert not text.endswith("\n")


def test_only_the_form_asked_for_is_made() -> None:
    def never() -> Any:
        raise AssertionError("not asked for")

    assert render(Report(answer=never, table=lambda: "rows"), Form.TABLE) == "rows"


def test_every_form_has_a_renderer_or_is_of_one_result_alone() -> None:
    alone = {Form.SARIF, Form.GITHUB, Form.JUNIT, Form.CSV, Form.PATCH}
    assert set(RENDERERS) == set(Form) - alone
    for form in alone:
        result = Report(answer=lambda: ANSWER, table=str, texts={form: lambda: "its own"})
        assert render(result, form) == "its own"


def test_json_keeps_letters_as_they_are() -> None:
    assert '"ü: 007"' in render(Report(answer=lambda: ANSWER, table=str), Form.JSON)
    assert json.loads(render(Report(answer=lambda: ANSWER, table=str), Form.JSON)) == DOCUMENT


@pytest.fixture
def job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")


def report_of(text: str) -> Report:
    """With the text as a key, a value, a cell that begins a line and one that does not."""
    cells = io.StringIO()
    csv.writer(cells, lineterminator="\n").writerows([(text, 1), ("a", text)])
    answer = Anything(note=text, names=(text,), items=({text: {text: 1}}, {"t": True}))
    return Report(
        answer=lambda: answer,
        table=lambda: text,
        names=lambda: [text, "a"],
        texts={
            Form.CSV: lambda: cells.getvalue().rstrip("\n"),
            Form.JUNIT: lambda: junit([Suite(text, [Case(text, text, text)])]),
        },
    )


READERS: dict[Form, Callable[[str], Any]] = {
    Form.JSON: json.loads,
    Form.YAML: yaml.safe_load,
    Form.JUNIT: lambda text: [
        (each.attrib, each.text) for each in ElementTree.fromstring(text.encode()).iter()
    ],
}


@pytest.mark.usefixtures("job")
@pytest.mark.parametrize("form", READERS)
@given(parts=PARTS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_in_a_job_a_document_says_the_same_without_commands(form: Form, parts: list[str]) -> None:
    report = report_of("".join(parts))
    text = render(report, form)
    assert not [line for line in obeyed(text) if not SECTION.match(line)]
    with pytest.MonkeyPatch.context() as outside:
        leave_job(outside)
        plain = render(report, form)
    assert READERS[form](text) == READERS[form](plain)
    if not any(each in plain for each in ("::", "##", "section_")):
        assert text == plain


@pytest.mark.usefixtures("job")
@pytest.mark.parametrize("form", [Form.TABLE, Form.NAME, Form.CSV, Form.MARKDOWN])
@given(parts=PARTS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_in_a_job_text_for_people_has_no_commands(form: Form, parts: list[str]) -> None:
    report = report_of("".join(parts))
    assert not obeyed(render(report, form))


@pytest.mark.usefixtures("job")
def test_in_a_job_csv_is_quoted_before_anything_in_it_is_shown_otherwise() -> None:
    text = render(report_of("::error file=x::no"), Form.CSV)
    assert text.splitlines() == ['"::error file=x::no","1"', '"a","::error file=x::no"']
    text = render(report_of("a\n::error::b ##[c]"), Form.CSV)
    shown = "a\n\\x3a:error::b \\x23#[c]"
    assert list(csv.reader(io.StringIO(text, newline=""))) == [[shown, "1"], ["a", shown]]


@pytest.mark.usefixtures("job")
def test_in_a_job_yaml_is_quoted_where_it_has_to_be() -> None:
    answer = Anything(fields={"::error::a": "b", "c": "d\n::error::e"})
    text = render(Report(lambda: answer, str), Form.YAML)
    assert '  "::error::a": b\n  c: "d\\n::error::e"\n' in text


@pytest.mark.usefixtures("job")
def test_in_a_job_annotations_are_ours_and_what_they_quote_is_no_command() -> None:
    lines = "::error file=a::b\n::notice::c ##vso[d]"
    report = Report(Anything, str, texts={Form.GITHUB: lambda: lines})
    assert render(report, Form.GITHUB) == lines.replace("##vso", r"\x23#vso")


def test_in_a_job_a_page_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "a\n::error::b ##[c]"
    case = CaseResult("f", name, passed=False, message=name, command="", kubernetes_version="")
    report = Report(lambda: ExpectationsResult.of([case]), str)
    leave_job(monkeypatch)
    plain = render(report, Form.HTML)
    assert obeyed(plain)
    monkeypatch.setenv("TF_BUILD", "True")
    page = render(report, Form.HTML)
    assert not obeyed(page)
    assert html.unescape(page) == html.unescape(plain)
    assert printable(name).splitlines()[1] in html.unescape(page)
