"""Codes in place of the parts of names, which are what is between their dots, dashes and slashes.

Most codes are drawn: their order says nothing. Names that plugins sort by get codes in the order of
their parts. Dots, dashes and slashes stay, and are before every letter and digit, so that whole
names keep their order too. Between any two such codes there is room for another: parts that come
later get codes that fit in.
"""

from __future__ import annotations

import os
import re
from bisect import bisect
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from secrets import choice
from typing import NamedTuple

import msgspec
from msgspec import Struct

from ksched_cli.errors import InputError
from ksched_cli.kube.streams import LIMIT

# Without vowels, so that no bad words come about, as in names that Kubernetes generates.
ALPHABET = "bcdfghjklmnpqrstvwxz"
# A single underscore is part of a part; two separate the zones of a volume's label.
PART = re.compile(r"[^\W_]+(?:_[^\W_]+)*")

_SORTED_CODE = re.compile(rf"[{ALPHABET}]*[{ALPHABET[1:]}]")  # see code_between
# A drawn code ends in the letter in which no other ends.
_DRAWN_END = ALPHABET[0]
_DRAWN_CODE = re.compile(rf"[{ALPHABET}]+{_DRAWN_END}")
_SPARE = 16  # how many times as many codes there are as parts, at least
_UNKNOWN = "unknown"  # in place of a part that was never collected
_DIGIT = {letter: digit for digit, letter in enumerate(ALPHABET)}


class Codebook:
    """The code of each part, drawn."""

    def __init__(self, codes: Mapping[str, str] | None = None) -> None:
        """codes: of a key that exists; they stay"""
        self._codes = dict(codes or {})
        self._new: set[str] = set()

    def collect(self, text: str) -> None:
        """Collect the parts of a text, which `assign` gives codes."""
        self._new.update(PART.findall(text))

    def assign(self) -> None:
        """Assign codes to all parts that were collected and have none."""
        parts = sorted(self._new.difference(self._codes))
        self._new.clear()
        if parts:
            self._assign(parts)

    def _assign(self, parts: list[str]) -> None:
        used, length = set(self._codes.values()), 1
        while len(ALPHABET) ** length < _SPARE * (len(used) + len(parts)):
            length += 1
        for part in parts:
            while (code := "".join(choice(ALPHABET) for _ in range(length)) + _DRAWN_END) in used:
                pass
            used.add(code)
            self._codes[part] = code

    def renamed(self, text: str, public: frozenset[str] = frozenset()) -> str:
        """Return the text with codes for its parts; public: parts that stay."""
        codes = self._codes
        return PART.sub(
            lambda match: match[0] if match[0] in public else codes.get(match[0], _UNKNOWN), text
        )

    def as_mapping(self) -> dict[str, str]:
        return {part: self._codes[part] for part in sorted(self._codes)}

    @staticmethod
    def is_valid(codes: Mapping[str, str]) -> bool:
        """Return whether these are codes of parts of names."""
        return (
            all(PART.fullmatch(part) for part in codes)
            and all(_DRAWN_CODE.fullmatch(code) for code in codes.values())
            and len(set(codes.values())) == len(codes)
        )


class SortedCodebook(Codebook):
    """Codes in the order of their parts."""

    def __init__(self, codes: Mapping[str, str] | None = None) -> None:
        super().__init__(codes)
        self._ordered = sorted(self._codes)

    def _assign(self, parts: list[str]) -> None:
        begin = 0
        while begin < len(parts):
            # Those that come into one place among the parts that have codes.
            place = bisect(self._ordered, parts[begin])
            low = self._codes[self._ordered[place - 1]] if place else ""
            end, high = len(parts), ""
            if place < len(self._ordered):
                following = self._ordered[place]
                end, high = bisect(parts, following, begin), self._codes[following]
            self._spread(parts[begin:end], low, high)
            self._ordered[place:place] = parts[begin:end]
            begin = end

    def _spread(self, parts: list[str], low: str, high: str) -> None:
        """Assign codes between two others, to the middle part first, so that all are short."""
        if not parts:
            return
        middle = len(parts) // 2
        code = self._codes[parts[middle]] = code_between(low, high)
        self._spread(parts[:middle], low, code)
        self._spread(parts[middle + 1 :], code, high)

    @staticmethod
    def is_valid(codes: Mapping[str, str]) -> bool:
        """Return whether these are codes of parts of names, in the order of the parts."""
        in_order = [codes[part] for part in sorted(codes)]
        return (
            all(PART.fullmatch(part) for part in codes)
            and all(_SORTED_CODE.fullmatch(code) for code in in_order)
            and all(low < high for low, high in pairwise(in_order))
        )


def code_between(low: str, high: str) -> str:
    """Return a short code after `low` and before `high`; "" for no bound. No code ends in the first
    letter, before which there would be no room."""
    code = ""
    while True:
        place = len(code)
        least = _DIGIT[low[place]] if place < len(low) else 0
        most = _DIGIT[high[place]] if place < len(high) else (0 if high else len(ALPHABET))
        middle = (least + most) // 2
        if middle > least:
            return code + ALPHABET[middle]
        code += ALPHABET[least]
        if least < most:
            high = ""  # what follows is before it in any case


_KIND, _API_VERSION = "RedactionKey", "ksched/v1"


class Codes(NamedTuple):
    """drawn: of most names; in_order: of those that plugins sort by"""

    drawn: Codebook
    in_order: SortedCodebook

    @classmethod
    def empty(cls) -> Codes:
        return cls(Codebook(), SortedCodebook())


class _Key(Struct, rename="camel"):
    """parts: part of a name → its code. sorted_parts: of names that plugins sort by. names: kind →
    redacted name → name."""

    kind: str
    api_version: str = _API_VERSION
    parts: dict[str, str] = {}
    sorted_parts: dict[str, str] = {}
    names: dict[str, dict[str, str]] = {}


def read_key(path: str) -> Codes:
    """Read the codes of a key: none if there is no path, no such file yet, or a device or pipe,
    which a key can only be written to. Raises InputError for anything that is not a key."""
    file = Path(path)
    if not path or not os.path.exists(file) or not (file.is_file() or file.is_dir()):
        return Codes.empty()
    try:
        with file.open("rb") as opened:
            key = msgspec.json.decode(LIMIT.read(opened, path), type=_Key)
    except OSError as error:
        raise InputError(path, f"the key cannot be read: {error.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(path, f"this is not a redaction key: {error}") from None
    if key.kind != _KIND:
        raise InputError(path, f'this is not a redaction key: its kind is "{key.kind}"')
    if not (Codebook.is_valid(key.parts) and SortedCodebook.is_valid(key.sorted_parts)):
        raise InputError(
            path, "this is not a redaction key that ksched wrote: its codes were changed"
        )
    return Codes(Codebook(key.parts), SortedCodebook(key.sorted_parts))


def key_text(codes: Codes, names: Iterable[tuple[str, str, str]]) -> bytes:
    """Return the text of a key. names: kind, redacted name and name of each object."""
    by_kind: dict[str, dict[str, str]] = {}
    for kind, after, before in names:
        by_kind.setdefault(kind, {})[after] = before
    drawn, in_order = (each.as_mapping() for each in codes)
    key = _Key(_KIND, parts=drawn, sorted_parts=in_order, names=by_kind)
    return msgspec.json.format(msgspec.json.encode(key), indent=1) + b"\n"
