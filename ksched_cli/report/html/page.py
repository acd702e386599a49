"""A result as one HTML file that needs nothing else: no server, nothing loaded from outside.

Names and messages come from others: every text is escaped, and a policy in the page lets run
nothing but the page's own script. The file is plain ASCII, so that no encoding on its way spoils
it.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ksched_cli import __version__
from ksched_cli.answers import Answer
from ksched_cli.report.html.columns import embedded
from ksched_cli.report.html.kinds import command_of, page_of
from ksched_cli.report.table import printable


def render_page(
    answer: Answer | Mapping[str, Any], headline: str, figures: Mapping[str, Any]
) -> str:
    """The page of a result.

    document: as its JSON Schema has it
    headline: the verdict in a line or more, or ""
    figures:  plain data that only the page shows
    """
    if isinstance(answer, Answer):
        version, inferred = answer.kubernetes_version, answer.kubernetes_version_from or ""
    else:
        version, inferred = answer["kubernetesVersion"], answer.get("kubernetesVersionFrom", "")
    page = page_of(answer, headline, figures)
    page_json = embedded(page.data())
    data = Markup(page_json)  # nosec B704  # `<` and `&` are escapes in it
    style, script = _resource("page.css"), _resource("page.js")
    text = (
        _environment()
        .get_template("page.html")
        .render(
            page=page,
            command=command_of(answer),
            kubernetes_version=version,
            kubernetes_version_from=inferred,
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
    return Environment(
        loader=PackageLoader("ksched_cli.report.html", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _shown(value: object) -> object:
    """Control characters are shown escaped, as in tables."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return printable(value)


def _resource(name: str) -> Markup:
    text = (files("ksched_cli.report.html") / name).read_text(encoding="ascii")
    return Markup(text)  # nosec B704  # a file of ksched's own


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
