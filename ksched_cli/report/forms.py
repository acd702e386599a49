"""The forms of a result: one renderer each, chosen by name from a table."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from ksched_cli.kube import job_commands
from ksched_cli.masking import masked

if TYPE_CHECKING:
    from ksched_cli.answers import Answer
    from ksched_cli.report.table import Limit


class Form(StrEnum):
    """What -o takes."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"
    HTML = "html"
    SARIF = "sarif"
    GITHUB = "github"
    JUNIT = "junit"
    CSV = "csv"
    MARKDOWN = "markdown"
    PATCH = "patch"


@dataclass(frozen=True, slots=True)
class Report:
    """A result without a view in all its shapes; only what the form asked for needs is made.

    answer:   made where the form needs it: JSON, YAML and pages
    table:    the text for people, marked for Markdown where that is the form
    names:    what the result comes down to where that is a list of names
    texts:    the forms that are of this result alone
    """

    answer: Callable[[], Answer]
    table: Callable[[], str]
    names: Callable[[], Sequence[str]] = tuple
    texts: Mapping[Form, Callable[[], str]] = field(default_factory=dict)


def _document(report: Report) -> Mapping[str, Any]:
    from ksched_cli.answers import document_of

    return document_of(report.answer())


def _markdown(report: Report) -> str:
    from ksched_cli.report.markdown import as_markdown

    return as_markdown(report.table())


def _json(report: Report) -> str:
    from ksched_cli.kube.shown_json import shown_json

    return shown_json(_document(report))


def _yaml(report: Report) -> str:
    from ksched_cli.kube.shown_yaml import block_yaml

    return block_yaml(_document(report)).rstrip("\n")


def _html(report: Report) -> str:
    from ksched_cli.report.html.page import render_page

    return render_page(report.answer())


RENDERERS: Mapping[Form, Callable[[Report], str]] = {
    Form.TABLE: lambda report: report.table(),
    Form.WIDE: lambda report: report.table(),
    Form.JSON: _json,
    Form.YAML: _yaml,
    Form.NAME: lambda report: "\n".join(report.names()),
    Form.HTML: _html,
    Form.MARKDOWN: _markdown,
}

# The forms that one answer alone has: their functions, below ksched_cli/report.
_OF_VALIDATION = {
    Form.SARIF: "validation:sarif",
    Form.GITHUB: "validation:github",
    Form.JUNIT: "validation:junit",
}
TEXTS: Mapping[str, Mapping[Form, str]] = {
    "ConfigurationMigration": {Form.TABLE: "configuration:migrated_file"},
    "ExpectationsResult": {
        Form.GITHUB: "expectations:github",
        Form.JUNIT: "expectations:junit",
    },
    "Remedies": {Form.PATCH: "fix:patches"},
    "ValidationResult": _OF_VALIDATION,
    "ValidationResults": _OF_VALIDATION,
    "ReplayResult": {Form.CSV: "replay:csv_text"},
}

_ESCAPES = {
    Form.JSON: job_commands.JSON,
    Form.YAML: job_commands.JSON,
    Form.SARIF: job_commands.JSON,
    Form.JUNIT: job_commands.XML,
    Form.HTML: job_commands.XML,
    Form.PATCH: job_commands.JSON,
}


def render(result: Answer | Report, form: Form, limit: Limit | None = None) -> str:
    """Return the text of a form, without a line end.

    result: an answer that has a view (views.py), else a Report
    limit:  of terminals and Markdown; none by default
    """
    if isinstance(result, Report):
        text = result.texts[form]() if form in result.texts else RENDERERS[form](result)
    else:
        text = _of_answer(result, form, limit)
    if isinstance(result, Report) or not result.IS_FILE:
        text = masked(text)
    return safe_in_job(text, form)


def _of_answer(answer: Answer, form: Form, limit: Limit | None) -> str:
    from ksched_cli.report.table import EVERYTHING
    from ksched_cli.report.view import Medium
    from ksched_cli.report.views import function_at, view_of

    limit = limit or EVERYTHING
    path = TEXTS.get(type(answer).__name__, {}).get(form)
    if path is not None:
        text: str = function_at(path)(answer)
        return text
    if form in (Form.TABLE, Form.WIDE, Form.MARKDOWN, Form.NAME):
        medium = Medium.BRIEF if limit.rows is not None else Medium.WHOLE
        view = view_of(answer, Medium.WIDE if form is Form.WIDE else medium)
        if form is Form.NAME:
            return "\n".join(view.names())
        if form is Form.MARKDOWN:
            from ksched_cli.report.markdown import view_as_markdown

            return view_as_markdown(view, limit)
        from ksched_cli.report.terminal import as_text

        return as_text(view, limit)
    return RENDERERS[form](Report(lambda: answer, table=str))


def safe_in_job(text: str, form: Form) -> str:
    """In a CI job, the text without lines of others that its runner obeys. It means the same; only
    CSV has no escapes: where quotes are not enough, a cell is shown as in a table."""
    if not job_commands.is_job():
        return text
    if form is Form.CSV and job_commands.disarmed(text) != text:
        text = _quoted(text)
    escapes = _ESCAPES.get(form, job_commands.TEXT)
    return job_commands.disarmed(text, escapes, own_lines=form is Form.GITHUB)


def _quoted(text: str) -> str:
    """CSV with all cells in quotes."""
    csv.field_size_limit(sys.maxsize)
    quoted = io.StringIO()
    writer = csv.writer(quoted, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerows(csv.reader(io.StringIO(text, newline="")))
    return quoted.getvalue().rstrip("\n")
