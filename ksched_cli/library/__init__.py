"""Runs and questions for Python programs; `ksched_cli.api` has their names.

Here are the forms of an answer in Python: JSON, its page in a frame, and the page as Markdown.
"""

from __future__ import annotations

from html import escape

from ksched_cli.answers import SHOWN, Answer, document_of
from ksched_cli.kube.shown_json import shown_json

_HEIGHT = 600  # pixels


def as_json(answer: Answer) -> str:
    """Return the document, as `-o json` prints it."""
    return shown_json(document_of(answer))


def page_in_frame(answer: Answer) -> str:
    """Return the page in a frame of its own, so that neither its styles nor its scripts touch the
    notebook's."""
    from ksched_cli.report.html.page import render_page

    page = escape(render_page(answer), quote=True)
    style = f"width:100%;height:{_HEIGHT}px;border:0"
    return f'<iframe sandbox="allow-scripts" style="{style}" srcdoc="{page}"></iframe>'


def as_markdown(answer: Answer) -> str:
    """Return an answer as Markdown."""
    from ksched_cli.report.forms import Form, render
    from ksched_cli.report.limit import PAGE

    return render(answer, Form.MARKDOWN, PAGE)


SHOWN.update(json=as_json, html=page_in_frame, markdown=as_markdown)
