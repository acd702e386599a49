"""Node labels as columns: a code per node and key, made on first use, never changing in a run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ksched_cli.cluster.objects import Node

Mask = NDArray[np.bool_]

MISSING = -1


class LabelColumn(Struct, frozen=True):
    """codes[row] is the index in `values` of the node's value, or MISSING, which finds the last
    entry of a table that has one entry more than `values`."""

    codes: NDArray[np.intp]
    values: tuple[str, ...]
    index: dict[str, int]

    @property
    def present(self) -> Mask:
        return self.codes != MISSING

    def isin(self, values: Sequence[str]) -> Mask:
        """Return the nodes whose value is one of `values`."""
        codes = [self.index[value] for value in dict.fromkeys(values) if value in self.index]
        if not codes:
            return np.zeros(len(self.codes), dtype=np.bool_)
        if len(codes) == 1:
            return self.codes == codes[0]
        return np.isin(self.codes, codes)


class LabelColumns:
    """The columns of all label keys asked for so far."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = nodes
        self._columns: dict[str, LabelColumn] = {}

    def __getitem__(self, key: str) -> LabelColumn:
        column = self._columns.get(key)
        if column is None:
            column = self._columns[key] = self._make(key)
        return column

    def _make(self, key: str) -> LabelColumn:
        values = [node.metadata.labels.get(key) for node in self._nodes]
        present = (value for value in dict.fromkeys(values) if value is not None)
        index = {value: code for code, value in enumerate(present)}
        coded = (MISSING if value is None else index[value] for value in values)
        column = np.fromiter(coded, np.intp, len(values))
        return LabelColumn(column, tuple(index), index)
