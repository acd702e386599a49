"""Documents cut to a size that an agent can read, with how to ask for the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import msgspec

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
            return {key: self.of(item, f"{pointer}/{_escaped(key)}") for key, item in items}
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


def _escaped(key: str) -> str:
    """Return the text escaped by RFC 6901."""
    return key.replace("~", "~0").replace("/", "~1")


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
