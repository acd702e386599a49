"""Reads a small document of ksched's own: one per file, checked against its schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ksched_cli.errors import InputError
from ksched_cli.kube.document_schemas import check_document
from ksched_cli.kube.documents import decode_text, load_documents, locate, path_text, read_file
from ksched_cli.kube.formatting import DurationError, parse_duration
from ksched_cli.kube.time import SECOND

_MICROSECOND = 1_000  # nanoseconds
_MAX_SECONDS = 1e9

Path = tuple[str | int, ...]


def read_own_document(path: str, kind: str, hint: str, name: str = "") -> DocumentReader:
    """name: of the file in messages, its path by default; hint: what such a document begins with.

    Raises InputError, with line and column where the text has them.
    """
    raw, own = read_file(path)
    name = name or own
    text = decode_text(raw, name)
    documents = list(load_documents(text, name))
    if len(documents) != 1:
        raise InputError(name, f"expected one document, kind {kind}", hint=hint)
    check_document(documents[0], kind.lower(), text, name, hint)
    return DocumentReader(name, text, hint, documents[0])


@dataclass(frozen=True, slots=True)
class DocumentReader:
    """name, text: of the file; hint: of its errors; document: as the schema allows it"""

    name: str
    text: str
    hint: str
    document: Mapping[str, Any]

    def time(
        self, data: Mapping[str, Any], key: str, path: Path, default: int, least: int = 0
    ) -> int:
        """Microseconds of a number of seconds or of a duration as Go writes it."""
        value = data.get(key)
        if value is None:
            return default
        if isinstance(value, str):
            try:
                time = parse_duration(value) // _MICROSECOND
            except DurationError as error:
                raise self.error(
                    f"{error}; expected a time such as 90s or 1h30m", (*path, key)
                ) from None
        else:
            time = round(float(min(value, _MAX_SECONDS + 1)) * SECOND)
        if not least <= time <= _MAX_SECONDS * SECOND:
            bound = "at least a second" if least else "that is not negative, 1e9 seconds at most"
            raise self.error(f"expected a time {bound}", (*path, key))
        return time

    def error(self, problem: str, path: Path) -> InputError:
        """An error at a place in the document."""
        position = locate(self.text, 0, path)
        return InputError(
            self.name, problem, subject=path_text(path), position=position, hint=self.hint
        )
