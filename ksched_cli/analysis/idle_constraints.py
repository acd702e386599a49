"""Constraints of a pod that do nothing: topology spread constraints that count no pod, and terms of
affinity that nothing can match. They are findings: the scheduler is silent about them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from contextlib import suppress
from itertools import chain

from ksched_cli.cluster.objects import Pod, PodAffinityTerm, PodSpec
from ksched_cli.cluster.state import ClusterState
from ksched_cli.cluster.topology.pod_index import selector_text
from ksched_cli.kube.selectors import (
    DOES_NOT_EXIST,
    IN,
    Requirement,
    Selector,
    SelectorError,
    label_selector,
)
from ksched_cli.kube.versions import Release
from ksched_cli.plugins.pod_topology_spread import MATCH_LABEL_KEYS, filter_constraints
from ksched_cli.scenario.owned_pods import owner_of


def idle_constraints(
    pod: Pod, state: ClusterState, release: Release, keys: Set[str] | None = None
) -> Iterator[str]:
    """Yield a sentence for each. What does not parse is left to the plugins. keys: of the nodes'
    labels; None: those of the state"""
    with suppress(SelectorError):
        for index, constraint in enumerate(pod.spec.topology_spread_constraints):
            (parsed,) = filter_constraints(
                [constraint],
                pod.metadata.labels,
                constraint.when_unsatisfiable,
                matches_keys=release.enabled(MATCH_LABEL_KEYS),
            )
            selector = parsed.selector
            if not selector.selectable:
                why = "it has no labelSelector"
            elif not selector.requirements and not release.rules.empty_selector_spreads:
                why = (
                    f"its labelSelector is empty, and Kubernetes {release.minor} then counts no pod"
                )
            elif any(
                other.namespace == pod.namespace and selector.matches(other.metadata.labels)
                for other in chain((pod,), state.pods)
            ):
                continue
            else:
                why = (
                    f"its labelSelector {selector_text(selector)} matches no pod of namespace "
                    f"{pod.namespace}, not even this one"
                )
            key = constraint.topology_key
            yield f"topologySpreadConstraints[{index}] over {key} spreads nothing: {why}"
    with suppress(SelectorError):
        yield from _affinity_terms(pod.spec, _label_keys(state) if keys is None else keys)


def _label_keys(state: ClusterState) -> set[str]:
    return {key for node in state.nodes for key in node.metadata.labels}


def idle_constraint_lines(
    state: ClusterState, release: Release, *, running: bool = False
) -> Iterator[str]:
    """Yield the sentences about the pods that wait, with the first pod of each workload. running:
    about those that run, too"""
    seen: set[tuple[str, str]] = set()
    keys = _label_keys(state)
    for pod in state.pods:
        workload = (pod.namespace, owner_of(pod))
        if (pod.node_name and not running) or pod.finished or workload in seen:
            continue
        seen.add(workload)
        for line in idle_constraints(pod, state, release, keys):
            yield f"{pod.namespace}/{pod.name}: {line}"


def _affinity_terms(spec: PodSpec, keys: Set[str]) -> Iterator[str]:
    """keys: of the nodes' labels"""
    affinity = spec.affinity
    if affinity is None:
        return
    for name, of_pods in (
        ("podAffinity", affinity.pod_affinity),
        ("podAntiAffinity", affinity.pod_anti_affinity),
    ):
        if of_pods is None:
            continue
        preferred = of_pods.preferred_during_scheduling_ignored_during_execution
        for kind, terms in (
            ("required", of_pods.required_during_scheduling_ignored_during_execution),
            ("preferred", tuple(each.pod_affinity_term for each in preferred)),
        ):
            for index, term in enumerate(terms):
                why = _why_never(term, keys)
                if why:
                    yield f"{name}, {kind} term {index}, can never match: {why}"
    required = spec.required_nodes
    for index, node_term in enumerate(required.node_selector_terms if required else ()):
        requirements = [
            Requirement(each.key, each.operator, each.values)
            for each in node_term.match_expressions
        ]
        why = _contradiction(requirements)
        if not node_term.match_expressions and not node_term.match_fields:
            why = "it is empty"
        if why:
            yield f"nodeAffinity, required term {index}, can never match: {why}"


def _why_never(term: PodAffinityTerm, keys: Set[str]) -> str:
    """Return why a term of pod affinity matches no pod in no domain; "" where one may."""
    selector: Selector = label_selector(term.label_selector)
    if not selector.selectable:
        return "it has no labelSelector"
    if keys and term.topology_key not in keys:
        return f"no node has the label {term.topology_key}, its topologyKey"
    return _contradiction(selector.requirements)


def _contradiction(requirements: Sequence[Requirement]) -> str:
    """Return which requirements on one label no value meets together; "" where there are none."""
    for key in dict.fromkeys(each.key for each in requirements):
        of_key = [each for each in requirements if each.key == key]
        values = {value for each in of_key for value in each.values if each.operator == IN}
        is_closed = any(each.operator in (IN, DOES_NOT_EXIST) for each in of_key)
        candidates = [None, *sorted(values)]
        if is_closed and not any(
            all(each.matches_value(value) for each in of_key) for value in candidates
        ):
            return f"no value of {key} meets all of its requirements"
    return ""
