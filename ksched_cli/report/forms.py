"""The forms of a result: one renderer each, chosen by name from a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from ksched_cli.kube.shown_json import shown_json

_UNFOLDED = 2**30  # libyaml folds longer lines, and takes no infinity


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


@dataclass(frozen=True, slots=True)
class Report:
    """A result in all its shapes; only what the form asked for needs is made.

    document: plain data, as its JSON Schema has it
    table:    the text for people
    names:    what the result comes down to where that is a list of names
    headline: the verdict in a line or more, with which a page begins
    figures:  plain data that only the page shows
    texts:    the forms that are of this result alone
    """

    document: Callable[[], Mapping[str, Any]]
    table: Callable[[], str]
    names: Callable[[], Sequence[str]] = tuple
    headline: Callable[[], str] = str
    figures: Callable[[], Mapping[str, Any]] = dict
    texts: Mapping[Form, Callable[[], str]] = field(default_factory=dict)


def _table(report: Report) -> str:
    return report.table()


def _json(report: Report) -> str:
    return shown_json(report.document())


def _yaml(report: Report) -> str:
    import yaml

    text: str = yaml.dump(
        report.document(),
        Dumper=yaml.CSafeDumper,
        sort_keys=False,
        allow_unicode=True,
        width=_UNFOLDED,
    )
    return text.rstrip("\n")


def _names(report: Report) -> str:
    return "\n".join(report.names())


def _html(report: Report) -> str:
    from ksched_cli.report.html.page import render_page

    return render_page(report.document(), report.headline(), report.figures())


RENDERERS: Mapping[Form, Callable[[Report], str]] = {
    Form.TABLE: _table,
    Form.WIDE: _table,
    Form.JSON: _json,
    Form.YAML: _yaml,
    Form.NAME: _names,
    Form.HTML: _html,
}


def render(report: Report, form: Form) -> str:
    """The text to print, without a line end."""
    return report.texts[form]() if form in report.texts else RENDERERS[form](report)
