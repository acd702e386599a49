"""The positions of the pieces of a YAML text that were read by themselves: to find a line, only the
piece around it must be read again."""

from __future__ import annotations

from array import array

from msgspec import Struct

from ksched_cli.errors import Position
from ksched_cli.kube.documents import Path, locate


class YamlPieces(Struct, frozen=True):
    """A document and the items of its list, as offsets in the text, in characters.

    start, end: of the document
    items:      where each item begins, at the start of a line, and where the last one ends; empty
                where the document was read as one piece
    """

    start: int
    end: int
    items: array[int]

    def locate(self, text: str, path: Path) -> Position | None:
        """Locate as `locate` of the whole text does, with a path in this document."""
        begin, end = self.start, self.end
        if len(self.items) and len(path) > 1 and path[0] == "items" and isinstance(path[1], int):
            begin, end = self.items[path[1]], self.items[path[1] + 1]
            path = (0, *path[2:])
        position = locate(text[begin:end], 0, path)
        if position is None:
            return None
        return Position(text.count("\n", 0, begin) + position.line, position.column)
