"""What -o takes, and messages of our own for what it does not."""

from __future__ import annotations

import typer

from ksched_cli.errors import UsageError
from ksched_cli.report.forms import Form

COMMON_FORMS = (Form.TABLE, Form.JSON, Form.YAML, Form.HTML, Form.MARKDOWN, Form.LATEX)
# What single commands take besides.
MORE_FORMS = {
    "validate": (Form.SARIF, Form.GITHUB, Form.JUNIT),
    "schedule": (Form.WIDE, Form.NAME),
    "status": (Form.PROMETHEUS,),
    "explain": (Form.NAME, Form.CSV),
    "compare": (Form.CSV,),
    "fix": (Form.NAME, Form.PATCH),
    "preempt": (Form.NAME,),
    "capacity": (Form.WIDE, Form.NAME),
    "drain": (Form.WIDE, Form.NAME, Form.PROMETHEUS),
    "shrink": (Form.WIDE, Form.NAME),
    "drift": (Form.WIDE, Form.NAME, Form.CSV),
    "audit": (Form.NAME,),
    "replay": (Form.CSV, Form.NAME),
    "plugins": (Form.NAME,),
    "test": (Form.JUNIT, Form.GITHUB),
    "sweep": (Form.CSV,),
}


def forms_of(command: str | None) -> tuple[Form, ...]:
    """Return what -o of a command takes. command: the last of its names"""
    return (*COMMON_FORMS, *MORE_FORMS.get(command or "", ()))


def parse_form(context: typer.Context, text: str) -> Form:
    """Return the form of this name. Raises UsageError for one that the command does not have."""
    forms = {form.value: form for form in forms_of(context.info_name)}
    if text not in forms:
        names = ", ".join(forms)
        raise UsageError(f'-o of {context.command_path} takes one of {names}; not "{text}"')
    return forms[text]
