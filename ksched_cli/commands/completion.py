"""Completion of names of pods and nodes from the state that the line names.

Only files that are read in a moment; a state that is missing or broken completes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

MAX_BYTES = 20_000_000
MAX_YAML_BYTES = 1_000_000
POD_PREFIX = "pod/"
CANDIDATES = ("cluster.yaml", "cluster.yml", "cluster.json")


def complete_pod(context: typer.Context, incomplete: str) -> list[str]:
    """Names of pods, with their namespace, or pod/, where that is what was begun; of -n, only those
    of that namespace."""
    chosen = context.params.get("namespace")
    prefix = POD_PREFIX if incomplete.startswith(POD_PREFIX) else ""
    names = []
    for metadata in _metadata(context, "Pod"):
        name, namespace = metadata["name"], metadata.get("namespace", "default")
        if chosen and namespace != chosen:
            continue
        names.append(f"{namespace}/{name}" if "/" in incomplete and not prefix else prefix + name)
    return sorted({name for name in names if name.startswith(incomplete)})


def complete_node(context: typer.Context, incomplete: str) -> list[str]:
    names = {metadata["name"] for metadata in _metadata(context, "Node")}
    return sorted(name for name in names if name.startswith(incomplete))


def _metadata(context: typer.Context, kind: str) -> list[dict[str, Any]]:
    try:
        return [
            item["metadata"]
            for path in _paths(context)
            for item in _objects(path)
            if item.get("kind") == kind and "name" in item.get("metadata", {})
        ]
    except Exception:  # whatever is wrong is said when the command runs
        return []


def _paths(context: typer.Context) -> list[Path]:
    named = context.params.get("state") or os.environ.get("KSCHED_STATE", "").split()
    return [Path(name) for name in named] or [Path(n) for n in CANDIDATES if Path(n).is_file()]


def _objects(path: Path) -> Iterator[dict[str, Any]]:
    size = path.stat().st_size
    if path.suffix == ".json" and size <= MAX_BYTES:
        import json

        documents = [json.loads(path.read_bytes())]
    elif path.suffix in (".yaml", ".yml") and size <= MAX_YAML_BYTES:
        import yaml

        documents = list(yaml.load_all(path.read_bytes(), Loader=yaml.CSafeLoader))
    else:
        return
    for document in documents:
        yield from document.get("items", [document])
