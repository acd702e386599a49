"""Long names of nodes: the part that all of an answer's nodes end with is said once, and left out
everywhere else. No two names become equal by that."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from msgspec.structs import replace

from ksched_cli.report.view import (
    Command,
    Commands,
    Groups,
    Kind,
    Line,
    Section,
    Shown,
    Table,
    Tone,
    View,
)

T = TypeVar("T")

MIN_SHARED = 8  # characters; less is not worth a line that explains it


def with_short_names(view: View) -> View:
    """Return the view with the shared end of its nodes' names said once. Commands keep names as
    they are."""
    names = {*view.nodes, *_nodes_of(view.sections)} - {""}
    ending = shared_end(names)
    if not ending:
        return view
    # The name of a node, and no part of another word, such as a pod's name or an address; two that
    # differ still differ without the ending.
    pattern = re.compile(rf"(?<![\w.-])(?<!://)([\w.-]+?){re.escape(ending)}(?![\w-]|\.\w)")

    def shortened(name: re.Match[str]) -> str:
        return name[1] if name[0] in names else name[0]

    def short(text: str) -> str:
        return pattern.sub(shortened, text) if ending in text else text

    note = Line(f"node names end in {ending}", Tone.SOFT)
    return replace(
        view,
        title=short(view.title),
        lines=[*_mapped(list(view.lines), short), note],
        tiles=_mapped(list(view.tiles), short),
        sections=_mapped(list(view.sections), short),
    )


def shared_end(names: Iterable[str]) -> str:
    """Return what all names end with, from a dot on; "" where that is short or there is no second
    name."""
    names = [*names]
    if len(names) < 2:
        return ""
    backwards = [name[::-1] for name in names]
    least, most = min(backwards), max(backwards)
    length = next(
        (at for at, (left, right) in enumerate(zip(least, most, strict=False)) if left != right),
        min(len(least), len(most)),
    )
    ending = least[:length][::-1]
    at = ending.find(".")
    ending = ending[at:] if at >= 0 else ""
    return ending if len(ending) >= MIN_SHARED and ending not in names else ""


def _nodes_of(sections: Sequence[Section]) -> Iterable[str]:
    """Yield the names in the columns of nodes."""
    for section in sections:
        if isinstance(section, Groups):
            for block in section.blocks:
                yield from _nodes_of(block.sections)
        elif isinstance(section, Table):
            for index, column in enumerate(section.columns):
                if column.kind is Kind.NODE:
                    for row in section.rows:
                        cell = row[index]
                        # A count, or a mark of the chosen one, may follow a name.
                        for name in (cell,) if isinstance(cell, str) else cell or ():
                            yield name.partition(" (")[0]


def _mapped(value: T, short: Callable[[str], str]) -> T:
    """Return data with its texts shortened, but for commands and sections that keep names."""
    result: Any = value
    if isinstance(value, str):
        # A word of a fixed set, as a Tone, stays what it is.
        result = short(value) if type(value) is str else value
    elif isinstance(value, Commands | Command) or getattr(value, "keeps_names", False):
        result = value
    elif isinstance(value, Mapping):
        result = {key: _mapped(item, short) for key, item in value.items()}
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        result = type(value)(*(_mapped(item, short) for item in value))
    elif isinstance(value, tuple | list):
        result = [_mapped(item, short) for item in value]
        result = tuple(result) if isinstance(value, tuple) else result
    elif isinstance(value, Shown):
        names = value.__struct_fields__
        result = replace(value, **{name: _mapped(getattr(value, name), short) for name in names})
    return result
