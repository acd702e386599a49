"""A result as one HTML file that needs nothing else: no server, nothing loaded from outside.

Names and messages come from others: every text is escaped, and a policy in the page lets run
nothing but the page's own script. The file is plain ASCII, so that no encoding on its way spoils
it.
"""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ksched_cli import __version__
from ksched_cli.answers import Answer
from ksched_cli.report.html.columns import embedded
from ksched_cli.report.html.of_view import page_of_view
from ksched_cli.report.html.sections import Figure, HtmlPage
from ksched_cli.report.view import Line, Medium
from ksched_cli.report.views import view_of
from ksched_cli.report.words import printable


def render_page(answer: Answer) -> str:
    """Return the page of an answer, as text."""
    page = page_of(answer)
    page_json = embedded(page.data())
    data = Markup(page_json)  # nosec B704  # `<` and `&` are escapes in it
    # Every part of the script runs in one scope of its own.
    parts = "\n".join(_resource(f"scripts/{name}.js") for name in SCRIPTS)
    style = _resource("page.css")
    script = Markup(f'"use strict";\n(() => {{\n{parts}}})();\n')  # nosec B704  # ksched's own files
    # The Content-Security-Policy allows one style, one script and no request.
    policy = (
        "default-src 'none'",
        f"script-src {_hash(script)}",
        f"style-src {_hash(style)}",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
    )
    text = (
        _environment()
        .get_template("page.html")
        .render(
            page=page,
            answer=answer,
            data=data,
            style=style,
            script=script,
            policy="; ".join(policy),
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
    """Return a value as it is shown: control characters are escaped, as in tables."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return printable(value)


def _resource(name: str) -> Markup:
    text = (files("ksched_cli.report.html") / name).read_text(encoding="ascii")
    return Markup(text)  # nosec B704  # a file of ksched's own


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


# Parts of the page's script, in order.
SCRIPTS = ("base", "grid", "map", "pair", "curves", "gantt", "page")


def page_of(answer: Answer) -> HtmlPage:
    """Return the page of an answer's view."""
    return page_of_view(view_of(answer, Medium.PAGE))
