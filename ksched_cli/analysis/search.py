"""A search that may take long, and can be asked for its best answer so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic

# Takes how much is done, of how much, 0 where nobody knows, and the best answer so far or "".
OnStep = Callable[[int, int, str], None]

# So many copies of a pod are counted by default.
MAX_COPIES = 10_000


@dataclass(slots=True)
class Search:
    """When a search ends, and who hears of its steps.

    time_limit: seconds after which it ends with what it has; 0 for none
    reserve: seconds that its answer takes once it ends, which are part of the limit
    clock: seconds
    """

    time_limit: float = 0
    reserve: float = 0
    on_step: OnStep | None = None
    clock: Callable[[], float] = monotonic
    _is_interrupted: bool = False
    _began: float = field(init=False)
    _why: str = ""

    def __post_init__(self) -> None:
        self._began = self.clock()

    def interrupt(self) -> None:
        """Have it end with what it has."""
        self._is_interrupted = True

    def is_short(self) -> bool:
        """Return whether what is reserved does not fit in the limit any more."""
        took = self.clock() - self._began
        return bool(self.time_limit) and took + self.reserve >= self.time_limit

    def why(self) -> str:
        """Return why it is to end with what it has, or ""; it stays so."""
        if not self._why:
            if self._is_interrupted:
                self._why = "interrupted"
            elif self.is_short():
                self._why = f"the time limit of {self.time_limit:g} s was reached"
        return self._why

    def stops(self) -> bool:
        """Return whether it is to end with what it has."""
        return bool(self.why())

    def step(self, done: int, total: int = 0, best: str = "") -> None:
        """Tell how far it is."""
        if self.on_step is not None:
            self.on_step(done, total, best)
