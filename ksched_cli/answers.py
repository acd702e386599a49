"""The base of all answers: a frozen Struct that is the JSON document, and what tables and pages
read.

An answer's schema is made of its type: a field's description is the line of the class's docstring
that begins with the field's name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, inspect, structs

from ksched_cli.errors import ExitCode, MissingExtraError, UsageError

Count: TypeAlias = Annotated[int, Meta(ge=0)]
Rank: TypeAlias = Annotated[int, Meta(ge=1)]

# Marks a field that tables and pages read, and the document does not have:
# `field: Annotated[T, HIDDEN]`.
HIDDEN = Meta(extra={"hidden": True})

# How a notebook shows answers, by form. Rooms that import answers fill it.
SHOWN: dict[str, Callable[[Answer], str]] = {}

# The last fields of a document.
_LAST = ("changes", "warnings")


class Part(Struct, frozen=True, rename="camel"):
    """A part of an answer."""


class Answer(Part, frozen=True, kw_only=True):
    """What a question returns.

    kubernetes_version: of the kube-scheduler whose rules were applied, as v1.34.1
    kubernetes_version_from: what the release was inferred from, if it was not chosen
    warnings: every warning, as on standard error
    assumes: a plugin failed outside of a pod's statuses, and the run went on as if it had answered
        something
    """

    COMMAND: ClassVar[str]
    VIEW: ClassVar[str]  # the function of report/ that lays it out, as module:function
    ROWS: ClassVar[str] = ""  # the field that `to_frame` shows by default
    IS_FILE: ClassVar[bool] = False  # a file for somebody else to read, whose secrets stay

    api_version: Literal["ksched/v1"] = "ksched/v1"
    kind: str
    kubernetes_version: str = ""
    kubernetes_version_from: str | UnsetType = UNSET
    warnings: tuple[str, ...] = ()
    assumes: Annotated[bool, HIDDEN] = False

    @property
    def exit_code(self) -> ExitCode:
        """How the command ends that prints the answer."""
        return ExitCode.YES

    def to_json(self) -> str:
        """Return the document, as `-o json` prints it."""
        return SHOWN["json"](self)

    def to_frame(self, field: str = "") -> Any:
        """Return a pandas.DataFrame of a field that is a list or a mapping: a row per item.

        field: its name in Python, in a part of the answer as `cost.by_owner`; by default the
               answer's main list
        Raises UsageError for another field, MissingExtraError without pandas
        """
        try:
            from pandas import DataFrame, json_normalize
        except ImportError:
            raise MissingExtraError("to_frame", "notebook") from None
        field, content = rows_of(self, field)
        keyed = isinstance(content, Mapping)
        rows, index = (list(content.values()), list(content)) if keyed else (content, None)
        if rows and all(isinstance(row, Mapping) for row in rows):
            frame = json_normalize(rows)
            return frame.set_axis(index, axis=0) if keyed else frame
        return DataFrame({field: rows}, index)

    def _repr_html_(self) -> str:
        return SHOWN["html"](self)

    def _repr_markdown_(self) -> str:
        return SHOWN["markdown"](self)


def rows_of(answer: Answer, field: str = "") -> tuple[str, Any]:
    """Return the name of a field that is a list or a mapping, by default the answer's main list,
    and its plain data. Raises UsageError for another field."""
    field = field or answer.ROWS
    lists = dict(_lists(answer))
    for name, part in structs.asdict(answer).items():
        if isinstance(part, Part):
            lists |= {f"{name}.{key}": value for key, value in _lists(part)}
    if answer.ROWS and answer.ROWS not in lists:
        lists[answer.ROWS] = getattr(answer, answer.ROWS)
    if field not in lists or lists[field] is UNSET:
        without = f'"{field}" has no rows' if field else f"{answer.kind} has no main list"
        names = (name for name, value in lists.items() if value is not UNSET)
        raise UsageError(f"{without}; these have: {', '.join(names)}")
    return field, plain(lists[field])


def _lists(part: Part) -> Iterator[tuple[str, Any]]:
    """Yield the fields that are a list or a mapping, and that the document has."""
    hidden, _ = _paths(type(part))
    for name, value in structs.asdict(part).items():
        if name not in hidden and isinstance(value, Mapping | tuple | list):
            yield name, value


class Effect(Struct, frozen=True):
    """The effect of a change on one object.

    subject: the object, as "node-3" or "default/web-1"
    action:  the same words for the same thing, as "pending again": tables group by them
    detail:  about this object, as "was on node-3"
    """

    subject: str
    action: str
    detail: str = ""

    @property
    def text(self) -> str:
        """Return one line of all."""
        return f"{self.subject}: {self.action}" + (f" ({self.detail})" if self.detail else "")


class AppliedChange(Part, frozen=True):
    """A change, and a line for each thing that it did.

    effects: what the lines say, as data
    """

    text: str
    did: tuple[str, ...]
    effects: Annotated[tuple[Effect, ...], HIDDEN] = ()


class StateAnswer(Answer, frozen=True, kw_only=True):
    """What a question about a cluster state returns.

    changes: what --change and --scenario did to the state, in order
    """

    changes: tuple[AppliedChange, ...] = ()


def document_of(answer: Answer) -> dict[str, Any]:
    """Return the answer as plain data, in the order of its JSON."""
    document: dict[str, Any] = plain(answer)
    for key in _LAST:
        if key in document:
            document[key] = document.pop(key)
    return document


def plain(value: Any) -> Any:
    """Plain data of a part of an answer, or of several."""
    return msgspec.to_builtins(_visible(value), str_keys=True)


def _visible(value: Any) -> Any:
    """Return the value without hidden fields, at any depth."""
    if isinstance(value, Struct):
        hidden, nested = _paths(type(value))
        fields: dict[str, Any] = dict.fromkeys(hidden, UNSET)
        fields |= {name: _visible(getattr(value, name)) for name in nested}
        return structs.replace(value, **fields) if fields else value
    if isinstance(value, tuple | list):
        return [_visible(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _visible(item) for key, item in value.items()}
    return value


@cache
def _paths(cls: type[Struct]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the hidden fields of a type, and those that hold such a type."""
    info = inspect.type_info(cls)
    assert isinstance(info, inspect.StructType)
    hidden = tuple(field.name for field in info.fields if is_hidden(field.type))
    nested = (field.name for field in info.fields if any(map(_hides, structs_in(field.type))))
    return hidden, tuple(name for name in nested if name not in hidden)


def _hides(cls: type[Struct]) -> bool:
    return any(_paths(cls))


def is_hidden(info: inspect.Type) -> bool:
    """Return whether a field's type says that the document does not have it."""
    return isinstance(info, inspect.Metadata) and bool((info.extra or {}).get("hidden"))


def structs_in(info: inspect.Type) -> list[type[Struct]]:
    """Return the Structs that a value of the type is, or holds in lists and mappings."""
    match info:
        case inspect.StructType(cls=cls):
            return [cls]
        case inspect.Metadata(type=inner):
            return structs_in(inner)
        case inspect.VarTupleType(item_type=item) | inspect.ListType(item_type=item):
            return structs_in(item)
        case inspect.DictType(value_type=item):
            return structs_in(item)
        case inspect.UnionType(types=types):
            return [cls for item in types for cls in structs_in(item)]
    return []
