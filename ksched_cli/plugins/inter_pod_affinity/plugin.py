"""Rejects and scores nodes by the pods that run in the same topology domains.

Filter: the pod's required affinity and anti-affinity, and the required anti-affinity of running
pods. Score: the preferred terms of both, and the required affinity of running pods.

Upstream: plugins/interpodaffinity (plugin.go, filtering.go, scoring.go).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from functools import partial, reduce
from operator import or_

import numpy as np
from msgspec import Struct

from ksched_cli.cluster.objects import Node
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.topology.domain_counts import DomainCounter, Tally
from ksched_cli.cluster.topology.label_columns import MISSING
from ksched_cli.cluster.topology.pod_index import PodIndex, TermCounter, TermKind
from ksched_cli.cluster.topology.pod_selection import PodSelection
from ksched_cli.framework.cluster_events import NODE, Action, ClusterEvent, Registration
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interface import (
    MAX_NODE_SCORE,
    Explains,
    FilterPlugin,
    NormalizeScore,
    PreFilterExtensions,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    Proposal,
    Proposes,
    Scope,
    ScorePlugin,
    SignPlugin,
)
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.results import Mask, Scores, Verdicts
from ksched_cli.framework.status import SKIP, SUCCESS, PluginError, Status
from ksched_cli.kube.versions import Rules
from ksched_cli.plugins.helper.hints import had_node, pod_registrations
from ksched_cli.plugins.helper.signatures import Fragments
from ksched_cli.plugins.inter_pod_affinity import explain as explained
from ksched_cli.plugins.inter_pod_affinity.args import InterPodAffinityArgs
from ksched_cli.plugins.inter_pod_affinity.proposals import proposals
from ksched_cli.plugins.inter_pod_affinity.terms import (
    NO_INCOMING_TERMS,
    NO_TERMS,
    AffinityTerm,
    CountedTerm,
    ExistingTerms,
    IncomingTerms,
    affinity_terms,
)

PRE_FILTER_KEY = "PreFilterInterPodAffinity"
PRE_SCORE_KEY = "PreScoreInterPodAffinity"
CONFLICTING_PODS_KEY = "ExplainInterPodAffinity"

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

    def clone(self) -> PreFilterState:
        return PreFilterState(
            self.incoming, _clone(self.affinity), _clone(self.anti_affinity), _clone(self.existing)
        )


class PreScoreState(Struct, frozen=True):
    """scores: per topology key, the score of a node in each domain; the last, in none."""

    scores: Mapping[str, Scores]


class InterPodAffinity(
    PreFilterPlugin,
    FilterPlugin,
    PreFilterExtensions,
    PreScorePlugin,
    ScorePlugin,
    NormalizeScore,
    SignPlugin,
    Explains,
    Proposes,
):
    name = "InterPodAffinity"
    scope = Scope.CLUSTER

    def __init__(self, args: InterPodAffinityArgs, handle: Handle) -> None:
        self._hard_weight = args.hard_pod_affinity_weight or 0
        self._ignores_preferred = args.ignore_preferred_terms_of_existing_pods
        self._namespaces = handle.cluster.namespaces
        self._index = handle.snapshot.index(PodIndex)
        self._existing = handle.service(ExistingTerms)
        self._rules = handle.release.rules

    def sign_pod(self, pod: PodInfo) -> Fragments | None:
        affinity = pod.spec.affinity
        if affinity is not None and (affinity.pod_affinity or affinity.pod_anti_affinity):
            return None
        # Without terms of its own, the pod is only seen by other pods' terms, by its labels.
        return {} if self._ignores_preferred else {"labels": tuple(sorted(pod.labels.items()))}

    def events_to_register(self) -> Iterable[Registration]:
        return registrations(self._rules)

    # -- filter -----------------------------------------------------------------------------------

    def pre_filter(
        self, state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> tuple[PreFilterResult | None, Status]:
        incoming = self._index.derived(self._incoming_terms, pod)
        avoiding: Iterable[TermCounter] = self._index.group(pod).terms[TermKind.AVOIDS]
        if incoming is NO_INCOMING_TERMS and not avoiding:
            return None, SKIP
        if incoming.error:
            return None, Status.unresolvable(f"parsing pod: {incoming.error}")
        avoiding = [term for term in avoiding if term.total]
        if not avoiding and not incoming.required and not incoming.required_anti:
            return None, SKIP
        filter_state = PreFilterState(
            incoming,
            _tallies_by_key(term.counter for term in incoming.required),
            _tallies_by_key(term.counter for term in incoming.required_anti),
            _tallies_by_key(avoiding),
        )
        state.write(PRE_FILTER_KEY, filter_state)
        return None, SUCCESS

    def _incoming_terms(self, pod: PodInfo) -> IncomingTerms:
        terms = self._index.derived(affinity_terms, pod)
        if terms is NO_TERMS:
            return NO_INCOMING_TERMS
        if terms.error:
            return IncomingTerms(error=terms.error)
        selection = PodSelection(tuple(t.as_incoming(self._namespaces) for t in terms.required))
        keys = dict.fromkeys(term.topology_key for term in terms.required)
        return IncomingTerms(
            required=tuple(self._counted_term(selection, key) for key in keys),
            matches_self=selection.matches(pod.namespace, pod.labels),
            required_anti=self._counted_terms(terms.required_anti),
            preferred=self._counted_terms(terms.preferred),
        )

    def _counted_terms(self, terms: Iterable[AffinityTerm]) -> tuple[CountedTerm, ...]:
        return tuple(
            self._counted_term(
                PodSelection((term.as_incoming(self._namespaces),)), term.topology_key, term.weight
            )
            for term in terms
        )

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
        matching = self._index.group(pod).terms[TermKind.AVOIDS]
        return any(term in matching for term in self._existing.terms_of(other))

    def _update_with_pod(
        self, state: CycleState, pod: PodInfo, other: PodInfo, node: NodeInfo, number: int
    ) -> Status:
        """number: 1 where the other pod is added, -1 where it is removed."""
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
        matching = self._index.group(pod).terms[TermKind.AVOIDS]
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
        if not (incoming.preferred or matching[TermKind.REQUIRES] or matching[TermKind.PREFERS]):
            return SKIP
        scores: dict[str, Scores] = {}
        for term in self._scoring_terms(pod, incoming):
            domains = term.domains
            sums = scores.get(domains.key)
            if sums is None:
                sums = scores[domains.key] = domains.zeros().astype(np.int64)
            sums += np.multiply(term.counter.counts, term.weight, dtype=np.int64)
        if self._existing.unlisted and _has_preferred_terms(pod):
            self._add_unlisted(scores, matching)
        if not scores:
            return SKIP
        state.write(PRE_SCORE_KEY, PreScoreState(scores))
        return SUCCESS

    def _add_unlisted(
        self, scores: dict[str, Scores], matching: Mapping[TermKind, Container[TermCounter]]
    ) -> None:
        """Adds terms of pods that are assumed in a trial."""
        for term, row in self._existing.unlisted:
            weight = self._hard_weight if term.kind is TermKind.REQUIRES else term.weight
            code = term.domains.codes.item(row)
            if weight and code != MISSING and term in matching[term.kind]:
                sums = scores.setdefault(term.domains.key, term.domains.zeros().astype(np.int64))
                sums[code] += weight

    def _scoring_terms(self, pod: PodInfo, incoming: IncomingTerms) -> Iterator[CountedTerm]:
        """The terms with matching pods: the pod's preferred ones, then those of running pods."""
        for term in incoming.preferred:
            if term.counter.total:
                yield term
        matching = self._index.group(pod).terms
        if self._hard_weight > 0:
            for counter in matching[TermKind.REQUIRES]:
                if counter.total:
                    yield CountedTerm(counter.selection, counter, self._hard_weight)
        for counter in matching[TermKind.PREFERS]:
            if counter.total:
                yield CountedTerm(counter.selection, counter, counter.weight)

    def score_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Scores:
        score_state = _pre_score_state(state)
        by_key = [
            sums[nodes.gather(nodes.snapshot.labels[key].codes)]
            for key, sums in score_state.scores.items()
        ]
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
        lines = [explained.affinity_line(t.selection, t.counter, node) for t in required]
        conflicting = self._conflicting_pods(state, pod, filter_state.incoming)
        named: set[tuple[str, str]] = set()
        for term in filter_state.incoming.required_anti:
            code, domain = explained.domain_of(term.domains, node)
            pods = conflicting.get(term.counter, {}).get(code)
            if pods is not None:
                names = explained.pod_names(pods, node.snapshot)
                named.add((domain, names))
                lines.append(f"pods with {term.selection} run in {domain}: {names}")
        for counter in self._index.group(pod).terms[TermKind.AVOIDS]:
            code, domain = explained.domain_of(counter.domains, node)
            pods = conflicting.get(counter, {}).get(code)
            # Pods of one workload avoid each other: said once.
            if pods is None or (domain, names := explained.pod_names(pods, node.snapshot)) in named:
                continue
            selection = counter.selection
            lines.append(f"pods that accept none with {selection} run in {domain}: {names}")
        return [line for line in lines if line]

    def _conflicting_pods(
        self, state: CycleState, pod: PodInfo, incoming: IncomingTerms
    ) -> explained.PodsByDomain:
        """The pods that terms of anti-affinity, of whichever side, keep the pod from; computed once
        per attempt."""
        cached: explained.PodsByDomain | None = state.data.get(CONFLICTING_PODS_KEY)
        if cached is not None:
            return cached
        conflicting: explained.PodsByDomain = {}
        own = dict.fromkeys(term.counter for term in incoming.required_anti)
        matching = self._index.group(pod).terms[TermKind.AVOIDS]

        def counters_of(other: PodInfo) -> Iterator[DomainCounter]:
            counted_by = self._index.group(other).counters
            yield from (counter for counter in own if counter in counted_by)
            terms = dict.fromkeys(self._existing.terms_of(other))
            yield from (term for term in terms if term in matching)

        explained.add_pods(conflicting, self._index.snapshot, counters_of)
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
        yield from proposals(pod, node, is_far, avoided, is_avoided, [*conflicting.values()])

    def explain_score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> list[str]:
        incoming = self._index.derived(self._incoming_terms, pod)
        lines = [
            explained.score_line(term.counter, term.weight, term.selection, node)
            for term in self._scoring_terms(pod, incoming)
        ]
        return [line for line in lines if line]


def _has_preferred_terms(pod: PodInfo) -> bool:
    """Whether the pod has preferred affinity or anti-affinity of its own."""
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


def _clone(tallies: Tallies) -> Tallies:
    return {key: tally.clone() for key, tally in tallies.items()}


def _unsatisfied(filter_state: PreFilterState, nodes: Nodes) -> Mask:
    """The nodes without a key, or in a domain without a matching pod (satisfyPodAffinity)."""
    tallies = filter_state.affinity.values()
    # The first of a group of pods with affinity to each other fits every node with the keys.
    if filter_state.incoming.matches_self and not any(tally.total for tally in tallies):
        return reduce(or_, (nodes.gather(tally.domains.codes) == MISSING for tally in tallies))
    return reduce(or_, (tally.at(tally.domains, nodes.rows) <= 0 for tally in tallies))


def _violated(tallies: Tallies, nodes: Nodes) -> Mask:
    """The nodes in a domain with a counted pod (satisfyPodAntiAffinity)."""
    return reduce(or_, (tally.at(tally.domains, nodes.rows) > 0 for tally in tallies.values()))


def _pre_filter_state(state: CycleState) -> PreFilterState:
    return state.read(PRE_FILTER_KEY, "error reading")


def _pre_score_state(state: CycleState) -> PreScoreState:
    return state.read(PRE_SCORE_KEY, "failed to read")


# Whether a pod matches the terms of an affinity.
Matches = Callable[[tuple[AffinityTerm, ...], PodInfo], bool]


def registrations(rules: Rules) -> Iterable[Registration]:
    """The events that may let a pod be where its affinities want it."""
    after_change = partial(
        after_pod_change,
        follows_nominated=rules.follows_nominated_pods,
        avoids=_any_matches if rules.avoids_any_term else _all_match,
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
) -> bool:
    """A pod with a node begins to match the affinity, or no longer matches the anti-affinity."""
    if follows_nominated and old is not None and new is not None and new.key == pod.key:
        return True
    for other in (old, new):
        has_node = other is None or (had_node(other) if follows_nominated else other.pod.node_name)
        if not has_node:
            return False
    terms = affinity_terms(pod)
    if terms.error:
        return True
    matched = old is not None and _all_match(terms.required, old)
    if new is not None and not matched and _all_match(terms.required, new):
        return True
    if old is None:
        return False
    if new is not None:
        return avoids(terms.required_anti, old) and not avoids(terms.required_anti, new)
    if avoids(terms.required_anti, old):
        return True
    return follows_nominated and avoids(affinity_terms(old).required_anti, pod)


def after_node_change(pod: PodInfo, old: Node | None, new: Node) -> bool:
    """The node has come into a domain of the affinity, or out of one of the anti-affinity."""
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


def _all_match(terms: tuple[AffinityTerm, ...], pod: PodInfo) -> bool:
    """Whether there are terms, and all of them select the pod."""
    return bool(terms) and all(_matches(term, pod) for term in terms)


def _any_matches(terms: tuple[AffinityTerm, ...], pod: PodInfo) -> bool:
    return any(_matches(term, pod) for term in terms)


def _matches(term: AffinityTerm, pod: PodInfo) -> bool:
    """Match as upstream does: namespace selectors are matched against no labels."""
    return (
        pod.namespace in term.namespaces or term.namespace_selector.matches({})
    ) and term.selector.matches(pod.labels)
