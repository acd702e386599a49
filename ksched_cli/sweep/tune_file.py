"""Reads a file of kind Tune."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ksched_cli.sweep.materials import ChangeSet
from ksched_cli.sweep.patches import PatchPath
from ksched_cli.sweep.sweep_file import (
    DEFAULT_CONFIGURATION,
    FileDocument,
    NamedPaths,
    changes_of,
    path_of,
    read_document,
    seeds_of,
    states_of,
)

TRIALS = 50
_LIMIT = 2**53  # whole numbers up to here are floats, too


@dataclass(frozen=True, slots=True)
class Dimension:
    """What may vary at a path in the configuration: one of `values`, or a number between `low` and
    `high`, a whole one where both are; is_log: small numbers are tried as often as large ones"""

    name: str
    path: PatchPath
    values: tuple[Any, ...] = ()
    low: float = 0
    high: float = 0
    is_log: bool = False

    @property
    def is_whole(self) -> bool:
        return isinstance(self.low, int) and isinstance(self.high, int)


@dataclass(frozen=True, slots=True)
class Objective:
    """goal: minimize or maximize"""

    metric: str
    goal: str


@dataclass(frozen=True, slots=True)
class TuneFile:
    """held_out_states: that no trial sees; none where the trials' states are asked about again
    seeds, held_out_seeds: None for the first node by name
    sampler_seed: makes the search repeatable
    """

    path: str
    states: tuple[NamedPaths, ...]
    held_out_states: tuple[NamedPaths, ...]
    configuration: NamedPaths
    change_sets: tuple[ChangeSet, ...]
    minor: str
    seeds: tuple[int | None, ...]
    held_out_seeds: tuple[int | None, ...]
    dimensions: tuple[Dimension, ...]
    objectives: tuple[Objective, ...]
    trials: int
    sampler_seed: int
    retries: bool = True


def read_tune(path: str) -> TuneFile:
    """Raises InputError with line and column."""
    document = read_document(path, "Tune")
    data = document.data
    held_out = data.get("heldOut", {})
    seeds = seeds_of(data)
    held_out_states: tuple[NamedPaths, ...] = ()
    if "states" in held_out:
        held_out_states = states_of(document, held_out["states"])
    file = data.get("configuration")
    configuration = NamedPaths(file or DEFAULT_CONFIGURATION, ())
    if file:
        configuration = NamedPaths(file, (document.from_here(file),))
    return TuneFile(
        path,
        states_of(document, data["states"]),
        held_out_states,
        configuration,
        changes_of(document),
        data.get("kubernetesVersion", ""),
        seeds,
        _held_out_seeds(document, seeds, held_out),
        _dimensions(document, data["space"]),
        tuple(Objective(item["metric"], item["goal"]) for item in data["objectives"]),
        data.get("trials", TRIALS),
        data.get("samplerSeed", 0),
        not data.get("noRetries", False),
    )


def _held_out_seeds(
    document: FileDocument, seeds: Sequence[int | None], held_out: Mapping[str, Any]
) -> tuple[int | None, ...]:
    """Those of the file, else as many that no trial has. Raises InputError where nothing would be
    held out."""
    taken = [seed for seed in seeds if seed is not None]
    if isinstance(held_out.get("seeds"), list):
        return tuple(held_out["seeds"])
    if taken:
        first = max(taken) + 1
        return tuple(range(first, first + held_out.get("seeds", len(taken))))
    if "seeds" in held_out:
        return tuple(range(held_out["seeds"]))
    if "states" in held_out:
        return (None,)
    raise document.error(
        "nothing is held out to judge the result by: expected `heldOut: {states: […]}`, or `seeds`,"
        " of which others are taken then"
    )


def _dimensions(
    document: FileDocument, entries: Sequence[Mapping[str, Any]]
) -> tuple[Dimension, ...]:
    dimensions: list[Dimension] = []
    for index, entry in enumerate(entries):
        path = path_of(document, entry["path"], "space", index, "path")
        name = entry.get("name", entry["path"])
        if any(other.name == name for other in dimensions):
            raise document.error(f'"{name}" is there twice', "space", index)
        if "values" in entry:
            dimensions.append(Dimension(name, path, tuple(entry["values"])))
            continue
        low, high = entry["between"]
        if not all(abs(bound) <= _LIMIT for bound in (low, high)):
            raise document.error("expected numbers up to 2^53", "space", index, "between")
        if low > high or (low <= 0 and entry.get("log")):
            expected = "the least and the most, above 0 with log"
            raise document.error(f"expected {expected}", "space", index, "between")
        is_log = entry.get("log", False)
        dimensions.append(Dimension(name, path, low=low, high=high, is_log=is_log))
    return tuple(dimensions)
