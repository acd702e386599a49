"""What -o takes, and messages of our own for what it does not."""

from __future__ import annotations

import sys
from importlib.util import find_spec

import typer

from ksched_cli.errors import MissingExtraError, UsageError
from ksched_cli.report.forms import Form

COMMON_FORMS = (
    Form.TABLE,
    Form.JSON,
    Form.YAML,
    Form.HTML,
    Form.MARKDOWN,
    Form.LATEX,
    Form.CSV,
    Form.PARQUET,
)
# What single commands take besides.
MORE_FORMS = {
    "validate": (Form.SARIF, Form.GITHUB, Form.JUNIT),
    "schedule": (Form.WIDE, Form.NAME),
    "status": (Form.PROMETHEUS,),
    "explain": (Form.NAME,),
    "fix": (Form.NAME, Form.PATCH),
    "preempt": (Form.NAME,),
    "capacity": (Form.WIDE, Form.NAME),
    "drain": (Form.WIDE, Form.NAME, Form.PROMETHEUS),
    "shrink": (Form.WIDE, Form.NAME),
    "drift": (Form.WIDE, Form.NAME),
    "audit": (Form.NAME,),
    "replay": (Form.NAME,),
    "plugins": (Form.NAME,),
    "test": (Form.JUNIT, Form.GITHUB),
}


def forms_of(command: str | None) -> tuple[Form, ...]:
    """Return what -o of a command takes. command: the last of its names"""
    return (*COMMON_FORMS, *MORE_FORMS.get(command or "", ()))


def parse_form(context: typer.Context, text: str) -> Form:
    """Return the form of this name. Raises UsageError for one that the command does not have, and
    where it cannot be written."""
    forms = {form.value: form for form in forms_of(context.info_name)}
    if text not in forms:
        names = ", ".join(forms)
        raise UsageError(f'-o of {context.command_path} takes one of {names}; not "{text}"')
    form = forms[text]
    if form is Form.PARQUET:
        if sys.stdout.isatty():
            raise UsageError("-o parquet is no text: send it to a file, as > rows.parquet")
        if find_spec("pyarrow") is None:
            raise MissingExtraError("-o parquet", "parquet")
    return form
