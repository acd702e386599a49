"""A result as one HTML file that needs nothing else: no server, nothing loaded from outside.

Names and messages come from others: every text is escaped, and a policy in the page lets run
nothing but the page's own script. The file is plain ASCII, so that no encoding on its way spoils
it.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any, get_args, get_type_hints

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ksched_cli import __version__
from ksched_cli.answers import Answer, AppliedChange, StateAnswer
from ksched_cli.report.html import sweeps
from ksched_cli.report.html.columns import column, embedded
from ksched_cli.report.html.of_view import page_of_view
from ksched_cli.report.html.sections import Figure, Grid, Page, Prose, Section, Table
from ksched_cli.report.view import Line, Medium
from ksched_cli.report.views import has_view, view_of
from ksched_cli.report.words import printable


def render_page(answer: Answer) -> str:
    """The page of an answer, as text."""
    page = page_of(answer)
    page_json = embedded(page.data())
    data = Markup(page_json)  # nosec B704  # `<` and `&` are escapes in it
    style, script = _resource("page.css"), _script()
    text = (
        _environment()
        .get_template("page.html")
        .render(
            page=page,
            answer=answer,
            data=data,
            style=style,
            script=script,
            policy=_policy(style, script),
            version=__version__,
        )
    )
    return text.encode("ascii", "xmlcharrefreplace").decode("ascii").rstrip("\n")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("ksched_cli.report.html", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.tests["figure"] = _is_figure
    environment.tests["line"] = lambda value: isinstance(value, Line)
    return environment


def _is_figure(value: object) -> bool:
    return isinstance(value, int | float | Figure) and not isinstance(value, bool)


def _shown(value: object) -> object:
    """Control characters are shown escaped, as in tables."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return printable(value)


def _resource(name: str) -> Markup:
    text = (files("ksched_cli.report.html") / name).read_text(encoding="ascii")
    return Markup(text)  # nosec B704  # a file of ksched's own


def _script() -> Markup:
    """Every part of the script, in one scope of its own."""
    parts = "\n".join(_resource(f"scripts/{name}.js") for name in SCRIPTS)
    return Markup(f'"use strict";\n(() => {{\n{parts}}})();\n')  # nosec B704  # files of ksched's own


def _policy(style: str, script: str) -> str:
    """Content-Security-Policy: one style, one script, no request."""
    return "; ".join((
        "default-src 'none'",
        f"script-src {_hash(script)}",
        f"style-src {_hash(style)}",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
    ))  # fmt: skip


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


_EFFECTS = 8  # of a change, shown first
# Parts of the page's script, in order.
SCRIPTS = ("base", "grid", "map", "pair", "curves", "page")

# Each has the page of an answer, or of several.
MODULES = (sweeps,)


@cache
def pages() -> Mapping[type[Answer], Callable[[Any], Page]]:
    """Which page shows which answer: a function with `page` in its name shows the
    answers that its annotation names."""
    return {
        answer: function
        for module in MODULES
        for name, function in vars(module).items()
        if "page" in name
        for shown in (get_type_hints(function)["answer"],)
        for answer in get_args(shown) or (shown,)
    }


def page_of(answer: Answer) -> Page:
    """The answer's page; what changes did comes first, warnings last."""
    if has_view(answer):
        return page_of_view(view_of(answer, Medium.PAGE))
    page = pages()[type(answer)](answer)
    sections = [*page.sections]
    if isinstance(answer, StateAnswer) and answer.changes:
        sections = [_changes(answer.changes), *sections, *_every_effect(answer.changes)]
    if answer.warnings:
        sections.append(Prose("Warnings", answer.warnings, "warn"))
    return replace(page, sections=sections)


def _changes(changes: Sequence[AppliedChange]) -> Table:
    """Each change, and the first things that it did."""
    rows = []
    for change in changes:
        text = "; ".join(change.did[:_EFFECTS]) or "nothing to do"
        rest = len(change.did) - _EFFECTS
        rows.append((change.text, f"{text}; and {rest:,} more" if rest > 0 else text))
    return Table("Changes to the state", ("Change", "What it did"), rows)


def _every_effect(changes: Sequence[AppliedChange]) -> list[Section]:
    if all(len(change.did) <= _EFFECTS for change in changes):
        return []
    rows = [(change.text, line) for change in changes for line in change.did]
    columns = [column("What it did", [line for _, line in rows]),
               column("Change", [text for text, _ in rows])]  # fmt: skip
    return [Grid("Everything that the changes did", "changes", columns)]
