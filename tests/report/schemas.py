"""Checks that printed documents have the shape that their schemas promise."""

import json
from functools import cache
from pathlib import Path

import jsonschema

SCHEMAS = Path(__file__).parents[2] / "schemas"


@cache
def validator(name):
    schema = json.loads((SCHEMAS / f"{name}.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def conforms(document, name):
    """Gives the document as it is read back."""
    read_back = json.loads(json.dumps(document))
    validator(name).validate(read_back)
    return read_back


def squeezed(text):
    """The lines, with their spaces made one."""
    return [" ".join(line.split()) for line in text.splitlines()]
