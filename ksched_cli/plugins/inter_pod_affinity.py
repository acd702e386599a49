"""Rejects and scores nodes by the pods that run in the same topology domains.

Filter: the pod's required affinity and anti-affinity, and the required anti-affinity of running
pods. Score: the preferred terms of both, and the required affinity of running pods.

Upstream: plugins/interpodaffinity (plugin.go, filtering.go, scoring.go).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial, reduce
from operator import or_
from typing import Any

import numpy as np
from msgspec import Struct

from ksched_cli.cluster.affinity_terms import (
    NO_AFFINITY,
    NO_TERMS,
    AffinityTerm,
    AffinityTerms,
    affinity_terms,
)
from ksched_cli.cluster.objects import Namespace, Node, plain_fields
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import MISSING, Rows, Snapshot
from ksched_cli.cluster.topology.pod_index import (
    AVOIDS,
    PREFERS,
    REQUIRES,
    Clause,
    DomainCounter,
    Domains,
    Namespaces,
    PodIndex,
    PodSelection,
    Tally,
    TermCounter,
    selector_text,
)
from ksched_cli.framework.cluster_events import NODE, Action, ClusterEvent, Registration
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interface import (
    MAX_NODE_SCORE,
    PreFilterExtensions,
    Proposal,
    Proposes,
    Scope,
)
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.results import Mask, Scores, Verdicts
from ksched_cli.framework.status import SKIP, SUCCESS, PluginError, Status
from ksched_cli.kube.versions import Rules
from ksched_cli.plugins.args import InterPodAffinityArgs
from ksched_cli.plugins.helper import (
    FilteringPlugin,
    Fragments,
    PreFiltered,
    ScoringPlugin,
    clauses_by_row,
    eviction,
    had_node,
    listed,
    may_make_room,
    named,
    pod_registrations,
)

# -- terms -----------------------------------------------------------------------------------------
#
# The terms of running pods, counted per domain.
#
# Upstream: plugins/interpodaffinity/plugin.go (mergeAffinityTermNamespacesIfNotEmpty).


EVERY_NAMESPACE = Namespaces(frozenset(), others=True)


def as_incoming(term: AffinityTerm, namespaces: Mapping[str, Namespace]) -> Clause:
    """Return the pods that a term of the pod being scheduled selects.

    Upstream adds the namespaces that the selector matches to the names and drops the selector
    in a copy only. So it still matches the selector, against no labels: one of only NotIn and
    DoesNotExist requirements selects every namespace.
    """
    if term.namespace_selector.matches({}):
        return Clause(EVERY_NAMESPACE, term.selector)
    return Clause(Namespaces(term.namespaces | _selected(term, namespaces)), term.selector)


def as_existing(term: AffinityTerm, namespaces: Mapping[str, Namespace]) -> Clause:
    """Return the pods that a term of a running pod selects. Unknown namespaces have no labels."""
    names = term.namespaces | _selected(term, namespaces)
    if term.namespace_selector.matches({}):
        excluded = frozenset(namespaces) - names
        return Clause(Namespaces(excluded, others=True), term.selector)
    return Clause(Namespaces(names), term.selector)


def _selected(term: AffinityTerm, namespaces: Mapping[str, Namespace]) -> frozenset[str]:
    return frozenset(
        name
        for name, namespace in namespaces.items()
        if term.namespace_selector.matches(namespace.metadata.labels)
    )


class CountedTerm(Struct, frozen=True):
    """A term with the count of the pods it selects. weight: as in AffinityTerm."""

    selection: PodSelection
    counter: DomainCounter
    weight: int

    @property
    def domains(self) -> Domains:
        return self.counter.domains


class IncomingTerms(Struct, frozen=True):
    """The terms of the pod being scheduled, with their counters.

    required:      of the pods that match all required affinity terms, one per topology key
    matches_self:  whether the pod itself matches all its required affinity terms
    required_anti: one per term
    preferred:     one per term
    error:         why terms do not parse
    """

    required: tuple[CountedTerm, ...] = ()
    matches_self: bool = False
    required_anti: tuple[CountedTerm, ...] = ()
    preferred: tuple[CountedTerm, ...] = ()
    error: str = ""


NO_INCOMING_TERMS = IncomingTerms()


class ExistingTerms:
    """Counts the terms of running pods, as pods come and go. A service.

    unlisted: terms, with their rows, of pods assumed in a trial that are on no list of nodes with
        affinity; only pods with preferred terms of their own see those that are scored
    """

    def __init__(self, handle: Handle) -> None:
        self._groups = handle.pod_groups
        self.unlisted: list[tuple[TermCounter, int]] = []
        self._index = handle.snapshot.index(PodIndex)
        self._namespaces = handle.cluster.namespaces
        for shape in tuple(self._index.shapes()):
            if shape.model.spec.affinity is not None and shape.rows:
                for term in self.terms_of(shape.model):
                    term.add_rows(shape.rows)
        handle.snapshot.subscribe(self)

    def pod_added(self, pod: PodInfo, row: int) -> None:
        for term in self.terms_of(pod):
            if self._is_listed(term, pod, row):
                term.add(row, 1)
            else:
                self.unlisted.append((term, row))

    def pod_removed(self, pod: PodInfo, row: int) -> None:
        for term in self.terms_of(pod):
            if self._is_listed(term, pod, row):
                term.add(row, -1)
            else:
                self.unlisted.remove((term, row))

    def _is_listed(self, term: TermCounter, pod: PodInfo, row: int) -> bool:
        trial = self._groups.trial if self._groups is not None else None
        if trial is None or pod.uid not in trial.pods:
            return True
        avoids = term.kind is AVOIDS
        return row in (trial.with_anti_affinity if avoids else trial.with_affinity)

    def terms_of(self, pod: PodInfo) -> tuple[TermCounter, ...]:
        """Return the counters of the pod's own terms; twice for a term that the pod has twice."""
        if pod.spec.affinity is None:
            return ()
        return self._index.derived(self._counters, pod)

    def _counters(self, pod: PodInfo) -> tuple[TermCounter, ...]:
        terms = self._index.parsed(affinity_terms, pod)
        kinds = (
            (REQUIRES, terms.required),
            (AVOIDS, terms.required_anti),
            (PREFERS, terms.preferred),
        )
        counters = []
        for kind, terms_of_kind in kinds:
            for term in terms_of_kind:
                selection = PodSelection((as_existing(term, self._namespaces),))
                domains = self._index.domains(term.topology_key)
                counters.append(self._index.term(selection, domains, kind, term.weight))
        return tuple(counters)


# -- the plugin ------------------------------------------------------------------------------------


PRE_FILTER_KEY = "PreFilterInterPodAffinity"
PRE_SCORE_KEY = "PreScoreInterPodAffinity"
CONFLICTING_PODS_KEY = "ExplainInterPodAffinity"
NOBODY_KEY = "NobodyInterPodAffinity"

AFFINITY_NOT_MATCH = Status.unresolvable("node(s) didn't match pod affinity rules")
ANTI_AFFINITY_NOT_MATCH = Status.unschedulable("node(s) didn't match pod anti-affinity rules")
EXISTING_NOT_MATCH = Status.unschedulable(
    "node(s) didn't satisfy existing pods anti-affinity rules"
)

Tallies = dict[str, Tally]


class PreFilterState(Struct, frozen=True):
    """Counts of pods by topology key.

    affinity:      pods that match all affinity terms
    anti_affinity: pods that match an anti-affinity term, once per such term
    existing:      running pods' anti-affinity terms that match the pod
    """

    incoming: IncomingTerms
    affinity: Tallies
    anti_affinity: Tallies
    existing: Tallies

    @property
    def is_first(self) -> bool:
        """Return whether it is the first of a group of pods with affinity to each other, which fits
        every node with the keys."""
        matches_self = bool(self.affinity) and self.incoming.matches_self
        return matches_self and not any(tally.total for tally in self.affinity.values())

    def clone(self) -> PreFilterState:
        tallies = (self.affinity, self.anti_affinity, self.existing)
        return PreFilterState(
            self.incoming, *({key: tally.clone() for key, tally in t.items()} for t in tallies)
        )


class InterPodAffinity(FilteringPlugin, PreFilterExtensions, ScoringPlugin, Proposes):
    name = "InterPodAffinity"
    scope = Scope.CLUSTER

    def __init__(self, args: InterPodAffinityArgs, handle: Handle) -> None:
        self._hard_weight = args.hard_pod_affinity_weight or 0
        self._ignores_preferred = args.ignore_preferred_terms_of_existing_pods
        self._namespaces = handle.cluster.namespaces
        self._index = handle.snapshot.index(PodIndex)
        self._existing = handle.service(ExistingTerms)
        self._rules = handle.release.rules
        self._handle = handle

    def sign_pod(self, pod: PodInfo) -> Fragments | None:
        affinity = pod.spec.affinity
        if affinity is not None and (affinity.pod_affinity or affinity.pod_anti_affinity):
            return None
        # Without terms of its own, the pod is only seen by other pods' terms, by its labels.
        return {} if self._ignores_preferred else {"labels": tuple(sorted(pod.labels.items()))}

    def events_to_register(self) -> Iterable[Registration]:
        return registrations(self._rules, self._namespaces)

    # -- filter -----------------------------------------------------------------------------------

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> PreFiltered:
        incoming = self._index.derived(self._incoming_terms, pod)
        avoiding: Iterable[TermCounter] = self._index.group(pod).terms[AVOIDS]
        if incoming is NO_INCOMING_TERMS and not avoiding:
            return None, SKIP
        if incoming.error:
            return None, Status.unresolvable(f"parsing pod: {incoming.error}")
        avoiding = [term for term in avoiding if term.total]
        if not avoiding and not incoming.required and not incoming.required_anti:
            return None, SKIP
        affinity = _tallies_by_key(term.counter for term in incoming.required)
        anti_affinity = _tallies_by_key(term.counter for term in incoming.required_anti)
        existing = _tallies_by_key(avoiding)
        state.write(PRE_FILTER_KEY, PreFilterState(incoming, affinity, anti_affinity, existing))
        return None, SUCCESS

    def _incoming_terms(self, pod: PodInfo) -> IncomingTerms:
        terms = self._index.parsed(affinity_terms, pod)
        if terms is NO_TERMS:
            return NO_INCOMING_TERMS
        if terms.error:
            return IncomingTerms(error=terms.error)
        selection = PodSelection(tuple(as_incoming(t, self._namespaces) for t in terms.required))
        keys = dict.fromkeys(term.topology_key for term in terms.required)
        return IncomingTerms(
            required=tuple(self._counted_term(selection, key) for key in keys),
            matches_self=selection.matches(pod.namespace, pod.labels),
            required_anti=self._counted_terms(terms.required_anti),
            preferred=self._counted_terms(terms.preferred),
        )

    def _counted_terms(self, terms: Iterable[AffinityTerm]) -> tuple[CountedTerm, ...]:
        counted = []
        for term in terms:
            selection = PodSelection((as_incoming(term, self._namespaces),))
            counted.append(self._counted_term(selection, term.topology_key, term.weight))
        return tuple(counted)

    def _counted_term(self, selection: PodSelection, key: str, weight: int = 0) -> CountedTerm:
        counter = self._index.counter(selection, self._index.domains(key))
        return CountedTerm(selection, counter, weight)

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> Status:
        return self._update_with_pod(state, pod, added, node, 1)

    def remove_pod(
        self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo
    ) -> Status:
        return self._update_with_pod(state, pod, removed, node, -1)

    def concerns(self, state: CycleState, pod: PodInfo, other: PodInfo) -> bool:
        filter_state: PreFilterState | None = state.data.get(PRE_FILTER_KEY)
        if filter_state is None:
            return True
        counted_by = self._index.group(other).counters
        terms = (*filter_state.incoming.required, *filter_state.incoming.required_anti)
        if any(term.counter in counted_by for term in terms):
            return True
        matching = self._index.group(pod).terms[AVOIDS]
        return any(term in matching for term in self._existing.terms_of(other))

    def _update_with_pod(
        self, state: CycleState, pod: PodInfo, other: PodInfo, node: NodeInfo, number: int
    ) -> Status:
        """Count the other pod in the state of PreFilter. number: 1 where it is added, -1 where it
        is removed"""
        try:
            filter_state = _pre_filter_state(state)
        except PluginError as missing:
            return Status.error(str(missing))
        counted_by = self._index.group(other).counters
        for term in filter_state.incoming.required:
            if term.counter in counted_by:
                filter_state.affinity[term.domains.key].add(node.row, number)
        for term in filter_state.incoming.required_anti:
            if term.counter in counted_by:
                filter_state.anti_affinity[term.domains.key].add(node.row, number)
        matching = self._index.group(pod).terms[AVOIDS]
        for counter in self._existing.terms_of(other):
            if counter in matching:
                key = counter.domains.key
                tally = filter_state.existing.get(key)
                if tally is None:
                    tally = filter_state.existing[key] = Tally.of((), counter.domains)
                tally.add(node.row, number)
        return SUCCESS

    def filter_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Verdicts:
        filter_state = _pre_filter_state(state)
        verdicts = Verdicts.passing(len(nodes))
        if filter_state.affinity:
            verdicts.reject(_unsatisfied(filter_state, nodes), AFFINITY_NOT_MATCH)
        if filter_state.anti_affinity:
            verdicts.reject(_violated(filter_state.anti_affinity, nodes), ANTI_AFFINITY_NOT_MATCH)
        if filter_state.existing:
            verdicts.reject(_violated(filter_state.existing, nodes), EXISTING_NOT_MATCH)
        return verdicts

    # -- score ------------------------------------------------------------------------------------

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Status:
        if self._ignores_preferred and not _has_preferred_terms(pod):
            return SKIP
        incoming = self._index.derived(self._incoming_terms, pod)
        if incoming.error:
            raise PluginError(f"failed to parse pod: {incoming.error}")
        matching = self._index.group(pod).terms
        if not (incoming.preferred or matching[REQUIRES] or matching[PREFERS]):
            return SKIP
        scores: dict[str, Scores] = {}
        for term in self._scoring_terms(pod, incoming):
            domains = term.domains
            sums = scores.get(domains.key)
            if sums is None:
                sums = scores[domains.key] = domains.zeros().astype(np.int64)
            sums += np.multiply(term.counter.counts, term.weight, dtype=np.int64)
        # Terms of pods that are assumed in a trial.
        for unlisted, row in self._existing.unlisted:
            weight = self._hard_weight if unlisted.kind is REQUIRES else unlisted.weight
            domains, code = unlisted.domains, unlisted.domains.codes.item(row)
            is_counted = weight and code != MISSING and _has_preferred_terms(pod)
            if is_counted and unlisted in matching[unlisted.kind]:
                sums = scores.setdefault(domains.key, domains.zeros().astype(np.int64))
                sums[code] += weight
        if not scores:
            return SKIP
        state.write(PRE_SCORE_KEY, scores)
        return SUCCESS

    def _scoring_terms(self, pod: PodInfo, incoming: IncomingTerms) -> Iterator[CountedTerm]:
        """Yield the terms with matching pods: the pod's preferred ones, then those of running
        pods."""
        for term in incoming.preferred:
            if term.counter.total:
                yield term
        matching = self._index.group(pod).terms
        if self._hard_weight > 0:
            for counter in matching[REQUIRES]:
                if counter.total:
                    yield CountedTerm(counter.selection, counter, self._hard_weight)
        for counter in matching[PREFERS]:
            if counter.total:
                yield CountedTerm(counter.selection, counter, counter.weight)

    def score_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Scores:
        labels = nodes.snapshot.labels
        scores = _pre_score_state(state).items()
        by_key = [sums.take(nodes.gather(labels[key].codes)) for key, sums in scores]
        return by_key[0] if len(by_key) == 1 else np.sum(by_key, axis=0)

    def normalize_scores(
        self, state: CycleState, pod: PodInfo, nodes: Nodes, scores: Scores
    ) -> Scores:
        _pre_score_state(state)
        lowest = scores.item(scores.argmin())
        score_range = scores.item(scores.argmax()) - lowest
        if score_range <= 0:
            return np.zeros(len(scores), dtype=np.int64)
        return (float(MAX_NODE_SCORE) * ((scores - lowest) / float(score_range))).astype(np.int64)

    # -- explain ----------------------------------------------------------------------------------

    def explain_filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> list[str]:
        filter_state = _pre_filter_state(state)
        required = filter_state.incoming.required
        if not required or any(tally.total for tally in filter_state.affinity.values()):
            lines = [affinity_line(t.selection, t.counter, node) for t in required]
        else:
            # The first of a group of pods with affinity to each other only needs the keys.
            domains = (domain_of(term.domains, node) for term in required)
            lines = [f"the node has {domain}" for code, domain in domains if code == MISSING]
            if not filter_state.is_first and not lines:
                lines = [self._nobody(state, pod)]
        conflicting = self._conflicting_pods(state, pod, filter_state.incoming)
        named: set[tuple[str, str]] = set()
        for term in filter_state.incoming.required_anti:
            code, domain = domain_of(term.domains, node)
            pods = conflicting.get(term.counter, {}).get(code)
            if pods is not None:
                names = pod_names(pods, node.snapshot)
                named.add((domain, names))
                lines.append(f"pods with {term.selection} run in {domain}: {names}")
        for counter in self._index.group(pod).terms[AVOIDS]:
            code, domain = domain_of(counter.domains, node)
            pods = conflicting.get(counter, {}).get(code)
            # Pods of one workload avoid each other: said once.
            if pods is None or (domain, names := pod_names(pods, node.snapshot)) in named:
                continue
            selection = counter.selection
            lines.append(f"pods that accept none with {selection} run in {domain}: {names}")
        return [line for line in lines if line]

    def shortages(self, state: CycleState, pod: PodInfo, rows: Rows) -> list[str]:
        """Return per row which required terms of the pod reject it, in words that follow "would
        take it but for"; "" where none does. Affinity comes before anti-affinity."""
        filter_state = _pre_filter_state(state)
        required = filter_state.incoming.required
        avoided = []
        for term in filter_state.incoming.required_anti:
            (clause,) = term.selection.clauses
            is_here = clause.namespaces == Namespaces(frozenset({pod.namespace}))
            text = f"to pods with {selector_text(clause.selector) if is_here else clause} by"
            if clause.matches(pod.namespace, pod.labels):
                text = "one per"
            violated = term.counter.counts[term.domains.codes[rows]] > 0
            avoided.append((violated, f"{text} {term.domains.key}"))
        shortages = clauses_by_row(len(rows), "its own anti-affinity", avoided)
        if not required:
            return shortages
        text = f"its pod affinity by {' and '.join(term.domains.key for term in required)}"
        if any(tally.total for tally in filter_state.affinity.values()):
            text = f"{text} (the pods with {required[0].selection} run elsewhere)"
        elif not filter_state.is_first:
            text = f"{text} ({self._nobody(state, pod)})"
        nodes = Nodes(self._index.snapshot, rows)
        for position in np.flatnonzero(_unsatisfied(filter_state, nodes)).tolist():
            shortages[position] = text
        for term in required:
            key = term.domains.key
            for position in np.flatnonzero(term.domains.codes[rows] == MISSING).tolist():
                shortages[position] = f"its pod affinity by {key}, a label that is not there"
        return shortages

    def _nobody(self, state: CycleState, pod: PodInfo) -> str:
        """Return that no running pod matches the required affinity, and which nearly do; computed
        once per attempt."""
        cached: str | None = state.data.get(NOBODY_KEY)
        if cached is not None:
            return cached
        incoming = _pre_filter_state(state).incoming
        selection = incoming.required[0].selection
        terms = self._index.parsed(affinity_terms, pod).required
        unmatched = [
            selector_text(term.namespace_selector)
            for term, clause in zip(terms, selection.clauses, strict=True)
            if clause.namespaces == Namespaces(frozenset())
        ]
        # 1. No namespace, or no pod in the namespaces.
        if not unmatched and len(selection.clauses) == 1:
            (clause,) = selection.clauses
            text = f"no pod with {selector_text(clause.selector)} runs in {clause.namespaces}"
        elif not unmatched:
            text = f"no pod with {selection} runs"
        elif not self._namespaces:
            text = f"its namespaceSelector {unmatched[0]} needs Namespaces, and the state has none"
        else:
            text = f"its namespaceSelector {unmatched[0]} matches no namespace"
        # 2. Pods of other namespaces with these labels, and pods that wait themselves.
        running = [
            other.key
            for pods in self._index.snapshot.pods
            for other in pods
            if all(term.selector.matches(other.labels) for term in terms)
        ]
        waiting = [
            f"{other.namespace}/{other.name}"
            for other in self._handle.cluster.pods
            if not other.node_name
            and not other.finished
            and other.uid != pod.uid
            and selection.matches(other.namespace, other.metadata.labels)
        ]
        if running:
            verb = "has" if len(running) == 1 else "have"
            text += f"; {listed(running)} {verb} these labels in another namespace"
        elif waiting:
            verb = "is" if len(waiting) == 1 else "are"
            text += f"; {listed(waiting)} would match and {verb} pending"
        elif not incoming.matches_self and not unmatched:
            text += ", and it does not match itself"
        state.write(NOBODY_KEY, text)
        return text

    def _conflicting_pods(
        self, state: CycleState, pod: PodInfo, incoming: IncomingTerms
    ) -> PodsByDomain:
        """Yield the pods that terms of anti-affinity, of whichever side, keep the pod from;
        computed once per attempt."""
        cached: PodsByDomain | None = state.data.get(CONFLICTING_PODS_KEY)
        if cached is not None:
            return cached
        conflicting: PodsByDomain = {}
        own = dict.fromkeys(term.counter for term in incoming.required_anti)
        matching = self._index.group(pod).terms[AVOIDS]
        # 1. Pods of one shape conflict alike.
        counters_by_shape: dict[int, list[DomainCounter]] = {}
        rows: set[int] = set()
        for shape in tuple(self._index.shapes()):
            counters = [counter for counter in own if counter in shape.group.counters]
            terms = dict.fromkeys(self._existing.terms_of(shape.model)) if matching else ()
            counters += (term for term in terms if term in matching)
            if counters and shape.rows:
                counters_by_shape[shape.model.shape] = counters
                rows.update(shape.rows)
        # 2. Each pod stands in the order of nodes, and of the pods of a node.
        for row in sorted(rows):
            for other in self._index.snapshot.pods[row]:
                for counter in counters_by_shape.get(other.shape, ()):
                    code = counter.domains.codes.item(row)
                    if code != MISSING:
                        by_code = conflicting.setdefault(counter, {})
                        by_code.setdefault(code, []).append((other, row))
        state.write(CONFLICTING_PODS_KEY, conflicting)
        return conflicting

    def propose(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Iterator[Proposal]:
        filter_state, here = _pre_filter_state(state), Nodes.of(node)
        is_far = bool(filter_state.affinity) and bool(_unsatisfied(filter_state, here)[0])
        avoided = {
            index
            for index, term in enumerate(filter_state.incoming.required_anti)
            if _violated({term.domains.key: filter_state.anti_affinity[term.domains.key]}, here)[0]
        }
        is_avoided = bool(filter_state.existing) and bool(_violated(filter_state.existing, here)[0])
        conflicting: dict[str, PodInfo] = {}
        for counter, by_domain in self._conflicting_pods(state, pod, filter_state.incoming).items():
            there = by_domain.get(counter.domains.codes.item(node.row), ())
            conflicting |= {other.uid: other for other, _ in there}
        if is_far and not (avoided or is_avoided):
            yield from other_namespaces(pod, node, filter_state.incoming.required)
        yield from proposals(pod, node, is_far, avoided, is_avoided, [*conflicting.values()])

    def explain_score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> list[str]:
        incoming = self._index.derived(self._incoming_terms, pod)
        terms = self._scoring_terms(pod, incoming)
        lines = (score_line(t.counter, t.weight, t.selection, node) for t in terms)
        return [line for line in lines if line]


def _has_preferred_terms(pod: PodInfo) -> bool:
    """Return whether the pod has preferred affinity or anti-affinity of its own."""
    affinity = pod.spec.affinity
    return affinity is not None and any(
        terms is not None and terms.preferred_during_scheduling_ignored_during_execution
        for terms in (affinity.pod_affinity, affinity.pod_anti_affinity)
    )


def _tallies_by_key(counters: Iterable[DomainCounter]) -> Tallies:
    """Return the tallies by topology key; counters of one key are summed."""
    by_key: dict[str, list[DomainCounter]] = {}
    for counter in counters:
        by_key.setdefault(counter.domains.key, []).append(counter)
    return {key: Tally.of(same, same[0].domains) for key, same in by_key.items()}


def _unsatisfied(filter_state: PreFilterState, nodes: Nodes) -> Mask:
    """Return the nodes without a key, or in a domain without a matching pod
    (satisfyPodAffinity)."""
    tallies = filter_state.affinity.values()
    if filter_state.is_first:
        return reduce(or_, (nodes.gather(tally.domains.codes) == MISSING for tally in tallies))
    return reduce(or_, (tally.at(tally.domains, nodes.rows) <= 0 for tally in tallies))


def _violated(tallies: Tallies, nodes: Nodes) -> Mask:
    """Return the nodes in a domain with a counted pod (satisfyPodAntiAffinity)."""
    return reduce(or_, (tally.at(tally.domains, nodes.rows) > 0 for tally in tallies.values()))


def _pre_filter_state(state: CycleState) -> PreFilterState:
    return state.read(PRE_FILTER_KEY, "error reading")


def _pre_score_state(state: CycleState) -> Mapping[str, Scores]:
    """Return per topology key, the score of a node in each domain; the last, in none."""
    return state.read(PRE_SCORE_KEY, "failed to read")


# Whether a pod matches the terms of an affinity.
Matches = Callable[[tuple[AffinityTerm, ...], PodInfo, Mapping[str, str]], bool]


def registrations(rules: Rules, namespaces: Mapping[str, Namespace]) -> Iterable[Registration]:
    """Yield the events that may let a pod be where its affinities want it."""
    follows, avoids = rules.follows_nominated_pods, _all_match
    if rules.avoids_any_term:
        avoids = _any_matches
    after_change = partial(
        after_pod_change,
        follows_nominated=follows,
        avoids=avoids,
        namespaces=namespaces if rules.knows_labels_of_namespaces else None,
    )
    pod_actions = Action.ADD | Action.UPDATE_POD_LABEL | Action.DELETE
    yield from pod_registrations(pod_actions, after_change, rules)
    yield ClusterEvent(NODE, Action.ADD | Action.UPDATE_NODE_LABEL), after_node_change


def after_pod_change(
    pod: PodInfo,
    old: PodInfo | None,
    new: PodInfo | None,
    *,
    follows_nominated: bool,
    avoids: Matches,
    namespaces: Mapping[str, Namespace] | None = None,
) -> bool:
    """Return whether a pod with a node begins to match the affinity, or no longer matches the
    anti-affinity.

    namespaces: their labels count, and an unknown one may have any; None: they have no labels
    """
    if follows_nominated and old is not None and new is not None and new.key == pod.key:
        return True
    for other in (old, new):
        has_node = other is None or (had_node(other) if follows_nominated else other.pod.node_name)
        if not has_node:
            return False
    terms = affinity_terms(pod)
    if terms.error:
        return True
    labels = _namespace_labels(terms, old, new, namespaces)
    if labels is None:
        return True
    matched = old is not None and _all_match(terms.required, old, labels)
    if new is not None and not matched and _all_match(terms.required, new, labels):
        return True
    if old is None:
        return False
    if new is not None:
        anti = terms.required_anti
        return avoids(anti, old, labels) and not avoids(anti, new, labels)
    if avoids(terms.required_anti, old, labels):
        return True
    return follows_nominated and avoids(affinity_terms(old).required_anti, pod, {})


def _namespace_labels(
    terms: AffinityTerms,
    old: PodInfo | None,
    new: PodInfo | None,
    namespaces: Mapping[str, Namespace] | None,
) -> Mapping[str, str] | None:
    """Return the labels of the changed pod's namespace, where they decide, or None if it is
    unknown."""
    pods = [other for other in (old, new) if other is not None]
    if namespaces is None or not pods:
        return {}
    affected = (terms.required if new is not None else ()) + (
        terms.required_anti if old is not None else ()
    )
    # The labels of a pod's namespace may decide. Upstream: termsNeedNamespaceLabels.
    is_needed = any(
        term.namespace_selector.selectable
        and term.namespace_selector.requirements
        and other.namespace not in term.namespaces
        and term.selector.matches(other.labels)
        for term in affected
        for other in pods
    )
    if not is_needed:
        return {}
    namespace = namespaces.get(pods[0].namespace)
    return None if namespace is None else namespace.metadata.labels


def after_node_change(pod: PodInfo, old: Node | None, new: Node) -> bool:
    """Return whether the node has come into a domain of the affinity, or out of one of the
    anti-affinity."""
    terms = affinity_terms(pod)
    if terms.error:
        return True
    labels = new.metadata.labels
    if old is None:
        return bool(terms.required_anti) or any(t.topology_key in labels for t in terms.required)
    before = old.metadata.labels
    return any(
        t.topology_key in labels and before.get(t.topology_key) != labels[t.topology_key]
        for t in terms.required
    ) or any(
        t.topology_key in before and labels.get(t.topology_key) != before[t.topology_key]
        for t in terms.required_anti
    )


def _all_match(terms: tuple[AffinityTerm, ...], pod: PodInfo, namespace: Mapping[str, str]) -> bool:
    """Return whether there are terms, and all of them select the pod."""
    return bool(terms) and all(_matches(term, pod, namespace) for term in terms)


def _any_matches(
    terms: tuple[AffinityTerm, ...], pod: PodInfo, namespace: Mapping[str, str]
) -> bool:
    return any(_matches(term, pod, namespace) for term in terms)


def _matches(term: AffinityTerm, pod: PodInfo, namespace: Mapping[str, str]) -> bool:
    """Return whether the term matches the pod.

    namespace: its labels; up to 1.37 upstream matches against none
    """
    return (
        pod.namespace in term.namespaces or term.namespace_selector.matches(namespace)
    ) and term.selector.matches(pod.labels)


# -- explain ---------------------------------------------------------------------------------------
#
# The pods and counts behind InterPodAffinity's verdicts and scores of a node.
#
# Nothing here runs in a cycle, so it may visit every pod.


MOST_DOMAINS = 8


PodsByDomain = dict[DomainCounter, dict[int, list[tuple[PodInfo, int]]]]
"""By a term's counter and a domain's code the pods there, each with its row."""


def pod_names(pods: Sequence[tuple[PodInfo, int]], snapshot: Snapshot) -> str:
    """Return the names of the first pods and of their nodes, and how many more there are."""
    return listed([f"{pod.key} on {snapshot.names[row]}" for pod, row in pods])


def domain_of(domains: Domains, node: NodeInfo) -> tuple[int, str]:
    """Return the code of the node's domain, and the domain as key=value."""
    code = domains.codes.item(node.row)
    return code, f"no label {domains.key}" if code == MISSING else domains.name(code)


def affinity_line(selection: PodSelection, counter: DomainCounter, node: NodeInfo) -> str:
    """Return why a node does not meet the required affinity on one topology key, or "" where it
    does."""
    domains = counter.domains
    code, domain = domain_of(domains, node)
    if code == MISSING:
        return f"the node has {domain}"
    if counter.counts[code] > 0:
        return ""
    line = f"no pod with {selection} runs in {domain}"
    occupied = np.flatnonzero(counter.counts)
    if not len(occupied):
        return f"{line}, nor in any other {domains.key}"
    fullest = occupied[np.argsort(-counter.counts[occupied], kind="stable")[:MOST_DOMAINS]]
    listed = ", ".join(f"{domains.values[code]} ({counter.counts[code]})" for code in fullest)
    more = f" and {len(occupied) - MOST_DOMAINS} more" if len(occupied) > MOST_DOMAINS else ""
    return f"{line}; they run in {listed}{more}"


def score_line(counter: DomainCounter, weight: int, selection: PodSelection, node: NodeInfo) -> str:
    """Return what one term adds to the node's raw score, or "" where it adds nothing."""
    code, domain = domain_of(counter.domains, node)
    count = int(counter.counts[code])
    if not count:
        return ""
    pods = f"{count} pod{'' if count == 1 else 's'} in {domain}"
    if not isinstance(counter, TermCounter):
        line = f"{pods} with {selection}"
    elif counter.kind is REQUIRES:
        line = f"{pods} with required affinity to {selection}"
    else:
        line = f"{pods} with preferred {'anti-' if weight < 0 else ''}affinity to {selection}"
    return f"{line}, {weight:+d} each: {count * weight:+d}"


# -- proposals -------------------------------------------------------------------------------------
#
# What would make a node meet required pod affinity and anti-affinity: fewer terms, or fewer pods
# in the way.


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def other_namespaces(
    pod: PodInfo, node: NodeInfo, counted: Sequence[CountedTerm]
) -> Iterator[Proposal]:
    """Look for the pods of the affinity also in the namespaces in which they run.

    counted: the pods that match all terms, as they are counted on the nodes
    """
    affinity = (pod.spec.affinity and pod.spec.affinity.pod_affinity) or NO_AFFINITY
    terms = affinity.required_during_scheduling_ignored_during_execution
    parsed = affinity_terms(pod).required
    if any(count.counter.total for count in counted):
        return
    alike = [
        other
        for pods in node.snapshot.pods
        for other in pods
        if all(term.selector.matches(other.labels) for term in parsed)
    ]
    changed, texts = [], []
    for term, clause in zip(terms, counted[0].selection.clauses, strict=True):
        plain = plain_fields(term)
        spaces = {o.namespace for o in alike if not clause.matches(o.namespace, o.labels)}
        if spaces:
            own = list(term.namespaces)
            if not own and term.namespace_selector is None:
                own = [pod.namespace]
            plain["namespaces"] = sorted({*own, *spaces})
            texts.append(
                f"look for the pods of its affinity by {term.topology_key} in namespace "
                f"{listed(sorted(spaces))}, too"
            )
        changed.append(plain)
    if texts:
        patch = {"spec": {"affinity": {"podAffinity": {REQUIRED: changed}}}}
        yield Proposal("affinity", " and ".join(dict.fromkeys(texts)), patch=patch)


def proposals(
    pod: PodInfo,
    node: NodeInfo,
    is_far: bool,
    avoided: Collection[int],
    is_avoided: bool,
    conflicting: Sequence[PodInfo],
) -> Iterator[Proposal]:
    """Yield proposals of evictions or changes of the affinity with which the node fits.

    is_far: no pod is there that the pod's affinity requires
    avoided: the indices of its terms of anti-affinity that the node violates
    is_avoided: pods that avoid the pod are there
    conflicting: the pods that it avoids or that avoid it, in the node's domains
    """
    if conflicting and not is_far and all(may_make_room(other, pod) for other in conflicting):
        text = f"evict {named(conflicting)}, which must not share {node.name}'s domain with it"
        yield eviction(text, conflicting)
    if is_avoided:
        return
    affinity: dict[str, Any] = {}
    texts = []
    own = pod.spec.affinity
    if avoided and own and own.pod_anti_affinity:
        anti = own.pod_anti_affinity.required_during_scheduling_ignored_during_execution
        other_terms = [plain_fields(term) for i, term in enumerate(anti) if i not in avoided]
        affinity["podAntiAffinity"] = {REQUIRED: other_terms or None}
        lifted = ", ".join(anti[index].topology_key for index in sorted(avoided))
        texts.append(f"do not require its anti-affinity by {lifted}")
    if not is_far:
        patch = {"spec": {"affinity": affinity}}
        yield Proposal("affinity", " and ".join(texts), patch=patch, amount=len(texts))
        return
    # Only pods that match all terms of affinity count: without one of several, some may be there.
    pod_affinity = (own and own.pod_affinity) or NO_AFFINITY
    terms = pod_affinity.required_during_scheduling_ignored_during_execution
    all_keys = ", ".join(term.topology_key for term in terms)
    lifts: list[tuple[str, Any]] = [(f"by {all_keys}", None)]
    if len(terms) > 1:
        for index, (term, parsed) in enumerate(
            zip(terms, affinity_terms(pod).required, strict=True)
        ):
            left = [plain_fields(each) for i, each in enumerate(terms) if i != index]
            lifts.append(
                (f"to pods with {selector_text(parsed.selector)} by {term.topology_key}", left)
            )
    for which, left in lifts:
        affinity["podAffinity"] = {REQUIRED: left}
        text = " and ".join((f"do not require its pod affinity {which}", *texts))
        amount = len(texts) + len(terms) - len(left or ())
        yield Proposal(
            "affinity", text, patch={"spec": {"affinity": dict(affinity)}}, amount=amount
        )
