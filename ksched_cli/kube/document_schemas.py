"""Small documents of users checked against the JSON Schemas that editors use too."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

from ksched_cli.errors import InputError, Position
from ksched_cli.kube.documents import Locator, Path, path_text
from ksched_cli.kube.schema_problems import SchemaProblem, schema_problems


@cache
def schema_of(name: str) -> dict[str, Any]:
    """The schema in schemas/NAME.json."""
    text = resources.files("ksched_cli.schemas").joinpath(f"{name}.json").read_text("utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


@cache
def _validator(name: str, definition: str = "") -> Any:
    """JSON Schema takes 2.0 for an integer; neither Go nor what reads the document does."""
    from jsonschema import Draft202012Validator
    from jsonschema.validators import extend

    def is_integer(checker: Any, value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool)

    types = Draft202012Validator.TYPE_CHECKER.redefine("integer", is_integer)
    strict: Any = extend(Draft202012Validator, type_checker=types)  # type: ignore[no-untyped-call]
    schema = schema_of(name)
    part = {"$defs": schema.get("$defs", {}), "$ref": f"#/$defs/{definition}"}
    return strict(part if definition else schema)


# Where a document shows that it is another one.
_HEADER: tuple[Path, ...] = ((), ("kind",), ("apiVersion",))
_HEAD = ("const", "type", "required")


def check_document(document: Any, schema: str, text: str, source: str, hint: str) -> None:
    """Raises InputError, with every problem and its place in the text, for what the schema does not
    allow. hint: what such a document begins with, for one that does not."""
    problems = schema_problems(_validator(schema).iter_errors(document))
    if not problems:
        return
    locator = Locator(text)
    placed = sorted(((locator.locate(item.path), item) for item in problems), key=_place)
    hints: set[str] = set()
    errors = []
    for position, problem in placed:
        at_head = problem.path in _HEADER and problem.keyword in _HEAD
        own_hint = hint if at_head else problem.hint
        errors.append(
            InputError(
                source,
                problem.message,
                subject=path_text(problem.path),
                position=position,
                hint="" if own_hint in hints else own_hint,
            )
        )
        hints.add(own_hint)
    raise errors[0].with_others(errors[1:])


def _place(item: tuple[Position | None, SchemaProblem]) -> tuple[int, int]:
    position = item[0]
    return (position.line, position.column) if position else (0, 0)


def problems_of(value: Any, schema: str, definition: str) -> tuple[SchemaProblem, ...]:
    """What a part of a document has that its definition in the schema does not allow."""
    return schema_problems(_validator(schema, definition).iter_errors(value))
