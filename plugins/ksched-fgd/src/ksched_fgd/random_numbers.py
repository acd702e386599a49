"""The random numbers of a run."""

from __future__ import annotations

from ksched_cli.api import Handle
from ksched_fgd.go_random import GoRandom


class RandomNumbers:
    """`handle.service(RandomNumbers)`: plugins of one seed draw from one sequence."""

    def __init__(self, handle: Handle) -> None:
        self._by_seed: dict[int, GoRandom] = {}

    def of(self, seed: int) -> GoRandom:
        if seed not in self._by_seed:
            self._by_seed[seed] = GoRandom(seed)
        return self._by_seed[seed]
