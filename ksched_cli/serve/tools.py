"""The questions as tools: their arguments, the schemas of their answers, and documents cut to a
size that an agent can read, with how to ask for the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
from msgspec import structs

import ksched_cli
from ksched_cli.analysis.question import Question
from ksched_cli.answers import Answer, StateAnswer
from ksched_cli.config.checks.known_names import read_table
from ksched_cli.errors import UsageError
from ksched_cli.run.axes import InTools
from ksched_cli.run.run import FIELDS, ChangeSource, Run
from ksched_cli.scenario.change import ChangeError
from ksched_cli.scenario.file import count_added, file_named

# -- documents cut to a size that an agent can read ------------------------------------------------


# How many entries of a list are shown, at most; fewer until the document is short enough.
COUNTS = (1_000, 300, 100, 30, 10, 3, 1)
# How many characters of a text are shown for each of these entries; no fewer than SHORT.
TEXT_SIZE, SHORT = 100, 1_000
# An object with more members than any answer's type has is a map, as of placements.
MOST_FIELDS = 40


@dataclass(frozen=True, slots=True)
class ToolPage:
    """The part of a document to show from another entry on than the first.

    pointer: of a list or map, as "/placements"; "" for none
    """

    pointer: str = ""
    offset: int = 0


@dataclass(slots=True)
class Cut:
    """A document with its long lists and maps cut. Their type is the same.

    count: entries that are shown of the list that matters most; of others the next smaller number
    main: the pointer of that list; "" for none
    notes: a line for each that was cut
    """

    page: ToolPage
    count: int
    main: str = ""
    notes: list[str] = field(default_factory=list)
    has_page: bool = False

    def of(self, value: Any, pointer: str = "") -> Any:
        """Return the value at the pointer, cut."""
        if isinstance(value, list):
            return [
                self.of(item, f"{pointer}/{place}")
                for place, item in self._shown(list(enumerate(value)), pointer)
            ]
        if isinstance(value, dict):
            items: Sequence[tuple[Any, Any]] = list(value.items())
            if len(items) > MOST_FIELDS or pointer == self.page.pointer != "":
                items = self._shown(items, pointer)
            # Keys are escaped by RFC 6901.
            escaped = {key: key.replace("~", "~0").replace("/", "~1") for key, _ in items}
            return {key: self.of(item, f"{pointer}/{escaped[key]}") for key, item in items}
        size = max(SHORT, TEXT_SIZE * self.count)
        if isinstance(value, str) and len(value) > size:
            self.notes.append(f"{pointer} has {len(value)} characters, here {size}")
            return value[:size] + "…"
        return value

    def _shown(self, items: Sequence[tuple[Any, Any]], pointer: str) -> list[tuple[Any, Any]]:
        begin = 0
        if pointer == self.page.pointer != "":
            self.has_page, begin = True, self.page.offset
        count = self.count
        if pointer not in (self.main, self.page.pointer):
            count = next((each for each in COUNTS if each < count), count)
        shown = list(islice(items, begin, begin + count))
        end = begin + len(shown)
        if begin or end < len(items):
            rest = f'; for more: part="{pointer}", offset={end}' if end < len(items) else ""
            self.notes.append(f"{pointer} has {len(items)} entries, here {begin} to {end}{rest}")
        return shown


def cut_document(document: Any, size: int, page: ToolPage, main: str = "") -> tuple[Any, list[str]]:
    """Return the document in about `size` characters of JSON, and a line for each part that was
    cut. main: the name of its list that matters most. Raises ValueError where the page is of no
    list of it."""
    for count in COUNTS:
        cut = Cut(page, count, f"/{main}" if main else "")
        shown = cut.of(document)
        if page.pointer and not cut.has_page:
            raise ValueError(f'part "{page.pointer}" names no list or map of the answer')
        if len(msgspec.json.encode(shown)) <= size:
            break
    return shown, cut.notes


# -- tools -----------------------------------------------------------------------------------------


Schema: TypeAlias = Mapping[str, Any]

_SCHEMAS = Path(ksched_cli.__file__).parent / "schemas"
# So many changes a question may have, and so many nodes and pods they may add: a run of as
# many nodes took 0.22 GB (2026-11-28).
MAX_CHANGES, MAX_ADDED = 200, 50_000
# What a configuration of the client is called in messages.
GIVEN_CONFIGURATION = "configuration"


class QuestionTool(msgspec.Struct, frozen=True):
    """A question as a tool.

    question: its type, as MODULE:CLASS below ksched_cli; schema: of its answer, in schemas/
    asks:     the fields of the question that the client gives, with their JSON Schemas
    axes:     the fields of the Run that it may give
    fields:   of the question, which have these values
    compares: the Run with what the client gives is compared with the server's
    chooses:  the namespace also chooses the pods to show
    long:     it makes many runs, and waits in a lane of its own
    """

    name: str
    question: str
    schema: str
    description: str
    asks: Mapping[str, Schema] = msgspec.field(default_factory=dict)
    axes: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    fields: Mapping[str, Any] = msgspec.field(default_factory=dict)
    compares: bool = False
    chooses: bool = False
    long: bool = False

    @property
    def reads_state(self) -> bool:
        return "changes" in self.axes

    @property
    def input_schema(self) -> dict[str, Any]:
        axes: dict[str, Schema] = {}
        for axis in FIELDS:
            if axis.name not in self.axes:
                continue
            about = next(mark for mark in axis.marks if isinstance(mark, InTools))
            limit = {"pattern": about.pattern} if about.pattern else {"minLength": 1}
            schema: dict[str, Any] = {"type": "string", **limit}
            if isinstance(axis.default, tuple):
                schema = {"type": "array", "items": schema}
            axes[axis.name] = {**schema, "description": about.description}
        return {
            "type": "object",
            "properties": {**self.asks, **axes, **_TABLES.paging},
            **({"required": list(self.required)} if self.required else {}),
            "additionalProperties": False,
        }

    @property
    def output_schema(self) -> dict[str, Any]:
        """Return the names of the answer's own fields. What they mean stands in the published
        schema: all of them would be longer than what most clients may hold."""
        fields = _schema(self.schema)["properties"]
        own: dict[str, Any] = {name: {} for name in fields if name not in _OF_ALL}
        properties = {"kind": fields["kind"], **own}
        return {"type": "object", "properties": properties}

    @property
    def kind(self) -> str:
        """Return the answer's."""
        kind: str = self.output_schema["properties"]["kind"]["const"]
        return kind


_OF_ALL = frozenset(StateAnswer.__struct_encode_fields__)


@cache
def _schema(name: str) -> dict[str, Any]:
    schema: dict[str, Any] = msgspec.json.decode((_SCHEMAS / f"{name}.json").read_bytes())
    return schema


class _Tables(msgspec.Struct, frozen=True):
    """tools.yaml, whose comments say what each table is."""

    paging: Mapping[str, Schema]
    tools: tuple[QuestionTool, ...]


_TABLES = read_table(__file__, _Tables)
TOOLS = _TABLES.tools
BY_NAME = {tool.name: tool for tool in TOOLS}


class ArgumentsError(UsageError):
    """The client's arguments do not fit the tool."""


class ToolCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A question as it is sent to the process that answers it.

    runs:          that it is about
    arguments:     fields of the question
    configuration: the client's, as a text, which the last Run names; "" for none
    """

    tool: str
    runs: tuple[Run, ...]
    arguments: Mapping[str, Any]
    configuration: str = ""


class ToolReply(msgspec.Struct, frozen=True):
    """An answer as its process sends it: the command's text, and the document. main: the name of
    its list that matters most"""

    text: str
    document: Any
    main: str = ""


# A line of the process's standard error that begins so says how far it is.
PROGRESS = "\x1eprogress "


class Progress(msgspec.Struct, frozen=True):
    """How far a question is. total: 0 where nobody knows; noun: of what"""

    done: int
    total: int
    noun: str


def call_of(
    tool: QuestionTool, arguments: Mapping[str, Any], base: Run
) -> tuple[ToolCall, ToolPage]:
    """Return the call and the part of the answer to show. base: the server's Run. Raises
    ArgumentsError."""
    from jsonschema import Draft202012Validator

    errors = sorted(Draft202012Validator(tool.input_schema).iter_errors(arguments), key=str)
    if errors:
        raise ArgumentsError("; ".join(f"{e.json_path}: {e.message}" for e in errors))
    axes = {name: value for name, value in arguments.items() if name in tool.axes}
    text = axes.get("configuration", "")
    if "changes" in axes:
        if len(axes["changes"]) > MAX_CHANGES:
            count = len(axes["changes"])
            raise ArgumentsError(f"{count:,} changes; at most {MAX_CHANGES} can be made")
        given = tuple(ChangeSource(line=inline(line)) for line in axes["changes"])
        added = sum(map(count_added, axes["changes"]))
        if added > MAX_ADDED:
            raise ArgumentsError(
                f"{added:,} nodes and pods are added; at most {MAX_ADDED:,} can be"
            )
        axes["changes"] = (*base.changes, *given)
    if text:
        axes |= {"configuration": GIVEN_CONFIGURATION, "patches": ()}
    if tool.compares and not axes:
        raise ArgumentsError("compare requires changes, configuration or kubernetes_version")
    run = structs.replace(base, **axes)
    if not tool.reads_state:
        run = structs.replace(run, states=(), live=None)
    asks = {name: arguments[name] for name in tool.asks if name in arguments}
    if tool.chooses and run.namespace:
        asks["shows"] = {"namespace": run.namespace}
    page = ToolPage(arguments.get("part", ""), arguments.get("offset", 0))
    runs = (base, run) if tool.compares else (run,)
    return ToolCall(tool.name, runs, {**tool.fields, **asks}, text), page


def question_of(tool: QuestionTool, arguments: Mapping[str, Any]) -> Question[Answer]:
    """Return the question with these arguments."""
    module, _, name = tool.question.partition(":")
    question: type[Question[Answer]] = getattr(import_module(f"ksched_cli.{module}"), name)
    return msgspec.convert(arguments, question)


def inline(text: str) -> str:
    """Return a change that reads no file of this machine. Raises ArgumentsError."""
    try:
        path = file_named(text)
    except ChangeError as error:
        raise ArgumentsError(str(error)) from None
    if path:
        raise ArgumentsError(f"{text}: write the object as JSON; files cannot be read")
    return text
