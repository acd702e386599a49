"""Rejects nodes that the pod's node selector or required affinity excludes; prefers preferred ones.

Upstream: plugins/nodeaffinity/node_affinity.go.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ksched_cli.cluster.node_affinity import (
    NODE_NAME_FIELD,
    NodeTerms,
    PreferredTerm,
    RequiredNodeAffinity,
    node_terms,
    preferred_terms,
    required_node_affinity,
)
from ksched_cli.cluster.objects import (
    Node,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PodSpec,
    PreferredSchedulingTerm,
    plain_fields,
)
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.topology.node_selection import (
    matches_any,
    matches_required,
    preferred_weights,
)
from ksched_cli.framework.cluster_events import NODE, Action, ClusterEvent, Registration
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interface import PreFilterResult, Proposal, Proposes, Scope
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.results import Scores, Verdicts
from ksched_cli.framework.status import SKIP, SUCCESS, PluginError, Status
from ksched_cli.kube.near_names import near_key
from ksched_cli.kube.selectors import DOES_NOT_EXIST, EXISTS, IN, NOT_IN, Requirement, SelectorError
from ksched_cli.plugins import args as args_types
from ksched_cli.plugins.controllers import GIVEN_LABELS
from ksched_cli.plugins.helper import (
    FilteringPlugin,
    Fragments,
    PreFiltered,
    ScoringPlugin,
    default_normalize_score,
    sign_node_affinity,
)

REASON = Status.unresolvable("node(s) didn't match Pod's node affinity/selector")
ENFORCED_REASON = Status.unresolvable("node(s) didn't match scheduler-enforced node affinity")
CONFLICT = Status.unresolvable("pod affinity terms conflict")


class NodeAffinity(FilteringPlugin, ScoringPlugin, Proposes):
    name = "NodeAffinity"
    scope = Scope.NODE
    normalizes_by_min_max = True

    def __init__(self, args: args_types.NodeAffinityArgs, handle: Handle) -> None:
        added = args.added_affinity or args_types.NodeAffinity()
        self._added_required = None
        if added.required is not None:
            terms = tuple(map(_term, added.required.node_selector_terms or ()))
            self._added_required = node_terms(NodeSelector(node_selector_terms=terms))
        preferred = ((term.weight, _term(term.preference)) for term in added.preferred or ())
        self._added_preferred = preferred_terms(
            [PreferredSchedulingTerm(weight=w, preference=term) for w, term in preferred]
        )

    def sign_pod(self, pod: PodInfo) -> Fragments:
        return sign_node_affinity(pod)

    def cache_key(self, pod: PodInfo) -> Hashable:
        affinity = pod.spec.affinity
        own_affinity = None if affinity is None else affinity.node_affinity
        return own_affinity, tuple(sorted(pod.spec.node_selector.items()))

    def events_to_register(self) -> Iterable[Registration]:
        yield ClusterEvent(NODE, Action.ADD | Action.UPDATE_NODE_LABEL), self._after_node_change

    def _after_node_change(self, pod: PodInfo, old: Node | None, new: Node) -> bool:
        """Return whether the node matches now, and did not before. Raises SelectorError, which is a
        yes."""
        added = self._added_required
        if added is not None and not _is_selected(added, new):
            return False
        required = required_node_affinity(pod.spec)
        if not required.matches(new.name, new.metadata.labels):
            return False
        return old is None or not required.matches(old.name, old.metadata.labels)

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> PreFiltered:
        required = pod.spec.required_nodes
        if required is None and self._added_required is None and not pod.spec.node_selector:
            return None, SKIP
        if required is None or not required.node_selector_terms:
            return None, SUCCESS
        names = named_nodes(required.node_selector_terms)
        if names is None:
            return None, SUCCESS
        if not names:
            return None, CONFLICT
        return PreFilterResult(names), SUCCESS

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        if self._added_required is not None and not _is_selected(self._added_required, node.object):
            return ENFORCED_REASON
        return SUCCESS if _is_selected(required_node_affinity(pod.spec), node.object) else REASON

    def filter_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Verdicts:
        verdicts = Verdicts.passing(len(nodes))
        if self._added_required is not None:
            allowed = matches_any(nodes.snapshot, self._added_required)
            verdicts.reject(~nodes.gather(allowed), ENFORCED_REASON)
        allowed = matches_required(nodes.snapshot, required_node_affinity(pod.spec))
        verdicts.reject(~nodes.gather(allowed), REASON)
        return verdicts

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Status:
        _preferred_terms(pod.spec)
        affinity = pod.spec.affinity and pod.spec.affinity.node_affinity
        has_own = affinity and affinity.preferred_during_scheduling_ignored_during_execution
        return SUCCESS if has_own or self._added_preferred else SKIP

    def score_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Scores:
        terms = (*self._added_preferred, *_preferred_terms(pod.spec))
        return np.array(nodes.gather(preferred_weights(nodes.snapshot, terms)))

    def normalize_scores(
        self, state: CycleState, pod: PodInfo, nodes: Nodes, scores: Scores
    ) -> Scores:
        return default_normalize_score(scores)

    def explain_filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> list[str]:
        lines = [
            f"it requires {key}={value}, the node has {label_text(node, key)}"
            for key, value in pod.spec.node_selector.items()
            if node.labels.get(key) != value
        ]
        required = pod.spec.required_nodes
        if required and not matches_any(node.snapshot, node_terms(required))[node.row]:
            terms = required.node_selector_terms
            line = f"it requires {terms_text(terms)}{labels_text(terms, node)}"
            lines.append(line if terms else "the required affinity has no terms")
        return lines

    def propose(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Iterator[Proposal]:
        if self._added_required is not None and not _is_selected(self._added_required, node.object):
            return
        unmet = {k: v for k, v in pod.spec.node_selector.items() if node.labels.get(k) != v}
        required = pod.spec.required_nodes
        terms = required.node_selector_terms if required else ()
        if required and (node_terms(required).error or not terms):
            return
        if required and matches_any(node.snapshot, node_terms(required))[node.row]:
            terms = ()
        # The DaemonSet controller names the node that it makes a pod for, and deletes others there.
        if pod.pod.owner[0] == "DaemonSet" and any(each.match_fields for each in terms):
            return
        yield from proposals(node, unmet, terms, pod.spec.runtime_class_name)


def _preferred_terms(spec: PodSpec) -> tuple[PreferredTerm, ...]:
    """Return the pod's own preferred terms. Raises PluginError where one does not parse."""
    affinity = spec.affinity and spec.affinity.node_affinity
    if not affinity:
        return ()
    try:
        return preferred_terms(affinity.preferred_during_scheduling_ignored_during_execution)
    except SelectorError as error:
        raise PluginError(str(error)) from None


def named_nodes(terms: tuple[NodeSelectorTerm, ...]) -> frozenset[str] | None:
    """Return the nodes that the terms name by metadata.name, or None where a term names none."""
    names: frozenset[str] = frozenset()
    for term in terms:
        name_sets = [
            frozenset(requirement.values)
            for requirement in term.match_fields
            if requirement.key == NODE_NAME_FIELD and requirement.operator == IN
        ]
        if not name_sets:
            return None
        names |= frozenset.intersection(*name_sets)
    return names


def _is_selected(selector: NodeTerms | RequiredNodeAffinity, node: Node) -> bool:
    """Return whether the node matches; it does not where the terms cannot be parsed."""
    try:
        return selector.matches(node.name, node.metadata.labels)
    except SelectorError:
        return False


def _term(term: args_types.NodeSelectorTerm) -> NodeSelectorTerm:
    """Convert the configuration's type to the cluster's."""
    expressions, fields = (
        tuple(
            NodeSelectorRequirement(r.key, r.operator, r.values or ()) for r in requirements or ()
        )
        for requirements in (term.match_expressions, term.match_fields)
    )
    return NodeSelectorTerm(match_expressions=expressions, match_fields=fields)


def label_text(node: NodeInfo, key: str) -> str:
    """Return the node's label as key=value, or that the node has none."""
    return f"{key}={node.labels[key]}" if key in node.labels else f"no {key}"


def terms_text(terms: Sequence[NodeSelectorTerm]) -> str:
    """Return the requirements of terms of which one must match."""
    all_requirements = [(*term.match_expressions, *term.match_fields) for term in terms]
    parts = [
        [f"{each.key} {each.operator} {','.join(each.values)}".strip() for each in requirements]
        for requirements in all_requirements
    ]
    brackets = len(parts) > 1 and any(len(part) > 1 for part in parts)
    joined = (" and ".join(part) for part in parts)
    return " or ".join(f"({text})" if brackets else text for text in joined)


def labels_text(terms: Sequence[NodeSelectorTerm], node: NodeInfo) -> str:
    """Return those of the node's labels that the terms ask about, to follow them."""
    keys = dict.fromkeys(each.key for term in terms for each in term.match_expressions)
    labels = ", ".join(label_text(node, key) for key in keys)
    return f", the node has {labels}" if labels else ""


# -- proposals -------------------------------------------------------------------------------------
#
# Changes that would make a node match a pod's selector: other labels on it, or another
# selector.


def proposals(
    node: NodeInfo,
    unmet: Mapping[str, str],
    terms: Sequence[NodeSelectorTerm],
    runtime_class: str,
) -> Iterator[Proposal]:
    """Yield proposals of node labels or changes of the pod's affinity with which the node matches.

    unmet: of the nodeSelector
    terms: of which the node matches none, or () where it matches
    runtime_class: the pod's; when a pod is created, its nodeSelector gets that of its RuntimeClass
    """
    term = min(terms, key=lambda each: len(_unmet(each, node)), default=None)
    expressions = _unmet(term, node) if term is not None else []
    names_other = term is not None and any(
        (node.name in each.values) != (each.operator == IN) for each in term.match_fields
    )
    labels: dict[str, str | None] = {**unmet}
    # A label that meets each requirement, None to remove it; nothing where it compares numbers.
    for expression in expressions:
        if expression.operator == IN:
            labels[expression.key] = expression.values[0]
        elif expression.operator == EXISTS:
            labels[expression.key] = "true"
        elif expression.operator in (NOT_IN, DOES_NOT_EXIST):
            labels[expression.key] = None
    is_labelled = len(labels) == len({*unmet, *(each.key for each in expressions)})
    if is_labelled and not names_other and not any(key.startswith(GIVEN_LABELS) for key in labels):
        arguments = [
            f"{key}-" if value is None else f"{key}={value}" for key, value in labels.items()
        ]
        overwrites = any(value is not None and key in node.labels for key, value in labels.items())
        arguments += ["--overwrite"] if overwrites else []
        line = f"label nodes {node.name} {' '.join(arguments)}"
        label_texts = [
            f"remove the label {key} from {node.name}"
            if value is None
            # A new value of a label may take the node away from others that select it.
            else f"label {node.name} {key}={value}"
            + (f" instead of {node.labels[key]}" if key in node.labels else "")
            for key, value in labels.items()
        ]
        kind = "relabel" if overwrites or None in labels.values() else "label"
        yield Proposal(kind, " and ".join(label_texts), (line,), amount=len(labels))
    # The nodeSelector has what the node has instead, be it the value or the key; nothing where the
    # node lacks a label.
    texts: list[str] = []
    selector: dict[str, str | None] = {}
    unless = f" unless RuntimeClass {runtime_class} adds it" if runtime_class else ""
    for key, value in unmet.items():
        selector[key] = node.labels.get(key)
        if key in node.labels:
            text = f"select {key}={node.labels[key]} instead of {value}"
        elif near := _near_key(key, (value,), node):
            selector[near] = value
            text = f"select {near}={value} instead of {key}={value}"
        else:
            text = f"do not select {key}={value}"
        texts.append(text + unless)
    patch: dict[str, Any] = {"nodeSelector": selector} if unmet else {}
    if terms:
        own, more = _with_term(node, terms, term)
        patch |= own
        texts += more
    labels_of: list[tuple[str, Sequence[str]]] = [(key, (value,)) for key, value in unmet.items()]
    labels_of += [(each.key, each.values) for each in expressions if each.operator == IN]
    unlikeness = sum(_unlikeness_of_label(key, values, node) for key, values in labels_of if values)
    # Where values are equally alike, the one that more nodes have comes first.
    codes_of = [node.snapshot.labels[key].codes for key, _ in labels_of if key in node.labels]
    rarity = sum(0.01 * float((codes != codes[node.row]).mean()) for codes in codes_of)
    text, amount = " and ".join(texts), len(texts) + unlikeness + rarity
    yield Proposal("selector", text, patch={"spec": patch}, amount=amount)


def _unlikeness_of_label(key: str, values: Sequence[str], node: NodeInfo) -> float:
    """Return 0 for labels that are spelled as one of the node's, up to 1."""
    if key in node.labels:
        from difflib import SequenceMatcher  # which only proposals need

        # The nearest value is the likeliest to be meant.
        own = node.labels[key].casefold()
        return min(1 - SequenceMatcher(None, each.casefold(), own).ratio() for each in values)
    return 0.5 if _near_key(key, values, node) else 1


def _near_key(key: str, values: Sequence[str], node: NodeInfo) -> str:
    """Return the node's label that has one of the values and nearly the key, or ""."""
    return near_key(key, (each for each, value in node.labels.items() if value in values))


def _unmet(term: NodeSelectorTerm, node: NodeInfo) -> list[NodeSelectorRequirement]:
    return [
        each
        for each in term.match_expressions
        if not Requirement(each.key, each.operator, each.values).matches(node.labels)
    ]


def _with_term(
    node: NodeInfo, terms: Sequence[NodeSelectorTerm], nearest: NodeSelectorTerm | None
) -> tuple[dict[str, Any], list[str]]:
    """Return the patch of the required affinity, in which the nearest term matches the node."""
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
    if is_open and len(terms) > 1:
        texts = ["do not require its node affinity"]
    return {"affinity": {"nodeAffinity": {required: value}}}, texts


def _met(
    expression: NodeSelectorRequirement, node: NodeInfo, texts: list[str]
) -> NodeSelectorRequirement | None:
    """Return the requirement as the node meets it: with the node's value besides the others, or a
    key that is nearly the same, else none."""
    key, values = expression.key, expression.values
    if expression.operator == IN and key in node.labels:
        texts.append(f"allow {key}={node.labels[key]} besides {', '.join(values)}")
        return NodeSelectorRequirement(key, IN, (*values, node.labels[key]))
    near = _near_key(key, values, node)
    if expression.operator == IN and near:
        texts.append(f"require {near} instead of {key}")
        return NodeSelectorRequirement(near, IN, values)
    texts.append(f"do not require {' '.join((key, expression.operator, *values))}")
    return None
