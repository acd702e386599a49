"""Words that every answer writes alike: counts, lists, escaped names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


def counted(count: int, noun: str, plural: str = "") -> str:
    """Return `1 node`, `4,451 nodes`. plural: where it is not the noun and an s"""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def more(count: int, noun: str) -> str:
    """Return `1 more group of pods`, `3 more groups of pods`. noun: in the plural, or empty"""
    if count == 1:
        noun = re.sub(r"s\b", "", noun, count=1)
    return f"{count:,} more {noun}".rstrip()


def verb(count: int, singular: str, plural: str) -> str:
    """Return the form of a verb that agrees with the count."""
    return singular if count == 1 else plural


def enumerated(names: Sequence[str], last: str = "and") -> str:
    """Return `a`, `a and b`, `a, b and c`."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {last} {names[-1]}"


def listed(names: Sequence[str], most: int | None = None) -> str:
    """Return the names in a sentence; the first `most` and a count of the others where that leaves
    out at least two."""
    if most is None or len(names) <= most + 1:
        return enumerated(names)
    return f"{', '.join(names[:most])} and {len(names) - most:,} more"


def with_counts(counts: Mapping[str, int]) -> tuple[str, ...]:
    """Return the names in their order, each with its count in parentheses where that is not one."""
    return tuple(name if count == 1 else f"{name} ({count:,})" for name, count in counts.items())


def grouped(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """Return the second of each pair by the first, both in their order."""
    groups: dict[K, list[V]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def printable(text: str) -> str:
    """Escape control characters: names and messages come from others."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char == "\n" else char.encode("unicode_escape").decode()
        for char in text
    )


def marked(name: str, chosen: str) -> str:
    """Return the name of a node, with a mark where it is the chosen one."""
    return f"{name} (chosen)" if name == chosen else name


def percent(share: float) -> str:
    """Round a share, but to 100% and 0% only where they are exact."""
    rounded = round(share * 100)
    if rounded == 100 and share != 1:
        rounded = 99 if share < 1 else 101
    return "<1%" if rounded == 0 and share else f"{rounded}%"
