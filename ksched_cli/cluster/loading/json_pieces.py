"""Large lists of JSON, read piece by piece.

A piece is as many items as a block of the file holds. The end of a piece is guessed from how the
first item begins. The decoder confirms the guess: text between two items and commas that is a list
of values is these items, as JSON can be read in one way only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

import msgspec

from ksched_cli.cluster.loading.sources import Document, Source
from ksched_cli.kube.stored_bytes import StoredBytes, StoredJson

BLOCK = 1 << 18
# Where the items begin and end is looked for in so many bytes of the file's ends.
EDGE = 1 << 16
# So many guesses are tried before the file is read as a whole.
_MAX_GUESSES = 20
_BEGIN = re.compile(rb'"items"\s*:\s*\[(\s*)\{\s*"\w+"')


class UnusualFormError(Exception):
    """A file cannot be read piece by piece, be it wrong or just written in an unusual way."""


class _List(msgspec.Struct):
    kind: str = ""
    items: list[msgspec.Raw] | None = None


_list = msgspec.json.Decoder(_List)
_items = msgspec.json.Decoder(list[msgspec.Raw])


class JsonPieces:
    """The items of a list in a source.

    document: the list without its items
    """

    def __init__(
        self, source: Source, stored: StoredBytes, outline: bytes, ends: tuple[int, int], gap: bytes
    ) -> None:
        """ends: where the items begin and end; gap: what is between two of them, and the beginning
        of the second"""
        self.document = Document(source, 0, msgspec.Raw(outline))
        self._stored, self._ends, self._gap = stored, ends, gap

    def items(self) -> Iterator[tuple[msgspec.Raw, StoredJson]]:
        """Yield each as it was read, and as it can be read again. Raises UnusualFormError."""
        start, end = self._ends
        while start < end:
            piece, items = self._piece(start)
            offset = 0
            for item in items:
                view = memoryview(item)
                if view[0] != ord("{"):
                    raise UnusualFormError
                offset = piece.index(b"{", offset)
                yield item, StoredJson(self._stored, start + offset, view.nbytes)
                offset += view.nbytes
            start += len(piece) + 1  # and its comma

    def _piece(self, start: int) -> tuple[bytes, list[msgspec.Raw]]:
        end, length = self._ends[1], BLOCK
        while True:
            block = self._stored.read(start, min(length, end - start))
            is_last = start + len(block) >= end
            cuts = [len(block)] if is_last else list(islice(self._cuts(block), _MAX_GUESSES))
            for cut in cuts:
                piece = block[:cut]
                try:
                    if not piece.isascii():
                        piece.decode()
                    return piece, _items.decode(b"[%b]" % piece)
                except RecursionError:
                    raise UnusualFormError from None
                except (msgspec.DecodeError, UnicodeDecodeError):
                    continue
            if is_last or cuts:
                raise UnusualFormError
            length *= 2

    def _cuts(self, block: bytes) -> Iterator[int]:
        """Yield where its items may end, from the last on."""
        cut = len(block)
        while (cut := block.rfind(self._gap, 0, cut)) >= 0:
            yield cut + 1


def pieces_of(source: Source) -> JsonPieces | None:
    """Return the pieces; None if it is small, or something else than one list."""
    stored = source.content
    if isinstance(stored, bytes) or stored.size < 2 * EDGE:
        return None
    head, tail = stored.read(0, EDGE), stored.read(stored.size - EDGE, EDGE)
    begin = _BEGIN.search(head)
    if begin is None:
        return None
    start, end = begin.start(1), len(tail)
    for _ in range(_MAX_GUESSES):
        end = tail.rfind(b"]", 0, end)
        if end < 0:
            return None
        outline = head[:start] + tail[end:]
        try:
            value = _list.decode(outline)
        except (msgspec.DecodeError, RecursionError):
            continue
        if value.items == [] and value.kind.endswith("List") and outline.count(b'"items"') == 1:
            first = head[begin.start(1) : begin.end()]
            ends = (start, stored.size - len(tail) + end)
            return JsonPieces(source, stored, outline, ends, b"}," + first)
    return None
