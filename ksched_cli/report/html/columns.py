"""The data of a page: columns of values, and the JSON that carries them in the page.

A column whose values repeat is a list of its terms and an index per row. Tens of thousands of pods
stay some hundred kilobytes that way.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

from ksched_cli.kube.job_commands import JSON, disarmed
from ksched_cli.report.words import printable

# Coded where there are at most half as many terms as rows.
ROWS_PER_TERM = 2
# In a script element, these could end it, or begin another; JSON has them in strings only.
UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


class CellKind(StrEnum):
    """How a column's values are shown, and sorted: text by its letters, all others as numbers.

    cpu: in thousandths of a core; bytes; share: per cent; duration: seconds
    verdict: "no", "passes" or points
    """

    TEXT = "text"
    NUMBER = "number"
    CPU = "cpu"
    BYTES = "bytes"
    SHARE = "share"
    DURATION = "duration"
    VERDICT = "verdict"


RESOURCE_KINDS = {
    "cpu": CellKind.CPU,
    "memory": CellKind.BYTES,
    "ephemeral-storage": CellKind.BYTES,
}


def resource_kind(resource: str) -> CellKind:
    """Return the kind of a resource's amounts, in the scheduler's units."""
    if resource.startswith("hugepages-"):
        return CellKind.BYTES
    return RESOURCE_KINDS.get(resource, CellKind.NUMBER)


def column(title: str, values: Iterable[Any], kind: CellKind = CellKind.TEXT) -> dict[str, Any]:
    """Return a column as plain data. values: None if a row has none"""
    if kind is CellKind.TEXT:
        values = [printable(value or "") for value in values]
    return {"title": printable(title), "kind": kind.value, **coded(list(values))}


def filled(columns: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the columns, without those that are empty in every row."""
    return [
        each
        for each in columns
        if any(value not in (None, "") for value in each.get("terms", each.get("values", ())))
    ]


def coded(values: Sequence[Any]) -> dict[str, Any]:
    """Return `values`, or `terms` and per row the `index` of its term."""
    index_of: dict[Any, int] = {}
    index = [index_of.setdefault(value, len(index_of)) for value in values]
    if len(index_of) * ROWS_PER_TERM > len(values):
        return {"values": values}
    return {"terms": list(index_of), "index": index}


def embedded(data: Mapping[str, Any]) -> str:
    """Return JSON, in ASCII, that stands in a script element as it is. References of HTML mean
    nothing there, so that what a CI job's runner would obey is escaped here."""
    text = json.dumps(data, separators=(",", ":"))
    for character, escape in UNSAFE.items():
        text = text.replace(character, escape)
    return disarmed(text, JSON)
