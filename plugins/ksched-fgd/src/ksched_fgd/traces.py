"""The files of a trace: what each pod asks for and what each node has, a line each, as CSV.

Upstream: data/README.md says what the columns are, data/pod_csv_to_yaml.py how they become pods.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from ksched_fgd.gpu_requests import MILLI, GpuRequest

T = TypeVar("T")


class TraceError(ValueError):
    """A file of a trace that cannot be read; its text names the file and the line."""


@dataclass(frozen=True, slots=True)
class TracePod:
    """cpu: in thousandths; memory: in MiB."""

    name: str
    cpu: int
    memory: int
    gpus: GpuRequest


@dataclass(frozen=True, slots=True)
class TraceNode:
    """cpu: in thousandths; memory: in MiB; gpus: how many; model: of all of them, or ""."""

    name: str
    cpu: int
    memory: int
    gpus: int
    model: str


def read_pods(path: Path) -> list[TracePod]:
    """In order of name. Raises TraceError."""
    return sorted(_read(path, _pod), key=lambda pod: pod.name)


def read_nodes(path: Path) -> list[TraceNode]:
    """In order of name. Raises TraceError."""
    return sorted(_read(path, _node), key=lambda node: node.name)


def _read(path: Path, decode: Callable[[Mapping[str, str]], T]) -> list[T]:
    try:
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file, restval="")
            items = []
            for row in reader:
                try:
                    items.append(decode(row))
                except KeyError as error:
                    raise TraceError(f"{path}: there is no column {error}") from None
                except ValueError as error:
                    raise TraceError(f"{path}, line {reader.line_num}: {error}") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise TraceError(f"{path} cannot be read: {error}") from None
    if not items:
        raise TraceError(f"{path} has no lines but the first, which names the columns")
    return items


def _pod(row: Mapping[str, str]) -> TracePod:
    count = int(row["num_gpu"])
    gpus = GpuRequest()
    if count:
        models = "|".join(model for model in row.get("gpu_spec", "").split("|") if model)
        gpus = GpuRequest(count, min(int(row["gpu_milli"]), MILLI), models)
    return TracePod(row["name"], int(row["cpu_milli"]), int(row["memory_mib"]), gpus)


def _node(row: Mapping[str, str]) -> TraceNode:
    return TraceNode(
        row["sn"], int(row["cpu_milli"]), int(row["memory_mib"]), int(row["gpu"]), row["model"]
    )
