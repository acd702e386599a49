"""The questions as tools: their arguments, their command lines, the schemas of their answers, and
documents cut to a size that an agent can read, with how to ask for the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path
from re import escape
from typing import Any, TypeAlias

import msgspec

import ksched_cli
from ksched_cli.config.checks.known_names import read_table
from ksched_cli.errors import UsageError
from ksched_cli.kube.versions import MINORS
from ksched_cli.scenario.change import ChangeError
from ksched_cli.scenario.file import file_named

# -- documents cut to a size that an agent can read ------------------------------------------------


# How many entries of a list are shown, at most; fewer until the document is short enough.
COUNTS = (1_000, 300, 100, 30, 10, 3, 1)
# An object with more members than any answer's type has is a map, as of placements.
MOST_FIELDS = 40


@dataclass(frozen=True, slots=True)
class Page:
    """The part of a document to show from another entry on than the first.

    pointer: of a list or map, as "/placements"; "" for none
    """

    pointer: str = ""
    offset: int = 0


@dataclass(slots=True)
class Cut:
    """A document with its long lists and maps cut. Their type is the same.

    notes: a line for each that was cut
    """

    page: Page
    count: int
    notes: list[str] = field(default_factory=list)
    has_page: bool = False

    def of(self, value: Any, pointer: str = "") -> Any:
        """The value at the pointer, cut."""
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
        return value

    def _shown(self, items: Sequence[tuple[Any, Any]], pointer: str) -> list[tuple[Any, Any]]:
        begin = 0
        if pointer == self.page.pointer != "":
            self.has_page, begin = True, self.page.offset
        shown = list(islice(items, begin, begin + self.count))
        end = begin + len(shown)
        if begin or end < len(items):
            rest = f'; for more: part="{pointer}", offset={end}' if end < len(items) else ""
            self.notes.append(f"{pointer} has {len(items)} entries, here {begin} to {end}{rest}")
        return shown


def cut_document(document: Any, size: int, page: Page) -> tuple[Any, list[str]]:
    """Return the document in about `size` characters of JSON, and a line for each part that was
    cut. Raises ValueError where the page is of no list of it."""
    for count in COUNTS:
        cut = Cut(page, count)
        shown = cut.of(document)
        if page.pointer and not cut.has_page:
            raise ValueError(f'part "{page.pointer}" names no list or map of the answer')
        if len(msgspec.json.encode(shown)) <= size:
            break
    return shown, cut.notes


# -- tools -----------------------------------------------------------------------------------------


Schema: TypeAlias = Mapping[str, Any]

_SCHEMAS = Path(ksched_cli.__file__).parent / "schemas"


class QuestionTool(msgspec.Struct, frozen=True):
    """A question.

    command: its words; schema: of its answer, in schemas/
    arguments: their names; required: those that must be there
    """

    name: str
    command: tuple[str, ...]
    schema: str
    description: str
    arguments: tuple[str, ...]
    required: tuple[str, ...] = ()

    @property
    def reads_state(self) -> bool:
        return self.name not in ("validate", "config_show")

    @property
    def input_schema(self) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": {name: ARGUMENTS[name] for name in (*self.arguments, *_TABLES.paging)},
            "required": list(self.required),
            "additionalProperties": False,
        }

    @property
    def output_schema(self) -> dict[str, Any]:
        return _schema(self.schema)

    @property
    def kind(self) -> str:
        """The answer's."""
        kind: str = self.output_schema["properties"]["kind"]["const"]
        return kind


@cache
def _schema(name: str) -> dict[str, Any]:
    schema: dict[str, Any] = msgspec.json.decode((_SCHEMAS / f"{name}.json").read_bytes())
    return schema


class _Tables(msgspec.Struct, frozen=True):
    """tools.yaml, whose comments say what each table is."""

    arguments: Mapping[str, Schema]
    paging: Mapping[str, Schema]
    tools: tuple[QuestionTool, ...]


_TABLES = read_table(__file__, _Tables)
TOOLS = _TABLES.tools
# By name, the JSON Schema of each.
ARGUMENTS: Mapping[str, Schema] = {
    **_TABLES.arguments,
    **_TABLES.paging,
    "kubernetes_version": {
        "type": "string",
        "pattern": rf"^({'|'.join(map(escape, MINORS))})(\.\d+)?$",
        "description": f"Whose rules apply: one of {', '.join(MINORS)}, or a patch release as "
        "1.34.4",
    },
}
BY_NAME = {tool.name: tool for tool in TOOLS}


class ArgumentsError(UsageError):
    """The client's arguments do not fit the tool."""


@dataclass(frozen=True, slots=True)
class Call:
    """A question to be asked. line: of the command; stdin: what it reads"""

    line: tuple[str, ...]
    stdin: bytes
    page: Page


def call_of(
    tool: QuestionTool,
    arguments: Mapping[str, Any],
    of_state: Sequence[str],
    of_configuration: Sequence[str],
) -> Call:
    """of_state, of_configuration: options of the server's. Raises ArgumentsError."""
    _check(tool, arguments)
    own = [
        *(f"--change={inline(text)}" for text in arguments.get("changes", ())),
        *_option("--namespace", arguments.get("namespace")),
        *_option("--kubernetes-version", arguments.get("kubernetes_version")),
    ]
    configuration = arguments.get("configuration")
    shared = [*(of_state if tool.reads_state else ()), *_others(of_configuration, arguments)]
    names = [arguments["pod"]] if "pod" in arguments else []
    if not tool.reads_state:
        server = [option for option in of_configuration if option.startswith("--config=")]
        names = ["-"] if configuration else [option.partition("=")[2] for option in server]
        shared = [option for option in shared if option not in server]
    elif configuration:
        own.append("--config=-")
    if tool.name == "compare":
        if not own:
            raise ArgumentsError("compare requires changes, configuration or kubernetes_version")
        own = ["--vs", *own]
    line = (*tool.command, "-o", "json", "--no-extenders", *shared, *own, "--", *names)
    page = Page(arguments.get("part", ""), arguments.get("offset", 0))
    return Call(line, (configuration or "").encode(), page)


def _others(options: Sequence[str], arguments: Mapping[str, Any]) -> list[str]:
    """The server's options that the arguments do not replace."""
    options_by_name = {"kubernetes_version": "--kubernetes-version=", "configuration": "--config="}
    replaced = tuple(option for name, option in options_by_name.items() if name in arguments)
    return [option for option in options if not option.startswith(replaced)]


def _option(name: str, value: str | None) -> list[str]:
    return [f"{name}={value}"] if value else []


def _check(tool: QuestionTool, arguments: Mapping[str, Any]) -> None:
    from jsonschema import Draft202012Validator

    errors = sorted(Draft202012Validator(tool.input_schema).iter_errors(arguments), key=str)
    if errors:
        raise ArgumentsError("; ".join(f"{e.json_path}: {e.message}" for e in errors))


def inline(text: str) -> str:
    """A change that reads no file of this machine. Raises ArgumentsError."""
    try:
        path = file_named(text)
    except ChangeError as error:
        raise ArgumentsError(str(error)) from None
    if path:
        raise ArgumentsError(f"{text}: write the object as JSON; files cannot be read")
    return text
