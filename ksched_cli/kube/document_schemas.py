"""Small documents of users checked against the JSON Schemas that editors use too."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

from ksched_cli.errors import InputError
from ksched_cli.kube.documents import is_json, locate


@cache
def schema_of(name: str) -> dict[str, Any]:
    """The schema in schemas/NAME.json."""
    text = resources.files("ksched_cli.schemas").joinpath(f"{name}.json").read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


@cache
def _validator(name: str) -> Any:
    """JSON Schema takes 2.0 for an integer; neither Go nor what reads the document does."""
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    def is_integer(checker: Any, value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool)

    types = Draft202012Validator.TYPE_CHECKER.redefine("integer", is_integer)
    strict: Any = extend(Draft202012Validator, type_checker=types)  # type: ignore[no-untyped-call]
    return strict(schema_of(name))


def check_document(document: Any, schema: str, text: str, source: str, hint: str) -> None:
    """Raises InputError, with the place in the text, for what the schema does not allow. Where none
    of several shapes fits, the schema's description says which there are."""
    # Loading jsonschema takes longer than most runs need for everything else.
    from jsonschema.exceptions import best_match, relevance

    errors = list(_validator(schema).iter_errors(document))
    error = max(errors, key=relevance, default=None)
    if error is None:
        return
    shapes: Any = error.schema
    if error.validator == "anyOf" and "description" in shapes:
        problem = f"expected {shapes['description']}"
    else:
        error = best_match(iter([error])) or error
        problem = error.message
        is_word = isinstance(error.instance, bool) and not is_json(text)
        if error.validator == "type" and "string" in error.validator_value and is_word:
            problem += " (YAML reads y, yes, on, n, no and off as booleans: quote them)"
    path = tuple(error.absolute_path)
    raise InputError(
        source,
        f"no {schema}: {problem}",
        subject=".".join(str(step) for step in path),
        position=locate(text, 0, path),
        hint=hint,
    )
