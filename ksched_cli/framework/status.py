"""What a plugin answers: a code, its reasons, and who said it.

Upstream: k8s.io/kube-scheduler/framework/interface.go (Code, Status).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Code(IntEnum):
    """kube-scheduler's codes, by its own numbers."""

    SUCCESS = 0
    ERROR = 1
    UNSCHEDULABLE = 2
    UNSCHEDULABLE_AND_UNRESOLVABLE = 3
    WAIT = 4
    SKIP = 5
    PENDING = 6

    @property
    def text(self) -> str:
        """The name that kube-scheduler prints."""
        return _TEXTS[self]


_TEXTS = {
    Code.SUCCESS: "Success",
    Code.ERROR: "Error",
    Code.UNSCHEDULABLE: "Unschedulable",
    Code.UNSCHEDULABLE_AND_UNRESOLVABLE: "UnschedulableAndUnresolvable",
    Code.WAIT: "Wait",
    Code.SKIP: "Skip",
    Code.PENDING: "Pending",
}

# Found more quickly than members of the class.
_SUCCESS, _SKIP, _WAIT = Code.SUCCESS, Code.SKIP, Code.WAIT

_REJECTIONS = frozenset({Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.PENDING})


@dataclass(frozen=True, slots=True)
class Status:
    """One answer. Equal statuses are interchangeable; compare them with ==."""

    code: Code = Code.SUCCESS
    reasons: tuple[str, ...] = ()
    plugin: str = ""

    @classmethod
    def unschedulable(cls, *reasons: str) -> Status:
        """No, but pods that leave might change it."""
        return cls(Code.UNSCHEDULABLE, reasons)

    @classmethod
    def unresolvable(cls, *reasons: str) -> Status:
        """No, whatever pods leave: preemption does not look at the node."""
        return cls(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, reasons)

    @classmethod
    def error(cls, message: str) -> Status:
        """The question could not be answered; the pod's attempt ends."""
        return cls(Code.ERROR, (message,))

    @property
    def is_success(self) -> bool:
        return self.code == _SUCCESS

    @property
    def is_skip(self) -> bool:
        return self.code == _SKIP

    @property
    def is_wait(self) -> bool:
        return self.code == _WAIT

    @property
    def is_rejected(self) -> bool:
        return self.code in _REJECTIONS

    @property
    def message(self) -> str:
        return ", ".join(self.reasons)

    def by(self, plugin: str) -> Status:
        """The same answer with its author."""
        return Status(self.code, self.reasons, plugin)


@dataclass(frozen=True, slots=True)
class Rejection:
    """A plugin's rejection of a node. details: the numbers and names behind the status's reasons,
    where they are asked for."""

    status: Status
    details: tuple[str, ...] = ()


SUCCESS = Status()
SKIP = Status(Code.SKIP)


class MalformedError(Exception):
    """A plugin's answer is of the wrong type or length. The text says all: no traceback helps."""


class PluginError(Exception):
    """A plugin cannot answer: the attempt ends with code Error and this message."""
