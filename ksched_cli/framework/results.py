"""The answers of plugins: PreFilter's for the pod, others' for many nodes.

Arrays have one element per node, in the order of the nodes.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from ksched_cli.framework.status import SUCCESS, Status

# So many distinct statuses are looked for among all nodes; those of nodes with others, one by one.
LOOKED_UP_MAX = 8

Mask: TypeAlias = NDArray[np.bool_]
Ids: TypeAlias = NDArray[np.int32]
Scores: TypeAlias = NDArray[np.int64]


class PreFilterOutcome(Struct, frozen=True):
    """What the PreFilter plugins answered together.

    node_names:  the only nodes left, None for all
    narrowed_by: the plugins that chose them
    """

    status: Status = SUCCESS
    node_names: frozenset[str] | None = None
    narrowed_by: tuple[str, ...] = ()


class Verdicts(Struct):
    """The Filter statuses of n nodes.

    ids:      shape (n,); ids[i] is the index in `statuses` of the i-th node's status
    statuses: the distinct statuses; the first is success, so a node with id 0 passes
    """

    ids: Ids
    statuses: list[Status] = field(default_factory=lambda: [SUCCESS])

    @classmethod
    def passing(cls, count: int) -> Verdicts:
        """Return verdicts that let every node pass."""
        return cls(np.zeros(count, dtype=np.int32))

    @classmethod
    def rejecting(cls, rejected: Mask, status: Status) -> Verdicts:
        """Return verdicts with `status` for the nodes where `rejected` is true; the others pass."""
        return cls(rejected.astype(np.int32), [SUCCESS, status])

    @classmethod
    def of(cls, answers: list[Status]) -> Verdicts:
        """Return the verdicts of a list of one status per node."""
        # Lists are compared by identity first, and no further than to a difference.
        if answers == [SUCCESS] * len(answers):
            return cls.passing(len(answers))
        table: dict[Status, int] = {SUCCESS: 0}
        # Most nodes get one of a few statuses, and hashing each costs more than all the rest. An
        # array of objects holds their addresses, which CPython's `id` returns.
        keys = np.frombuffer(np.fromiter(answers, np.object_, len(answers)), np.intp)
        ids = np.zeros(len(keys), dtype=np.int32)
        left = (keys != id(SUCCESS)).nonzero()[0]
        for _ in range(LOOKED_UP_MAX):
            if not len(left):
                break
            answer = answers[left[0]]
            is_same = keys[left] == id(answer)
            if not answer.is_success:
                ids[left[is_same]] = table.setdefault(answer, len(table))
            left = left[~is_same]
        for index in left.tolist():
            answer = answers[index]
            if not answer.is_success:
                ids[index] = table.setdefault(answer, len(table))
        return cls(ids, list(table))

    def reject(self, rejected: Mask, status: Status) -> None:
        """Set `status` for the nodes where `rejected` is true and that passed so far."""
        if len(self.statuses) == 1:
            self.ids = rejected.astype(np.int32)
        else:
            self.ids[rejected & (self.ids == 0)] = len(self.statuses)
        self.statuses.append(status)
