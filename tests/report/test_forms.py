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
from ksched_cli.report.forms import RENDERERS, TEXTS, Form, render
from ksched_cli.report.words import printable
from ksched_cli.sweep.answers import SweepResult
from ksched_cli.sweep.summary import summarize
from tests.job_logs import PARTS, SECTION, leave_job, obeyed
from tests.report.anything import Anything


def expectations(*texts: str) -> ExpectationsResult:
    """An expectation that fails for each text, which is its file, its name and its message."""
    cases = (CaseResult(text, text, passed=False, message=text, command=text,
                        kubernetes_version="") for text in texts)  # fmt: skip
    return ExpectationsResult.of([*cases])


ANSWER = expectations("word " * 60, "ü: 007")
DOCUMENT = json.loads(json.dumps(document_of(ANSWER)))


@pytest.mark.parametrize("form", [Form.JSON, Form.YAML])
def test_json_and_yaml_say_the_same(form: Form) -> None:
    text = render(ANSWER, form)
    assert yaml.safe_load(text) == DOCUMENT
    assert not text.endswith("\n")


def test_every_form_has_a_renderer_or_is_of_single_answers() -> None:
    alone = {form for forms in TEXTS.values() for form in forms}
    # Parquet is no text.
    assert {*RENDERERS, *alone, Form.PARQUET} == set(Form)


def test_json_keeps_letters_as_they_are() -> None:
    assert '"ü: 007"' in render(ANSWER, Form.JSON)


@pytest.fixture
def job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")


def rows(*cells: str) -> SweepResult:
    """The rows of a sweep, which CSV shows, with these texts as ids."""
    listed = [{"id": cell} for cell in cells]
    return SweepResult.of(summarize((), ("base",)), 1, seconds=1, workers=1, rows=listed)


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
    answer = expectations("".join(parts), "a")
    text = render(answer, form)
    assert not [line for line in obeyed(text) if not SECTION.match(line)]
    with pytest.MonkeyPatch.context() as outside:
        leave_job(outside)
        plain = render(answer, form)
    assert READERS[form](text) == READERS[form](plain)
    if not any(each in plain for each in ("::", "##", "section_")):
        assert text == plain


@pytest.mark.usefixtures("job")
@pytest.mark.parametrize("form", [Form.TABLE, Form.NAME, Form.CSV, Form.MARKDOWN, Form.GITHUB])
@given(parts=PARTS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_in_a_job_text_for_people_has_no_commands(form: Form, parts: list[str]) -> None:
    text = "".join(parts)
    answer = rows(text, "a") if form is Form.CSV else expectations(text, "a")
    shown = render(answer, form)
    if form is Form.GITHUB:  # its own commands begin lines; no other does
        shown = shown.replace("\n::error", "\n").removeprefix("::error")
    assert not obeyed(shown)


@pytest.mark.usefixtures("job")
def test_in_a_job_csv_is_quoted_before_anything_in_it_is_shown_otherwise() -> None:
    header, first, second = render(rows("::error file=x::no", "a"), Form.CSV).splitlines()
    assert header.startswith('"id","state",')
    assert (first.split(",")[0], second.split(",")[0]) == ('"::error file=x::no"', '"a"')
    shown = render(rows("a\n::error::b ##[c]"), Form.CSV)
    _, cells = csv.reader(io.StringIO(shown, newline=""))
    assert cells[0] == "a\n\\x3a:error::b \\x23#[c]"


@pytest.mark.usefixtures("job")
def test_in_a_job_yaml_is_quoted_where_it_has_to_be() -> None:
    text = render(Anything(fields={"::error::a": "b", "c": "d\n::error::e"}), Form.YAML)
    assert '  "::error::a": b\n  c: "d\\n::error::e"\n' in text


@pytest.mark.usefixtures("job")
def test_in_a_job_annotations_are_ours_and_what_they_quote_is_no_command() -> None:
    text = render(expectations("::notice::c ##vso[d]"), Form.GITHUB)
    assert text.startswith("::error ")
    assert r"\x23#vso" in text
    assert len(text.splitlines()) == 1


def test_in_a_job_a_page_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "a\n::error::b ##[c]"
    answer = expectations(name)
    leave_job(monkeypatch)
    plain = render(answer, Form.HTML)
    assert obeyed(plain)
    monkeypatch.setenv("TF_BUILD", "True")
    page = render(answer, Form.HTML)
    assert not obeyed(page)
    assert html.unescape(page) == html.unescape(plain)
    assert printable(name).splitlines()[1] in html.unescape(page)
