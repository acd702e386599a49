"""A plugin's answer: a code, its reasons, and the plugin's name.

Upstream: k8s.io/kube-scheduler/framework/interface.go (Code, Status).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum


class Code(IntEnum):
    """kube-scheduler's status codes, with its numbers."""

    SUCCESS = 0
    ERROR = 1
    UNSCHEDULABLE = 2
    UNSCHEDULABLE_AND_UNRESOLVABLE = 3
    WAIT = 4
    SKIP = 5
    PENDING = 6

    @property
    def text(self) -> str:
        """Return the name that kube-scheduler prints."""
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

# A global is read faster than a member of an Enum.
_SUCCESS, _SKIP, _WAIT = Code.SUCCESS, Code.SKIP, Code.WAIT

_REJECTIONS = frozenset({Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.PENDING})


@dataclass(frozen=True, slots=True)
class Status:
    """One answer of a plugin. Compare statuses with ==.

    reasons: the messages shown to users; plugin: the name, set by the runtime
    """

    code: Code = Code.SUCCESS
    reasons: tuple[str, ...] = ()
    plugin: str = ""

    @classmethod
    def unschedulable(cls, *reasons: str) -> Status:
        """Return a rejection that evicting pods from the node might lift."""
        return cls(Code.UNSCHEDULABLE, reasons)

    @classmethod
    def unresolvable(cls, *reasons: str) -> Status:
        """Return a rejection that no eviction can lift: preemption does not look at the node."""
        return cls(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, reasons)

    @classmethod
    def error(cls, message: str) -> Status:
        """Return the status of a plugin that failed; the pod's attempt ends."""
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
        """Return the same status with the plugin's name."""
        return Status(self.code, self.reasons, plugin)


@dataclass(frozen=True, slots=True)
class Rejection:
    """A plugin's rejection of a node. details: the numbers and names behind the status's reasons;
    empty where they were not requested."""

    status: Status
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Defect:
    """An exception that a plugin raised, or an invalid answer.

    detail: the traceback; pods: the keys of the pods it was asked about then, in that order
    assumes: the run went on as if the plugin had answered something
    """

    plugin: str
    point: str
    problem: str
    detail: str
    pods: dict[str, None] = field(default_factory=dict)
    assumes: bool = False


SUCCESS = Status()
SKIP = Status(Code.SKIP)


class MalformedError(Exception):
    """A plugin's answer is of the wrong type or length. It is reported without a traceback."""


class MutationError(Exception):
    """A plugin changed what it may only read."""


class PluginError(Exception):
    """A plugin cannot answer: the attempt ends with code Error and this message."""
