"""Checks that printed documents have the shape that their schemas promise."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

from ksched_cli.answers import Answer, document_of
from ksched_cli.report.forms import Form, render
from ksched_cli.report.limit import TERMINAL, Limit

SCHEMAS = Path(__file__).parents[2] / "schemas"


@cache
def validator(name: str) -> Any:
    schema = json.loads((SCHEMAS / f"{name}.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def conforms(document: Answer | dict[str, Any], name: str) -> dict[str, Any]:
    """Gives the document as it is read back."""
    data = document_of(document) if isinstance(document, Answer) else document
    read_back: dict[str, Any] = json.loads(json.dumps(data))
    validator(name).validate(read_back)
    return read_back


def squeezed(text: str) -> list[str]:
    """The lines, with their spaces made one."""
    return [" ".join(line.split()) for line in text.splitlines()]


def shown(answer: Answer, limit: Limit = TERMINAL, form: Form = Form.TABLE) -> list[str]:
    """The lines of an answer in a form, with their spaces made one."""
    return squeezed(render(answer, form, limit))
