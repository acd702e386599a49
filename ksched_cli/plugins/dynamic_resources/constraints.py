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
        if value is None or (self.count and not self._is_satisfied_by(value)):
            return False
        if not self.count:
            self.value = value
        self.count += 1
        return True

    def _is_satisfied_by(self, value: AttributeValue) -> bool:
        if self.constraint.kind == DISTINCT_ATTRIBUTE:
            # Upstream compares pointers to the values, so that the values of two devices differ.
            return value[0] != ""
        return value[0] != "" and value == self.value

    def remove(self, request: RequestAlternative) -> None:
        if self.constraint.applies_to(request):
            self.count -= 1


class DistinctState(ConstraintState):
    """distinctAttribute where values are compared. values: per request, of its last device."""

    __slots__ = ("values",)

    def __init__(self, constraint: Constraint) -> None:
        super().__init__(constraint)
        self.values: dict[str, AttributeValue] = {}

    def add(self, request: RequestAlternative, value: AttributeValue | None) -> bool:
        """Upstream keeps one value per request: of more devices, only the last one's counts."""
        if not self.constraint.applies_to(request):
            return True
        if value is None or (self.count and not self._is_distinct(value)):
            return False
        self.values[request.base_name] = value
        self.count += 1
        return True

    def _is_distinct(self, value: AttributeValue) -> bool:
        values = self.values.values()
        return value not in values and (value[0] != "" or not values)

    def remove(self, request: RequestAlternative) -> None:
        if self.constraint.applies_to(request):
            self.values.pop(request.base_name, None)
            self.count -= 1


class EveryDistinctState(ConstraintState):
    """distinctAttribute where every device counts. values: of all devices, in order."""

    __slots__ = ("values",)

    def __init__(self, constraint: Constraint) -> None:
        super().__init__(constraint)
        self.values: list[AttributeValue] = []

    def add(self, request: RequestAlternative, value: AttributeValue | None) -> bool:
        if not self.constraint.applies_to(request):
            return True
        values = self.values
        if value is None or value in values or (values and value[0] == ""):
            return False
        values.append(value)
        return True

    def remove(self, request: RequestAlternative) -> None:
        if self.constraint.applies_to(request):
            self.values.pop()


def constraint_state(constraint: Constraint, rules: Rules) -> ConstraintState:
    if constraint.kind != DISTINCT_ATTRIBUTE or not rules.compares_distinct_values:
        return ConstraintState(constraint)
    return (EveryDistinctState if rules.remembers_distinct_values else DistinctState)(constraint)
