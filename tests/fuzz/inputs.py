"""An input of a command, and a kind of them."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Input:
    """One mutated file and the command line that reads it."""

    name: str
    data: bytes
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Subject:
    """make: from randomness and the folder that the file will be written to, an input."""

    name: str
    make: Callable[[random.Random, Path], Input]


def put_beside(folder: Path, *files: Path) -> None:
    """Links to the files that an input names by their path from it."""
    for file in files:
        target = folder / file.name
        if not target.exists():
            target.symlink_to(file)
