"""A plugin's args: checked against the spec that the plugin declares, and converted to it.

A JSON Schema checks plain data. A msgspec.Struct or a dataclass checks types and fills in defaults;
its `__post_init__` may raise ValueError for values that it refuses. A dataclass's field `max_pods`
is written maxPods in a configuration.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TypeAlias, get_type_hints

import msgspec

from ksched_cli.kube.documents import Path, path_text
from ksched_cli.kube.field_errors import ErrorType, FieldError, bad_value_text

# The `args` of a plugin class.
ArgsSpec: TypeAlias = Mapping[str, Any] | type[Any] | None

_META = ("apiVersion", "kind")
_AT = re.compile(r" - at `\$\.?(?P<path>[^`]*)`$")
_MISSING = re.compile(r"Object missing required field `(?P<field>[^`]+)`")
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<field>[^`]+)`")


def check(spec: ArgsSpec, given: Any) -> tuple[FieldError, ...]:
    """The errors of args as a configuration has them; given: None where it has none."""
    if spec is None:
        return ()
    if given is not None and not isinstance(given, Mapping):
        return (FieldError("", ErrorType.INVALID, bad_value_text(given), "must be an object"),)
    data = _without_meta(given)
    if isinstance(spec, Mapping):
        return _check_schema(spec, data)
    try:
        make(spec, given)
    except msgspec.ValidationError as error:
        return (_field_error(str(error), data),)
    except ValueError as error:
        return (FieldError("", ErrorType.INVALID, bad_value_text(data), str(error)),)
    return ()


def make(spec: ArgsSpec, given: Any) -> Any:
    """The args to pass to the plugin. Raises ValueError where `check` returns errors."""
    if spec is None:
        return given
    data = _without_meta(given)
    if isinstance(spec, Mapping):
        return data
    if issubclass(spec, msgspec.Struct):
        _refuse_unknown(spec, data)
        return msgspec.convert(data, spec)
    if not dataclasses.is_dataclass(spec):
        raise TypeError(f"args is {spec.__name__}, expected a msgspec.Struct or a dataclass")
    read = msgspec.convert(data, _struct_of(spec))
    return spec(**{name: getattr(read, name) for name in type(read).__struct_fields__})


def _without_meta(given: Any) -> dict[str, Any]:
    """Args without apiVersion and kind, which a configuration may give and no plugin declares."""
    return {key: value for key, value in (given or {}).items() if key not in _META}


def _check_schema(schema: Mapping[str, Any], data: Any) -> tuple[FieldError, ...]:
    from jsonschema import Draft202012Validator

    from ksched_cli.kube.document_schemas import schema_problems

    errors = sorted(
        Draft202012Validator(schema).iter_errors(data), key=lambda error: error.json_path
    )
    return tuple(
        FieldError(
            path_text(problem.path),
            ErrorType.INVALID,
            bad_value_text(_at(data, problem.path)),
            "; ".join(filter(None, (problem.message, problem.hint))),
        )
        for problem in schema_problems(errors)
    )


def _at(data: Any, path: Path) -> Any:
    for step in path:
        data = data[step]
    return data


@lru_cache(maxsize=64)
def _struct_of(cls: type[Any]) -> type[msgspec.Struct]:
    """A Struct with the fields of a dataclass."""
    hints = get_type_hints(cls)
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    for member in dataclasses.fields(cls):
        if member.default is not dataclasses.MISSING:
            fields.append((member.name, hints[member.name], member.default))
        elif member.default_factory is not dataclasses.MISSING:
            default = msgspec.field(default_factory=member.default_factory)
            fields.append((member.name, hints[member.name], default))
        else:
            fields.append((member.name, hints[member.name]))
    return msgspec.defstruct(
        cls.__name__, fields, rename="camel", forbid_unknown_fields=True, kw_only=True
    )


def _refuse_unknown(spec: type[msgspec.Struct], data: Mapping[str, Any]) -> None:
    field_names = set(spec.__struct_encode_fields__)
    for key in data:
        if key not in field_names:
            raise msgspec.ValidationError(f"Object contains unknown field `{key}`")


def _field_error(text: str, data: Mapping[str, Any]) -> FieldError:
    """Return the error from the text of a msgspec.ValidationError, which ends in the path."""
    at = _AT.search(text)
    path = at["path"] if at else ""
    message = _AT.sub("", text)
    for pattern, error_type, detail in (
        (_MISSING, ErrorType.REQUIRED, ""),
        (_UNKNOWN, ErrorType.FORBIDDEN, "the plugin has no such field"),
    ):
        match = pattern.match(message)
        if match:
            inner = f"{path}.{match['field']}" if path else match["field"]
            return FieldError(inner, error_type, "", detail)
    plain = message.replace("`", "")
    return FieldError(path, ErrorType.INVALID, bad_value_text(_value_at(data, path)), plain)


def _value_at(data: Any, path: str) -> Any:
    """Return the value at a path such as "weights[0].name"; None if there is none."""
    for key, position in re.findall(r"([^.\[\]]+)|\[(\d+)\]", path):
        try:
            data = data[int(position)] if position else data[key]
        except (KeyError, IndexError, TypeError):
            return None
    return data
