"""What a document has that its JSON Schema does not allow, worded for whoever wrote the document.

The types of files (file_parts.py) refuse what is not valid; the JSON Schemas that are made from
them, which editors use too, find every problem and its place then. Configurations, scenarios,
expectations, sweeps, autoscalers, timelines, project files and the args of plugins are all worded
here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from ksched_cli.errors import InputError
from ksched_cli.kube.documents import Locator, Path, path_text
from ksched_cli.kube.int64 import parse_int64
from ksched_cli.kube.json_tree import JsonFloat
from ksched_cli.kube.near_names import did_you_mean, nearest

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

DURATION = "go-duration"
"""The format of durations in schemas."""

# From the value, the keyword's own value to message and hint.
_Wording: TypeAlias = Callable[[Any, Any], tuple[str, str]]
TYPES = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "object": "a mapping",
    "string": "a string",
}


class SchemaProblem(Struct, frozen=True):
    """A value that a schema does not allow.

    path:    of the value, of a key that is unknown, or of the object that lacks a key
    keyword: of the schema, as "type"
    hint:    what to write instead, "" where the message says it
    allowed: the keys that are known where one is not
    """

    path: Path
    keyword: str
    message: str
    hint: str = ""
    allowed: tuple[str, ...] = ()


def schema_problems(errors: Iterable[ValidationError]) -> tuple[SchemaProblem, ...]:
    """Return every problem once. A misspelt key explains what its object lacks, and a problem
    inside of a value why it has none of its shapes."""
    problems = dict.fromkeys(problem for error in errors for problem in _problems(error))
    header = [item for item in problems if item.keyword == "const" and item.path == ("kind",)]
    if header:
        return tuple(header)  # it is another file than what is expected here
    misspelt = {
        (item.path[:-1], nearest(str(item.path[-1]), item.allowed))
        for item in problems
        if item.keyword == "additionalProperties"
    }
    outer = {item.path[:length] for item in problems for length in range(len(item.path))}
    return tuple(
        item
        for item in problems
        if not (item.keyword in ("anyOf", "oneOf") and item.path in outer)
        and not (item.keyword == "required" and (item.path, item.allowed[0]) in misspelt)
    )


def _problems(error: ValidationError) -> Iterator[SchemaProblem]:
    path, keyword = tuple(error.absolute_path), str(error.validator)
    find = _FINDERS.get(keyword)
    if find is not None:
        yield from find(error, path)
        return
    write = _WORDINGS.get(keyword)
    value: Any = error.validator_value
    message, hint = write(error.instance, value) if write else (error.message, "")
    schema: Any = error.schema
    if keyword == "type" and schema.get("format") == DURATION:
        hint = duration_hint(error.instance) or hint
    yield SchemaProblem(path, keyword, message, hint or _described(schema))


def _unknown_keys(error: ValidationError, path: Path) -> Iterator[SchemaProblem]:
    schema: Any = error.schema
    instance: Any = error.instance
    keys = tuple(schema.get("properties", ()))
    for key in instance:
        if key not in keys:
            hint = did_you_mean(key, keys) or f"expected one of {', '.join(keys)}"
            message = f'unknown key "{key}"'
            yield SchemaProblem((*path, key), str(error.validator), message, hint, keys)


def _missing_keys(error: ValidationError, path: Path) -> Iterator[SchemaProblem]:
    schema: Any = error.schema
    instance: Any = error.instance
    names: Any = error.validator_value
    for key in names:
        if key not in instance:
            hint = _described(schema.get("properties", {}).get(key))
            yield SchemaProblem(path, str(error.validator), f"{key} is missing", hint, (key,))


def _lonely_keys(error: ValidationError, path: Path) -> Iterator[SchemaProblem]:
    instance: Any = error.instance
    pairs: Any = error.validator_value
    for key, needed in pairs.items():
        lacking = " and ".join(name for name in needed if name not in instance)
        if key in instance and lacking:
            message = f"{key} requires {lacking}"
            yield SchemaProblem((*path, key), str(error.validator), message)


def _described(schema: Any) -> str:
    return str(schema.get("description", "")) if isinstance(schema, Mapping) else ""


def wrong_type(instance: Any, value: Any) -> tuple[str, str]:
    """Return the message and the hint. value: the allowed types, by JSON Schema's names"""
    names = [name for name in _as_list(value) if name != "null"]
    expected = " or ".join(TYPES[name] for name in names)
    return f"expected {expected}, got {shown(instance)}", _type_hint(names, instance)


def _type_hint(names: list[str], instance: Any) -> str:
    if "array" in names and isinstance(instance, dict):
        return 'begin each item with "- "'
    if isinstance(instance, str):
        if "integer" in names and parse_int64(instance) is not None:
            return "remove the quotes"
        if "boolean" in names:
            return "write true or false, without quotes"
        return f"write it as a list: [{instance}]" if names == ["array"] else ""
    if "string" in names and isinstance(instance, bool):
        return "put it in quotes: YAML reads y, yes, on, n, no and off as true or false"
    if "string" in names and isinstance(instance, int | float):
        return f'put it in quotes: "{shown(instance)}"'
    return ""


def duration_hint(instance: Any) -> str:
    """Return a hint for a number, quoted or not, instead of a duration; else ""."""
    is_number = isinstance(instance, int | float) and not isinstance(instance, bool)
    text = shown(instance) if is_number else instance
    is_text = isinstance(text, str) and text.replace(".", "", 1).isdecimal()
    return f"write {text}s, with a unit" if is_text else ""


def _not_a_choice(instance: Any, value: Any) -> tuple[str, str]:
    near = did_you_mean(instance, value) if isinstance(instance, str) else ""
    return f"{shown(instance)} is not one of {', '.join(map(str, value))}", near


def _at_least(noun: str) -> _Wording:
    def wording(instance: Any, value: Any) -> tuple[str, str]:
        return (f"requires at least {value} {noun}" if instance else "is empty"), ""

    return wording


def _at_most(noun: str) -> _Wording:
    return lambda _instance, value: (f"has more than {value} {noun}", "")


# JSON Schema's keyword → the wording of its value's failure: (message, hint).
_WORDINGS: Mapping[str, _Wording] = {
    "type": wrong_type,
    "enum": _not_a_choice,
    "const": lambda instance, value: (
        f"expected {shown(value)}, got {shown(instance)}",
        did_you_mean(str(instance), [str(value)]),
    ),
    "minimum": lambda instance, value: (f"{shown(instance)} is less than {value}", ""),
    "exclusiveMinimum": lambda instance, value: (
        f"{shown(instance)} is not greater than {value}",
        "",
    ),
    "maximum": lambda instance, value: (f"{shown(instance)} is greater than {value}", ""),
    "pattern": lambda instance, value: (f"{shown(instance)} does not match {value}", ""),
    "uniqueItems": lambda _instance, _value: ("has a duplicate item", ""),
    "not": lambda _instance, _value: ("is not allowed here", ""),
    "minLength": _at_least("characters"),
    "minItems": _at_least("items"),
    "minProperties": _at_least("keys"),
    "maxLength": _at_most("characters"),
    "maxItems": _at_most("items"),
}


def _alternatives(error: ValidationError, path: Path) -> Iterator[SchemaProblem]:
    """Where none of several shapes fits: what is wrong with the only one of the value's type, else
    which shapes there are."""
    shapes: Any = error.validator_value
    branches: list[list[ValidationError]] = [[] for _ in shapes]
    for inner in error.context or ():
        branches[int(inner.relative_schema_path[0])].append(inner)
    of_type = [
        branch
        for branch in branches
        if not any(inner.validator == "type" and not inner.relative_path for inner in branch)
    ]
    keyword = str(error.validator)
    schema: Any = error.schema
    instance: Any = error.instance
    if len(of_type) == 1 and len(branches) > 1 and of_type[0]:
        yield from (problem for inner in of_type[0] for problem in _problems(inner))
    elif not of_type:
        types = [str(name) for shape in shapes for name in _as_list(shape.get("type", []))]
        message, hint = wrong_type(instance, types)
        described = "; or ".join(filter(None, map(_described, shapes)))
        yield SchemaProblem(path, "type", message, hint or described)
    elif not isinstance(instance, Mapping):
        return  # the shapes are of keys, and the type is a problem of its own
    elif "description" in schema:
        message = f"invalid combination of keys: {', '.join(map(str, instance))}"
        yield SchemaProblem(path, keyword, message, f"expected {schema['description']}")
    else:
        keys = [key for shape in shapes for key in shape.get("required", ())]
        here = [key for key in keys if key in instance]
        listed = ", ".join(keys)
        message = f"only one of {listed} is allowed" if here else f"one of {listed} is missing"
        yield SchemaProblem(path, keyword, message)


_FINDERS: Mapping[str, Callable[[ValidationError, Path], Iterator[SchemaProblem]]] = {
    "additionalProperties": _unknown_keys,
    "required": _missing_keys,
    "dependentRequired": _lonely_keys,
    "anyOf": _alternatives,
    "oneOf": _alternatives,
}


def shown(value: Any) -> str:
    """Return a value as it is written, a list or a mapping by its kind."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    return value.literal if isinstance(value, JsonFloat) else json.dumps(value, ensure_ascii=False)


def _as_list(value: Any) -> list[str]:
    return value if isinstance(value, list) else [value]


@cache
def schema_of(name: str) -> dict[str, Any]:
    """Return the schema in schemas/NAME.json."""
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
    """Check a document against a schema. Raises InputError, with every problem and its place in the
    text, for what the schema does not allow. hint: what such a document begins with, for one that
    does not."""
    problems = schema_problems(_validator(schema).iter_errors(document))
    if not problems:
        return
    locator = Locator(text)
    placed = sorted(
        ((locator.locate(item.path), item) for item in problems),
        key=lambda each: (each[0].line, each[0].column) if each[0] else (0, 0),
    )
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


def problems_of(value: Any, schema: str, definition: str) -> tuple[SchemaProblem, ...]:
    """What a part of a document has that its definition in the schema does not allow."""
    return schema_problems(_validator(schema, definition).iter_errors(value))
