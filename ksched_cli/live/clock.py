"""The time of what a watch notices."""

from __future__ import annotations

import time
from threading import Lock


class SteadyClock:
    """Wall time that never goes back: where the machine's clock is set back, it goes on from the
    last time at the pace of the monotonic clock. May be asked by several threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._last = self._steady = 0.0

    def now(self) -> float:
        """Return seconds since 1970."""
        with self._lock:
            wall, steady = time.time(), time.monotonic()
            self._last = max(wall, self._last + steady - self._steady if self._last else 0.0)
            self._steady = steady
            return self._last


CLOCK = SteadyClock()
