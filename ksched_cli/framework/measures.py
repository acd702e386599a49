"""The contract of a plugin that adds figures to the rows of a sweep."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping

from ksched_cli.framework.interface import Plugin


class Measures(Plugin):
    """Adds figures to the rows of `ksched sweep`."""

    @abstractmethod
    def metrics(self) -> Mapping[str, float]:
        """Figures of the run by name; a row has them as NAME-OF-THE-PLUGIN.NAME. Called once, after
        the run."""

    def measure(self, now: float) -> None:
        """Called in a replay after each instant at which something happened, and at its end: what
        the plugin sees is true from `now` on, in seconds since 1970, until the next call."""
