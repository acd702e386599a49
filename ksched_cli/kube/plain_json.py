"""JSON of an object that was decoded by its type, read again for what the type leaves out.

The type's decoder skips fields that it does not have: a number in them may be out of every range,
or a field of another shape than it should.
"""

from __future__ import annotations

from typing import Any, TypeVar, cast

import msgspec

from ksched_cli.errors import InputError
from ksched_cli.kube.stored_bytes import ObjectJson, StoredJson

T = TypeVar("T")

THE_STATE = "the state"
_ANYTHING: type[Any] = cast("type[Any]", Any)


def plain_json(data: bytes | ObjectJson, source: str = THE_STATE) -> Any:
    """Plain data. source: what errors say it is from. Raises InputError."""
    return typed_json(data, _ANYTHING, source)


def typed_json(data: bytes | ObjectJson, kind: type[T], source: str = THE_STATE) -> T:
    """Return a value of a type. source: what errors say it is from. Raises InputError."""
    try:
        text = bytes(data) if isinstance(data, StoredJson) else data
        value: T = msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        problem = f"{str(error)[:1].lower()}{str(error)[1:]}"
        raise InputError(source, f"an object cannot be read: {problem}") from None
    except RecursionError:
        raise InputError(source, "an object is nested too deeply") from None
    return value
