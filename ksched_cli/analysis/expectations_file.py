"""Reads a file of expectations."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ksched_cli.analysis.expectations import (
    EvictedCount,
    Expectation,
    NodesUsed,
    PendingCount,
    PodsEvicted,
    PodsOn,
    PodsPending,
    Spread,
)
from ksched_cli.errors import InputError
from ksched_cli.kube.document_schemas import check_document
from ksched_cli.kube.documents import decode_text, load_documents, read_file

KIND = "Expectations"
_HINT = "Expected apiVersion: ksched/v1, kind: Expectations, `state`, and a list `expect`."


@dataclass(frozen=True, slots=True)
class ExpectationsFile:
    """path: of the file; states, config: paths from here, config "" for the default one;
    changes: as the file has them; kubernetes_version: "" where the file has none."""

    path: str
    states: tuple[str, ...]
    config: str
    changes: tuple[Any, ...]
    kubernetes_version: str
    expectations: tuple[Expectation, ...]


def read_expectations(path: str) -> ExpectationsFile:
    """Raises InputError with line and column."""
    raw, name = read_file(path)
    text = decode_text(raw, name)
    documents = list(load_documents(text, name))
    if len(documents) > 1:
        raise InputError(name, "expected one document, kind Expectations")
    document = _with_on(documents[0] if documents else None)
    check_document(document, "expectations", text, name, _HINT)
    assert isinstance(document, dict)
    folder = Path() if path == "-" else Path(path).parent
    states = document["state"]
    config = document.get("config", "")
    return ExpectationsFile(
        path,
        tuple(_from_here(folder, s) for s in ([states] if isinstance(states, str) else states)),
        _from_here(folder, config) if config else "",
        tuple(document.get("changes", ())),
        document.get("kubernetesVersion", ""),
        tuple(map(_expectation, document["expect"])),
    )


def _with_on(document: Any) -> Any:
    """The document with the key `on`, which YAML 1.1 reads as true, as it was written."""
    if not isinstance(document, dict) or not isinstance(document.get("expect"), list):
        return document
    entries = [
        {"on" if key == "true" else key: value for key, value in entry.items()}
        if isinstance(entry, dict)
        else entry
        for entry in document["expect"]
    ]
    return {**document, "expect": entries}


def _from_here(folder: Path, path: str) -> str:
    return os.path.normpath(folder / path)


def _expectation(entry: Mapping[str, Any]) -> Expectation:
    """Of an entry that is as the schema has it."""
    name = entry.get("name") or _described(entry)
    match entry:
        case {"pod": pods, "on": str(node)}:
            return PodsOn(name, pods, node, {})
        case {"pod": pods, "on": labels}:
            return PodsOn(name, pods, "", labels)
        case {"pod": pods, "pending": _}:
            return PodsPending(name, pods, entry.get("because", ""))
        case {"pod": pods, "evicted": evicted}:
            return PodsEvicted(name, pods, evicted)
        case {"pending": count}:
            return PendingCount(name, count)
        case {"evicted": count}:
            return EvictedCount(name, count)
        case {"nodesUsed": limits}:
            return NodesUsed(name, limits.get("atLeast"), limits.get("atMost"))
    spread = entry["spread"]
    return Spread(name, spread["pods"], spread["over"], spread["atMost"])


def _described(entry: Mapping[str, Any]) -> str:
    """The entry on one line, as `pod: web-*, on: node-1`."""
    return ", ".join(f"{key}: {_plain(value)}" for key, value in entry.items())


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return f"{{{_described(value)}}}"
    return str(value)
