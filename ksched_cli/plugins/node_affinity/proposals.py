"""Changes that would make a node match a pod's selector: other labels on it, or another
selector."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ksched_cli.cluster.objects import (
    NodeSelectorRequirement,
    NodeSelectorTerm,
    plain_fields,
)
from ksched_cli.framework.interface import Proposal
from ksched_cli.framework.nodes import NodeInfo
from ksched_cli.kube.selectors import (
    DOES_NOT_EXIST,
    EXISTS,
    IN,
    NOT_IN,
    Requirement,
)

# The kubelet and the cloud's controllers set these as the machine is.
GIVEN_LABELS = (
    "kubernetes.io/hostname",
    "kubernetes.io/arch",
    "kubernetes.io/os",
    "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
)


def proposals(
    node: NodeInfo, unmet: Mapping[str, str], terms: Sequence[NodeSelectorTerm]
) -> Iterator[Proposal]:
    """unmet: of the nodeSelector; terms: of which the node matches none, or () where it matches"""
    term = min(terms, key=lambda each: len(_unmet(each, node)), default=None)
    expressions = _unmet(term, node) if term is not None else []
    names_other = term is not None and any(
        (node.name in each.values) != (each.operator == IN) for each in term.match_fields
    )
    labels: dict[str, str | None] = {**unmet}
    for expression in expressions:
        labels |= _label_for(expression)
    is_labelled = len(labels) == len({*unmet, *(each.key for each in expressions)})
    if is_labelled and not names_other and not any(key in GIVEN_LABELS for key in labels):
        yield _labelled(node, labels)
    patch, texts = _selecting(node, unmet)
    if terms:
        own, more = _with_term(node, terms, term)
        patch |= own
        texts += more
    yield Proposal("selector", " and ".join(texts), patch={"spec": patch}, amount=len(texts))


def _unmet(term: NodeSelectorTerm, node: NodeInfo) -> list[NodeSelectorRequirement]:
    return [
        each
        for each in term.match_expressions
        if not Requirement(each.key, each.operator, each.values).matches(node.labels)
    ]


def _label_for(expression: NodeSelectorRequirement) -> dict[str, str | None]:
    """A label that meets the requirement, None to remove it; nothing where it compares numbers."""
    key, operator = expression.key, expression.operator
    if operator == IN:
        return {key: expression.values[0]}
    if operator == EXISTS:
        return {key: "true"}
    return {key: None} if operator in (NOT_IN, DOES_NOT_EXIST) else {}


def _labelled(node: NodeInfo, labels: Mapping[str, str | None]) -> Proposal:
    arguments = [f"{key}-" if value is None else f"{key}={value}" for key, value in labels.items()]
    overwrites = any(value is not None and key in node.labels for key, value in labels.items())
    line = f"label nodes {node.name} {' '.join(arguments)}{' --overwrite' if overwrites else ''}"
    texts = [
        f"remove the label {key} from {node.name}"
        if value is None
        # A new value of a label may take the node away from others that select it.
        else f"label {node.name} {key}={value}"
        + (f" instead of {node.labels[key]}" if key in node.labels else "")
        for key, value in labels.items()
    ]
    kind = "relabel" if overwrites or None in labels.values() else "label"
    return Proposal(kind, " and ".join(texts), (line,), amount=len(labels))


def _selecting(node: NodeInfo, unmet: Mapping[str, str]) -> tuple[dict[str, Any], list[str]]:
    """The patch of the nodeSelector: what the node has instead; nothing where it lacks a label."""
    if not unmet:
        return {}, []
    texts = [
        f"select {key}={node.labels[key]} instead of {value}"
        if key in node.labels
        else f"do not select {key}={value}"
        for key, value in unmet.items()
    ]
    return {"nodeSelector": {key: node.labels.get(key) for key in unmet}}, texts


def _with_term(
    node: NodeInfo, terms: Sequence[NodeSelectorTerm], nearest: NodeSelectorTerm | None
) -> tuple[dict[str, Any], list[str]]:
    """The patch of the required affinity, in which the nearest term matches the node."""
    texts: list[str] = []
    changed = []
    for term in terms:
        plain = plain_fields(term)
        if term is nearest:
            unmet = _unmet(term, node)
            expressions = [
                _met(each, node, texts) if each in unmet else each
                for each in term.match_expressions
            ]
            plain = {"matchExpressions": [plain_fields(each) for each in expressions if each]}
            fields = [f for f in term.match_fields if (node.name in f.values) == (f.operator == IN)]
            texts += ["do not name the node"] if len(fields) < len(term.match_fields) else []
            plain |= {"matchFields": [plain_fields(each) for each in fields]} if fields else {}
        changed.append(plain)
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    # A term without requirements matches nothing: without terms any node does.
    is_open = any(not any(plain.values()) for plain in changed)
    value = None if is_open else {"nodeSelectorTerms": changed}
    return {"affinity": {"nodeAffinity": {required: value}}}, texts


def _met(
    expression: NodeSelectorRequirement, node: NodeInfo, texts: list[str]
) -> NodeSelectorRequirement | None:
    """The requirement as the node meets it: with the node's value besides the others, else none."""
    key, values = expression.key, expression.values
    if expression.operator == IN and key in node.labels:
        texts.append(f"allow {key}={node.labels[key]} besides {', '.join(values)}")
        return NodeSelectorRequirement(key, IN, (*values, node.labels[key]))
    texts.append(f"do not require {' '.join((key, expression.operator, *values))}")
    return None
