"""Splits the text of a state's files into documents of JSON.

Documents of JSON are slices of their file. YAML is parsed and encoded as JSON, so that objects are
decoded in one way and extenders get JSON from both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec
from msgspec import Struct

from ksched_cli.cluster.loading.yaml_pieces import YamlPieces
from ksched_cli.errors import InputError
from ksched_cli.kube.documents import decode_text, position_at, yaml_failure
from ksched_cli.kube.stored_bytes import StoredBytes
from ksched_cli.kube.yaml_errors import Duplicate, YamlError

_START = 1024  # bytes that tell JSON from YAML
_UTF8_BOM = b"\xef\xbb\xbf"
_AT_BYTE = re.compile(r"(?:JSON is malformed: )?(.*?) \(byte (\d+)\)")
_TRAILING = "trailing characters"
_BLANK = re.compile(rb"\s+")
# kubectl cluster-info dump prints containers' logs between lists; they need not end with a line.
# Upstream: staging/src/k8s.io/kubectl/pkg/cmd/clusterinfo/clusterinfo_dump.go.
_LOGS_START = re.compile(rb"\s*==== START( logs for container \S+ of pod \S+ ====\n)")


_EMPTY = msgspec.Raw(b"{}")


class PodParts(msgspec.Struct, rename="camel", gc=False):
    """The three parts of an object as JSON."""

    metadata: msgspec.Raw = _EMPTY
    spec: msgspec.Raw = _EMPTY
    status: msgspec.Raw = _EMPTY


class ObjectParts(PodParts, rename="camel", gc=False):
    """An object's kind and parts; of a list, its items, and what is said of a snapshot's."""

    kind: str | None = None
    api_version: str | None = None
    items: list[msgspec.Raw] | msgspec.UnsetType | None = msgspec.UNSET
    snapshot: msgspec.Raw = _EMPTY


class _Object(msgspec.Struct):
    """Any object: msgspec checks the syntax and skips all fields."""


_parts = msgspec.json.Decoder(ObjectParts | list[msgspec.Raw])
_scanner = msgspec.json.Decoder(_Object | list[msgspec.Raw])


class Source(Struct, frozen=True):
    """The text of a file, without gzip's packing.

    name:      its path, or "standard input", for messages
    in_folder: it was found in a folder and may hold anything
    """

    name: str
    content: bytes | StoredBytes
    in_folder: bool = False

    @property
    def data(self) -> bytes:
        """Return the whole text."""
        stored = self.content
        return stored if isinstance(stored, bytes) else stored.read(0, stored.size)

    @property
    def start(self) -> bytes:
        """Return the beginning of its content."""
        stored = self.content
        return stored[:_START] if isinstance(stored, bytes) else stored.read(0, _START)


class NoObjectError(InputError):
    """A source has no content."""


class Document(Struct, frozen=True):
    """One document of a source as JSON.

    index:      in the source, from 0
    duplicates: keys that are written twice; known of YAML only
    pieces:     where its parts are in the text, of YAML that was read piece by piece
    start:      of JSON, where it begins in the source's bytes
    parts:      of JSON, what finding its end has read of it already, if anything
    """

    source: Source
    index: int
    data: msgspec.Raw
    duplicates: tuple[Duplicate, ...] = ()
    pieces: YamlPieces | None = None
    start: int = 0
    parts: ObjectParts | list[msgspec.Raw] | None = None


def documents(source: Source) -> Iterator[Document]:
    """Split a source. Raises InputError where it is not UTF-8, or neither JSON nor YAML,
    NoObjectError where it is empty."""
    data = source.data
    # Stripping copies the text, so the whole is stripped only if its beginning is blank.
    if not data[:_START].strip() and not data.strip():
        hint = "Expected YAML or JSON objects."
        raise NoObjectError(source.name, "the file is empty", hint=hint)
    if looks_like_json(source):
        yield from _json_documents(source, data)
    else:
        yield from _yaml_documents(source)


def looks_like_json(source: Source) -> bool:
    """Return whether the text begins with a brace or a bracket."""
    return source.start.removeprefix(_UTF8_BOM).lstrip()[:1] in (b"{", b"[")


def _json_documents(source: Source, text: bytes) -> Iterator[Document]:
    """Yield one or several values of JSON, with nothing between them but whitespace and logs."""
    if not text.isascii():
        decode_text(text, source.name)
    data = text.removeprefix(_UTF8_BOM)
    rest, index = memoryview(data), 0
    while rest.nbytes:
        if logs := _LOGS_START.match(rest):
            rest = rest[_end_of_logs(source, data, len(data) - rest.nbytes, logs) :]
            continue
        try:
            end, parts = _first_value(rest)
        except RecursionError:
            raise InputError(source.name, "nested too deeply") from None
        except msgspec.DecodeError as error:
            # YAML's flow style begins as JSON does, in a file with YAML's suffix.
            offset = len(data) - rest.nbytes
            if source.name.removesuffix(".gz").endswith((".yaml", ".yml")) and not offset:
                yield from _yaml_documents(source)
                return
            match, message = _AT_BYTE.fullmatch(str(error)), str(error)
            if match is None:
                problem = f"not JSON: {message[:1].lower()}{message[1:]}; is the file complete?"
                raise InputError(source.name, problem) from None
            before = data[: offset + int(match[2])].decode("utf-8", "replace")
            position = position_at(before, len(before))
            raise InputError(source.name, f"not JSON: {match[1]}", position=position) from None
        start = len(text) - rest.nbytes
        yield Document(source, index, msgspec.Raw(rest[:end]), start=start, parts=parts)
        rest, index = rest[end:], index + 1


def _end_of_logs(source: Source, data: bytes, offset: int, start: re.Match[bytes]) -> int:
    """Return the length of a container's logs, from offset, with the lines around them. Raises
    InputError if they have no end."""
    end = b"==== END" + start[1]
    position = data.find(end, offset + start.end())
    if position < 0:
        text = data[:offset].decode("utf-8", "replace")
        problem = "a container's logs have no end marker; is the file complete?"
        raise InputError(source.name, problem, position=position_at(text, len(text)))
    position += len(end)
    blank = _BLANK.match(data, position)
    return (blank.end() if blank else position) - offset


def _first_value(rest: memoryview) -> tuple[int, ObjectParts | list[msgspec.Raw] | None]:
    """Return the length of the first JSON value, and its parts if it is the only one. Raises
    DecodeError if there is none."""
    try:
        return rest.nbytes, _parts.decode(rest)
    except msgspec.ValidationError:
        pass
    except msgspec.DecodeError as error:
        return _before_trailing(error), None
    try:
        _scanner.decode(rest)
    except msgspec.ValidationError:
        pass  # JSON, but neither an object nor an array, which the decoder reports
    except msgspec.DecodeError as error:
        return _before_trailing(error), None
    return rest.nbytes, None


def _before_trailing(error: msgspec.DecodeError) -> int:
    """Return the length of a value that something follows. Raises any other error."""
    match = _AT_BYTE.fullmatch(str(error))
    if match is None or match[1] != _TRAILING:
        raise error
    return int(match[2]) - 1  # msgspec has read one byte beyond the value


def _yaml_documents(source: Source) -> Iterator[Document]:
    # Brings the YAML parsers along, which JSON need not wait for.
    from ksched_cli.cluster.loading.yaml_documents import json_documents

    text = decode_text(source.data, source.name)
    index = -1
    try:
        for index, document in enumerate(json_documents(text)):
            yield Document(source, index, document.data, document.duplicates, document.pieces)
    except YamlError as error:
        raise yaml_failure(error, source.name) from None
    except (RecursionError, ValueError):
        raise InputError(source.name, "nested too deeply") from None
    if index < 0:
        problem = "the file has no object, only comments or empty documents"
        raise NoObjectError(source.name, problem)
