"""Keeps what a plugin did wrong, so that the run goes on and the defect can still be shown."""

from __future__ import annotations

import traceback
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Defect:
    """An exception that a plugin let out. detail: the traceback."""

    plugin: str
    point: str
    problem: str
    detail: str


@dataclass(slots=True)
class Guard:
    """Defects in the order they happened, each plugin, point and problem once."""

    defects: dict[tuple[str, str, str], Defect] = field(default_factory=dict)

    def note(self, plugin: str, point: str, error: Exception) -> str:
        """Keeps the traceback; gives the words for the status."""
        problem = f"{type(error).__name__}: {error}"
        detail = "".join(traceback.format_exception(error))
        self.defects.setdefault((plugin, point, problem), Defect(plugin, point, problem, detail))
        return f"plugin {plugin} failed in {point}: {problem}"
