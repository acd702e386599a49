"""A small document of ksched's own: one per file, decoded into its type."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from msgspec import UNSET, UnsetType

from ksched_cli.errors import InputError, KschedError, UsageError
from ksched_cli.kube.documents import decode_text, load_documents, locate, path_text, read_file
from ksched_cli.kube.file_parts import FilePart, decode_file, kind_of
from ksched_cli.kube.formatting import DurationError, parse_duration
from ksched_cli.kube.stored_bytes import unpacked
from ksched_cli.kube.time import SECOND

_MICROSECOND = 1_000  # nanoseconds
_MAX_SECONDS = 1e9
_File = TypeVar("_File", bound=FilePart)


@dataclass(frozen=True, slots=True)
class OwnDocument:
    """A file and the places in it.

    name:   of the file, for messages
    folder: that paths in the file are relative to
    data:   plain data, as the file has it
    """

    name: str
    text: str
    folder: Path
    data: Mapping[str, Any]

    def error(self, problem: str, *place: str | int) -> InputError:
        """Return an error at a place in the document."""
        subject = path_text(place)
        return InputError(self.name, problem, subject=subject, position=locate(self.text, 0, place))

    @contextmanager
    def at(self, *place: str | int, blames: type[KschedError] = UsageError) -> Iterator[None]:
        """Turn an error of this type in the block into one at a place in the document. An error
        without a place, of an option that is not of the file, stays."""
        try:
            yield
        except blames as error:
            if not place:
                raise
            raise self.error(str(error), *place) from None

    def from_here(self, path: str) -> str:
        """Return a path that is relative to the file; "" stays."""
        return os.path.normpath(self.folder / path) if path else ""

    def nanoseconds(self, duration: str, *place: str | int) -> int:
        """Return the nanoseconds of a duration as Go writes it, at a place in the document. Raises
        InputError."""
        try:
            return parse_duration(duration)
        except DurationError as error:
            problem = f"{error}; expected a time such as 90s or 1h30m"
            raise self.error(problem, *place) from None

    def time(
        self, value: float | str | UnsetType, default: int, *place: str | int, least: int = 0
    ) -> int:
        """Return the microseconds of a number of seconds, or of a duration, at a place in the
        document. Raises InputError."""
        if value is UNSET:
            return default
        if isinstance(value, str):
            time = self.nanoseconds(value, *place) // _MICROSECOND
        else:
            time = round(float(min(value, _MAX_SECONDS + 1)) * SECOND)
        if not least <= time <= _MAX_SECONDS * SECOND:
            bound = "at least a second" if least else "that is not negative, 1e9 seconds at most"
            raise self.error(f"expected a time {bound}", *place)
        return time


def read_own_document(
    path: str,
    file_type: type[_File],
    hint: str,
    name: str = "",
    adapted: Callable[[Any], Any] | None = None,
) -> tuple[OwnDocument, _File]:
    """Read a file. Return it with its content.

    file_type: of the content
    hint:      what such a document begins with
    name:      of the file in messages, its path by default
    adapted:   makes of what is in the file what the type is of
    Raises InputError, with line and column where the text has them.
    """
    raw, own = read_file(path)
    name = name or own
    text = decode_text(unpacked(raw, name), name)
    documents = list(load_documents(text, name))
    if len(documents) > 1:
        raise InputError(name, f"expected one document, kind {kind_of(file_type)}", hint=hint)
    data: Any = documents[0] if documents else None
    data = data if adapted is None else adapted(data)
    content = decode_file(data, file_type, text, name, hint)
    return OwnDocument(name, text, Path() if path == "-" else Path(path).parent, data), content
