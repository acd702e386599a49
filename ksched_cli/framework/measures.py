"""What a plugin implements that adds figures to the rows of a sweep."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping

from ksched_cli.framework.interface import Plugin


class Measures(Plugin):
    """Adds figures to the rows of `ksched sweep`. Called once, after the run."""

    @abstractmethod
    def metrics(self) -> Mapping[str, float]:
        """Figures of the run by name; a row has them as NAME-OF-THE-PLUGIN.NAME."""
