"""Node selectors and node affinity, parsed once.

Everything parsed is frozen and hashable, so that answers can be cached by selector.

Upstream: component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from ksched_cli.cluster.objects import (
    NodeSelector,
    NodeSelectorTerm,
    PodSpec,
    PreferredSchedulingTerm,
    StorageClass,
)
from ksched_cli.kube.field_errors import child
from ksched_cli.kube.formatting import aggregate
from ksched_cli.kube.selectors import (
    IN,
    Requirement,
    Selector,
    SelectorError,
    selector_of_map,
    term_errors,
)

NODE_NAME_FIELD = "metadata.name"


class NodeTerm(Struct, frozen=True):
    """One term of a node selector.

    labels, fields: requirements on the node's labels, and on its name (In or NotIn, one value)
    errors:         why it cannot be parsed; such a term matches no node
    """

    labels: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()
    errors: tuple[str, ...] = ()

    def matches(self, name: str, labels: Mapping[str, str]) -> bool:
        if self.errors:
            return False
        return all(r.matches(labels) for r in self.labels) and self.matches_name(name)

    def matches_name(self, name: str) -> bool:
        return all(
            ((name if r.key == NODE_NAME_FIELD else "") == r.values[0]) == (r.operator == IN)
            for r in self.fields
        )


class NodeTerms(Struct, frozen=True):
    """Terms of which one must match; without terms no node matches.

    Upstream: nodeaffinity.LazyErrorNodeSelector.
    """

    terms: tuple[NodeTerm, ...]

    def matches(self, name: str, labels: Mapping[str, str]) -> bool:
        """Return whether any term matches. Raises SelectorError if no term matches and some cannot
        be parsed."""
        if any(term.matches(name, labels) for term in self.terms):
            return True
        if self.error:
            raise SelectorError(self.error)
        return False

    @property
    def error(self) -> str:
        """Return the error in the terms that cannot be parsed, or ""."""
        errors = [error for term in self.terms for error in term.errors]
        return aggregate(errors) if errors else ""


def node_terms(selector: NodeSelector, path: str = "") -> NodeTerms:
    """Parse a node selector. Empty terms match nothing and are left out.

    path: where the selector stands, for the text of errors
    """
    base = child(path, "nodeSelectorTerms")
    return NodeTerms(
        tuple(
            _node_term(term, f"{base}[{i}]")
            for i, term in enumerate(selector.node_selector_terms)
            if not _is_empty(term)
        )
    )


def _is_empty(term: NodeSelectorTerm) -> bool:
    return not term.match_expressions and not term.match_fields


def _node_term(term: NodeSelectorTerm, path: str) -> NodeTerm:
    errors = tuple(error.text() for error in term_errors(term, path))
    if errors:
        return NodeTerm(errors=errors)
    labels, fields = (
        tuple(Requirement(e.key, e.operator, e.values) for e in expressions)
        for expressions in (term.match_expressions, term.match_fields)
    )
    return NodeTerm(tuple(sorted(labels, key=lambda requirement: requirement.key)), fields)


class RequiredNodeAffinity(Struct, frozen=True):
    """A pod's requirements on a node: its nodeSelector, and its required node affinity if any."""

    labels: Selector
    affinity: NodeTerms | None

    def matches(self, name: str, labels: Mapping[str, str]) -> bool:
        """Return whether a node matches. Raises SelectorError as NodeTerms.matches does."""
        if not self.labels.matches(labels):
            return False
        return self.affinity is None or self.affinity.matches(name, labels)


def required_node_affinity(spec: PodSpec) -> RequiredNodeAffinity:
    """Return what a pod's node selector and required node affinity demand. Upstream:
    nodeaffinity.GetRequiredNodeAffinity."""
    required = spec.required_nodes
    return RequiredNodeAffinity(
        selector_of_map(spec.node_selector), node_terms(required) if required else None
    )


class PreferredTerm(Struct, frozen=True):
    weight: int
    term: NodeTerm


def preferred_terms(
    terms: Sequence[PreferredSchedulingTerm], path: str = ""
) -> tuple[PreferredTerm, ...]:
    """Return the terms that can add to a score. Raises SelectorError with all errors.

    Upstream: nodeaffinity.NewPreferredSchedulingTerms.
    """
    parsed = [
        PreferredTerm(preferred.weight, _node_term(preferred.preference, f"{path}[{i}]"))
        for i, preferred in enumerate(terms)
        if preferred.weight and not _is_empty(preferred.preference)
    ]
    errors = [error for preferred in parsed for error in preferred.term.errors]
    if errors:
        raise SelectorError(aggregate(errors))
    return tuple(parsed)


def allowed_topologies(storage_class: StorageClass) -> NodeTerms:
    """Return where a class allows volumes. Terms without requirements match nothing. Upstream:
    MatchTopologySelectorTerms."""
    terms = [term.match_label_expressions for term in storage_class.allowed_topologies]
    return NodeTerms(
        tuple(
            NodeTerm(
                tuple(Requirement(expression.key, IN, expression.values) for expression in term)
            )
            for term in terms
            if term
        )
    )
