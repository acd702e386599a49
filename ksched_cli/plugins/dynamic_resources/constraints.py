"""Constraints over the devices of one claim, as devices are taken and given back.

Upstream: dynamic-resource-allocation/structured/internal/experimental (allocator_experimental.go,
matchAttributeConstraint; constraint.go, distinctAttributeConstraint).
"""

from __future__ import annotations

from ksched_cli.plugins.dynamic_resources.requests import (
    DISTINCT_ATTRIBUTE,
    Constraint,
    RequestAlternative,
)
from ksched_cli.plugins.dynamic_resources.view import AttributeValue


class ConstraintState:
    """A constraint, and how many devices it holds together. value: the first one's."""

    __slots__ = ("constraint", "count", "value")

    def __init__(self, constraint: Constraint) -> None:
        self.constraint = constraint
        self.count = 0
        self.value: AttributeValue | None = None

    def add(self, request: RequestAlternative, value: AttributeValue | None) -> bool:
        """Whether a device for the request goes with those that are there; if so, it is added."""
        if not self.constraint.concerns(request):
            return True
        if value is None or (self.count and not self._goes_with(value)):
            return False
        if not self.count:
            self.value = value
        self.count += 1
        return True

    def _goes_with(self, value: AttributeValue) -> bool:
        if self.constraint.kind == DISTINCT_ATTRIBUTE:
            # Upstream compares where the values lie in memory, so that no two devices are alike.
            return value[0] != ""
        return value[0] != "" and value == self.value

    def remove(self, request: RequestAlternative) -> None:
        if self.constraint.concerns(request):
            self.count -= 1
