"""Constraints over the devices of one claim, updated while devices are allocated and deallocated.

Upstream: dynamic-resource-allocation/structured/internal/experimental (allocator_experimental.go,
matchAttributeConstraint; constraint.go, distinctAttributeConstraint).
"""

from __future__ import annotations

from ksched_cli.kube.versions import Rules
from ksched_cli.plugins.dynamic_resources.requests import (
    DISTINCT_ATTRIBUTE,
    Constraint,
    RequestAlternative,
)
from ksched_cli.plugins.dynamic_resources.view import AttributeValue


class ConstraintState:
    """A constraint during allocation. count: the devices added; value: of the first of them."""

    __slots__ = ("constraint", "count", "value")

    def __init__(self, constraint: Constraint) -> None:
        self.constraint = constraint
        self.count = 0
        self.value: AttributeValue | None = None

    def add(self, request: RequestAlternative, value: AttributeValue | None) -> bool:
        """Adds a device of the request if the constraint allows it; whether it does."""
        if not self.constraint.applies_to(request):
            return True
        return value is not None and self._add(request, value)

    def _add(self, request: RequestAlternative, value: AttributeValue) -> bool:
        # Upstream compares pointers to distinct values, so that the values of two devices differ.
        is_distinct = self.constraint.kind == DISTINCT_ATTRIBUTE
        if self.count and (value[0] == "" or not (is_distinct or value == self.value)):
            return False
        if not self.count:
            self.value = value
        self.count += 1
        return True

    def remove(self, request: RequestAlternative) -> None:
        if self.constraint.applies_to(request):
            self._remove(request)

    def _remove(self, request: RequestAlternative) -> None:
        self.count -= 1


class DistinctState(ConstraintState):
    """distinctAttribute where values are compared. Upstream keeps one value per request: of more
    devices, only the last one's counts."""

    __slots__ = ("values",)

    def __init__(self, constraint: Constraint) -> None:
        super().__init__(constraint)
        self.values: dict[str, AttributeValue] = {}

    def _add(self, request: RequestAlternative, value: AttributeValue) -> bool:
        values = self.values.values()
        if self.count and (value in values or (value[0] == "" and values)):
            return False
        self.values[request.base_name] = value
        self.count += 1
        return True

    def _remove(self, request: RequestAlternative) -> None:
        self.values.pop(request.base_name, None)
        self.count -= 1


class EveryDistinctState(ConstraintState):
    """distinctAttribute where every device counts. values: of all devices, in order."""

    __slots__ = ("values",)

    def __init__(self, constraint: Constraint) -> None:
        super().__init__(constraint)
        self.values: list[AttributeValue] = []

    def _add(self, request: RequestAlternative, value: AttributeValue) -> bool:
        if value in self.values or (self.values and value[0] == ""):
            return False
        self.values.append(value)
        return True

    def _remove(self, request: RequestAlternative) -> None:
        self.values.pop()


def constraint_state(constraint: Constraint, rules: Rules) -> ConstraintState:
    if constraint.kind != DISTINCT_ATTRIBUTE or not rules.compares_distinct_values:
        return ConstraintState(constraint)
    return (EveryDistinctState if rules.remembers_distinct_values else DistinctState)(constraint)
