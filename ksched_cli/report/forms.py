"""The forms of a result: one renderer each, chosen by name from a table."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING

from ksched_cli.kube import job_commands
from ksched_cli.masking import masked

if TYPE_CHECKING:
    from ksched_cli.answers import Answer
    from ksched_cli.report.limit import Limit
    from ksched_cli.report.view import View


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
    LATEX = "latex"
    PARQUET = "parquet"
    PATCH = "patch"
    PROMETHEUS = "prometheus"


def _view(answer: Answer, form: Form, limit: Limit) -> View:
    from ksched_cli.report.view import Medium
    from ksched_cli.report.views import view_of

    medium = Medium.BRIEF if limit.rows is not None else Medium.WHOLE
    return view_of(answer, Medium.WIDE if form is Form.WIDE else medium)


def _text(answer: Answer, form: Form, limit: Limit) -> str:
    from ksched_cli.report.terminal import as_text

    return as_text(_view(answer, form, limit), limit)


def _names(answer: Answer, form: Form, limit: Limit) -> str:
    return "\n".join(_view(answer, form, limit).names())


def _markdown(answer: Answer, form: Form, limit: Limit) -> str:
    from ksched_cli.report.markdown import as_markdown

    return as_markdown(_view(answer, form, limit), limit)


def _latex(answer: Answer, form: Form, limit: Limit) -> str:
    from ksched_cli.report.latex import as_latex

    return as_latex(_view(answer, form, limit))


def _csv(answer: Answer, form: Form, limit: Limit) -> str:
    """Return a line per item of the answer's main list, below a line of names."""
    from ksched_cli.report.rows import as_csv

    return as_csv(answer)


def _json(answer: Answer, form: Form, limit: Limit) -> str:
    from ksched_cli.answers import document_of
    from ksched_cli.kube.shown_json import shown_json

    return shown_json(document_of(answer))


def _yaml(answer: Answer, form: Form, limit: Limit) -> str:
    from ksched_cli.answers import document_of
    from ksched_cli.kube.shown_yaml import block_yaml

    return block_yaml(document_of(answer)).rstrip("\n")


def _html(answer: Answer, form: Form, limit: Limit) -> str:
    from ksched_cli.report.html.page import render_page

    return render_page(answer)


RENDERERS: Mapping[Form, Callable[[Answer, Form, Limit], str]] = {
    Form.TABLE: _text,
    Form.WIDE: _text,
    Form.JSON: _json,
    Form.YAML: _yaml,
    Form.NAME: _names,
    Form.HTML: _html,
    Form.MARKDOWN: _markdown,
    Form.LATEX: _latex,
    Form.CSV: _csv,
}

# The forms that one answer alone has: their functions, below ksched_cli/report.
_OF_VALIDATION = {
    Form.SARIF: "validation:sarif",
    Form.GITHUB: "validation:github",
    Form.JUNIT: "validation:junit",
}
TEXTS: Mapping[str, Mapping[Form, str]] = {
    "ClusterStatus": {Form.PROMETHEUS: "prometheus:of_status"},
    "ConfigurationMigration": {Form.TABLE: "configuration:migrated_file"},
    "DrainResult": {Form.PROMETHEUS: "prometheus:of_drain"},
    "DrainResults": {Form.PROMETHEUS: "prometheus:of_drain"},
    "ExpectationsResult": {
        Form.GITHUB: "expectations:github",
        Form.JUNIT: "expectations:junit",
    },
    "Remedies": {Form.PATCH: "fix:patches"},
    "ValidationResult": _OF_VALIDATION,
    "ValidationResults": _OF_VALIDATION,
}

_ESCAPES = {
    Form.JSON: job_commands.JSON,
    Form.YAML: job_commands.JSON,
    Form.SARIF: job_commands.JSON,
    Form.JUNIT: job_commands.XML,
    Form.HTML: job_commands.XML,
    Form.PATCH: job_commands.JSON,
}


def render(answer: Answer, form: Form, limit: Limit | None = None) -> str:
    """Return the text of a form, without a line end.

    limit: of terminals and Markdown; none by default
    """
    from ksched_cli.report.limit import EVERYTHING
    from ksched_cli.report.views import function_at

    path = TEXTS.get(type(answer).__name__, {}).get(form)
    if path is not None:
        text: str = function_at(path)(answer)
    else:
        text = RENDERERS[form](answer, form, limit or EVERYTHING)
    return safe_in_job(text if answer.IS_FILE else masked(text), form)


def safe_in_job(text: str, form: Form) -> str:
    """Return the text; in a CI job, without lines of others that its runner obeys. It means the
    same; only CSV has no escapes: where quotes are not enough, a cell is shown as in a table."""
    if not job_commands.is_job():
        return text
    if form is Form.CSV and job_commands.disarmed(text) != text:
        # All cells are in quotes.
        csv.field_size_limit(sys.maxsize)
        quoted = io.StringIO()
        writer = csv.writer(quoted, quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerows(csv.reader(io.StringIO(text, newline="")))
        text = quoted.getvalue().rstrip("\n")
    escapes = _ESCAPES.get(form, job_commands.TEXT)
    return job_commands.disarmed(text, escapes, own_lines=form is Form.GITHUB)
