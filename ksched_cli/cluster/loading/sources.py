"""Reads a state's files and splits them into documents of JSON.

Documents of JSON are slices of their file. YAML is parsed and encoded as JSON, so that objects are
decoded in one way and extenders get JSON from both.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import msgspec

from ksched_cli.errors import InputError, UsageError
from ksched_cli.kube.documents import decode_text, load_documents, position_at

STDIN = "-"
STDIN_NAME = "standard input"
DEFAULT_FILES = ("cluster.yaml", "cluster.yml", "cluster.json")
STATE_VARIABLE = "KSCHED_STATE"

_SUFFIXES = (".yaml", ".yml", ".json")
_UTF8_BOM = b"\xef\xbb\xbf"
_AT_BYTE = re.compile(r"(?:JSON is malformed: )?(.*?) \(byte (\d+)\)")
_TRAILING = "trailing characters"


class _Object(msgspec.Struct):
    """Any object: msgspec checks the syntax and skips all fields."""


_scanner = msgspec.json.Decoder(_Object)


@dataclass(frozen=True, slots=True)
class Source:
    """The bytes of a file. name: its path, or "standard input", for messages."""

    name: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a source as JSON. index: in the source, from 0."""

    source: Source
    index: int
    data: msgspec.Raw


def default_state_path(environment: Mapping[str, str] = os.environ, folder: Path = Path()) -> str:
    """The state to read without --state. Raises UsageError that lists where it was looked for."""
    path = environment.get(STATE_VARIABLE)
    if path:
        return path
    for name in DEFAULT_FILES:
        if (folder / name).is_file():
            return str(folder / name)
    file_names = ", ".join(DEFAULT_FILES)
    raise UsageError(
        f"no cluster state: --state is not given, ${STATE_VARIABLE} is not set, and none of "
        f"{file_names} is in this folder\n"
        "  kubectl get nodes,pods -A -o json > cluster.json   writes one"
    )


def read_sources(paths: Sequence[str], stdin: BinaryIO) -> Iterator[Source]:
    """The files at the paths, in order; a folder's in order of name.

    Raises InputError.
    """
    for path in paths:
        if path == STDIN:
            yield Source(STDIN_NAME, stdin.read())
        elif os.path.isdir(path):
            yield from (_read(name) for name in _folder_files(path))
        else:
            yield _read(path)


def _folder_files(folder: str) -> list[str]:
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(_SUFFIXES))
    except OSError as error:
        raise InputError(folder, f"the folder cannot be read: {error.strerror}") from None
    files = [path for name in names if os.path.isfile(path := os.path.join(folder, name))]
    if not files:
        raise InputError(folder, "the folder holds no .yaml, .yml or .json file")
    return files


def _read(path: str) -> Source:
    try:
        with open(path, "rb") as file:
            return Source(path, file.read())
    except FileNotFoundError:
        raise InputError(path, "there is no such file or folder") from None
    except OSError as error:
        raise InputError(path, f"the file cannot be read: {error.strerror}") from None


def documents(source: Source) -> Iterator[Document]:
    """Splits a source. Raises InputError where it is not UTF-8, neither JSON nor YAML, or empty."""
    if _is_blank(source.data):
        raise InputError(source.name, "the file is empty", hint="Expected YAML or JSON objects.")
    if looks_like_json(source):
        yield from _json_documents(source, source.data.removeprefix(_UTF8_BOM))
    else:
        yield from _yaml_documents(source)


def looks_like_json(source: Source) -> bool:
    """Whether the text begins with a brace or a bracket."""
    return source.data[:1024].removeprefix(_UTF8_BOM).lstrip()[:1] in (b"{", b"[")


def _is_blank(data: bytes) -> bool:
    # Stripping copies the text, so the whole is stripped only if its beginning is blank.
    return not data[:1024].strip() and not data.strip()


def _json_documents(source: Source, data: bytes) -> Iterator[Document]:
    """One or several values of JSON, with nothing between them but whitespace."""
    _check_utf8(source)
    rest, index = memoryview(data), 0
    while rest.nbytes:
        try:
            end = _end_of_document(rest)
        except RecursionError:
            raise InputError(source.name, "nested too deeply") from None
        except msgspec.DecodeError as error:
            yield from _yaml_or_error(source, error, len(data) - rest.nbytes)
            return
        yield Document(source, index, msgspec.Raw(rest[:end]))
        rest, index = rest[end:], index + 1


def _end_of_document(rest: memoryview) -> int:
    """Length of the first JSON value. Raises DecodeError where there is none."""
    try:
        _scanner.decode(rest)
    except msgspec.ValidationError:
        pass  # JSON, but not an object, which the decoder reports
    except msgspec.DecodeError as error:
        match = _AT_BYTE.fullmatch(str(error))
        if match is None or match[1] != _TRAILING:
            raise
        # msgspec has read one byte beyond the value.
        return int(match[2]) - 1
    return rest.nbytes


def _yaml_or_error(source: Source, error: msgspec.DecodeError, offset: int) -> Iterator[Document]:
    """Documents of YAML's flow style, which begins as JSON does, in a file with YAML's suffix.

    Raises InputError for the JSON error in any other source.
    """
    if source.name.endswith((".yaml", ".yml")) and not offset:
        yield from _yaml_documents(source)
        return
    match = _AT_BYTE.fullmatch(str(error))
    if match is None:
        raise InputError(source.name, f"not JSON: {_lower(str(error))}; is the file complete?")
    text = source.data.removeprefix(_UTF8_BOM)[: offset + int(match[2])].decode("utf-8", "replace")
    raise InputError(source.name, f"not JSON: {match[1]}", position=position_at(text, len(text)))


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _check_utf8(source: Source) -> None:
    if not source.data.isascii():
        decode_text(source.data, source.name)


def _yaml_documents(source: Source) -> Iterator[Document]:
    text = decode_text(source.data, source.name)
    index = -1
    for index, data in enumerate(load_documents(text, source.name)):
        try:
            yield Document(source, index, msgspec.Raw(msgspec.json.encode(data)))
        except (RecursionError, ValueError):
            raise InputError(source.name, "nested too deeply") from None
    if index < 0:
        raise InputError(source.name, "the file holds no object, only comments or empty documents")
