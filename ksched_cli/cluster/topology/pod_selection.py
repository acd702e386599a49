"""The pods that a term or a constraint is about, as a value: equal ones share their counters.

Upstream: k8s.io/kube-scheduler/framework/types.go (AffinityTerm.Matches).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from msgspec import Struct

from ksched_cli.kube.selectors import IN, Requirement, Selector

LabelPair = tuple[str, str]


class Namespaces(Struct, frozen=True):
    """The namespaces of these names; with `others`, every namespace but these."""

    names: frozenset[str]
    others: bool = False

    def has(self, namespace: str) -> bool:
        return (namespace in self.names) != self.others

    def __str__(self) -> str:
        names = ", ".join(sorted(self.names))
        if not self.others:
            return f"namespace {names}" if len(self.names) == 1 else f"namespaces {names or 'none'}"
        return f"any namespace but {names}" if names else "any namespace"


class Clause(Struct, frozen=True):
    """Pods of some namespaces whose labels match."""

    namespaces: Namespaces
    selector: Selector

    def matches(self, namespace: str, labels: Mapping[str, str]) -> bool:
        return self.namespaces.has(namespace) and self.selector.matches(labels)

    def __str__(self) -> str:
        return f"{selector_text(self.selector)} in {self.namespaces}"


class PodSelection(Struct, frozen=True, dict=True):
    """Pods that match every clause. terminating: whether pods being deleted count."""

    clauses: tuple[Clause, ...]
    terminating: bool = True

    def matches(self, namespace: str, labels: Mapping[str, str]) -> bool:
        return all(clause.matches(namespace, labels) for clause in self.clauses)

    @cached_property
    def anchors(self) -> tuple[LabelPair, ...] | None:
        """Labels of which a matching pod has one, all of the same key; None: it may have any."""
        fewest: tuple[LabelPair, ...] | None = None
        for clause in self.clauses:
            if not clause.selector.selectable:
                return ()
            for requirement in clause.selector.requirements:
                fewer = fewest is None or len(requirement.values) < len(fewest)
                if requirement.operator == IN and fewer:
                    values = dict.fromkeys(requirement.values)
                    fewest = tuple((requirement.key, value) for value in values)
        return fewest

    def __str__(self) -> str:
        return " and ".join(map(str, self.clauses))


def combined(first: Selector, second: Selector) -> Selector:
    """Return the selector of what both match. Neither is the selector that matches nothing."""
    both = (*first.requirements, *second.requirements)
    return Selector(tuple(sorted(both, key=lambda requirement: requirement.key)))


def selector_text(selector: Selector) -> str:
    """Return the selector as kubectl writes it."""
    if not selector.selectable:
        return "nothing"
    return ",".join(map(_requirement_text, selector.requirements)) or "any labels"


def _requirement_text(requirement: Requirement) -> str:
    match requirement.operator:
        case "Exists":
            return requirement.key
        case "DoesNotExist":
            return f"!{requirement.key}"
        case "In" if len(requirement.values) == 1:
            return f"{requirement.key}={requirement.values[0]}"
        case operator:
            return f"{requirement.key} {operator.lower()} ({','.join(requirement.values)})"
