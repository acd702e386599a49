"""Rejects nodes by which pods run near them, and prefers or avoids such nodes.

A pod's required affinity and anti-affinity are about the pods that run; the anti-affinity of those
is about the pod. Preferred terms of both, and the required affinity of running pods, score.

Upstream: plugins/interpodaffinity (plugin.go, filtering.go, scoring.go).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.topology.domain_counts import DomainCounter, Domains, Tally
from ksched_cli.cluster.topology.label_columns import MISSING
from ksched_cli.cluster.topology.pod_index import PodIndex, TermKind
from ksched_cli.cluster.topology.pod_selection import PodSelection
from ksched_cli.config import types as config
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
    Scope,
    ScorePlugin,
)
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.results import Mask, Scores, Verdicts
from ksched_cli.framework.status import SKIP, SUCCESS, PluginError, Status
from ksched_cli.plugins.inter_pod_affinity import explain as explained
from ksched_cli.plugins.inter_pod_affinity.terms import (
    NO_TERMS,
    AffinityTerm,
    ExistingTerms,
    affinity_terms,
)

PRE_FILTER_KEY = "PreFilterInterPodAffinity"
PRE_SCORE_KEY = "PreScoreInterPodAffinity"
WITNESSES_KEY = "ExplainInterPodAffinity"

AFFINITY = Status.unresolvable("node(s) didn't match pod affinity rules")
ANTI_AFFINITY = Status.unschedulable("node(s) didn't match pod anti-affinity rules")
EXISTING_ANTI_AFFINITY = Status.unschedulable(
    "node(s) didn't satisfy existing pods anti-affinity rules"
)

Tallies = dict[str, Tally]


@dataclass(frozen=True, slots=True)
class TermCount:
    """A term of the pod to be placed, and the pods that it is about. weight: as in AffinityTerm."""

    selection: PodSelection
    counter: DomainCounter
    weight: int

    @property
    def domains(self) -> Domains:
        return self.counter.domains


@dataclass(frozen=True, slots=True)
class Demands:
    """What a pod's terms come to in this cluster.

    required:      about the pods that match all required affinity terms, one per topology key
    matches_self:  the pod is such a pod itself
    required_anti: one per term
    preferred:     one per term
    error:         what cannot be parsed
    """

    required: tuple[TermCount, ...] = ()
    matches_self: bool = False
    required_anti: tuple[TermCount, ...] = ()
    preferred: tuple[TermCount, ...] = ()
    error: str = ""


NO_DEMANDS = Demands()


@dataclass(frozen=True, slots=True)
class FilterState:
    """Tallies by topology key.

    affinity:      pods that match all affinity terms
    anti_affinity: pods that match an anti-affinity term, once per such term
    existing:      running pods' anti-affinity terms about the pod
    """

    demands: Demands
    affinity: Tallies
    anti_affinity: Tallies
    existing: Tallies

    def clone(self) -> FilterState:
        return FilterState(
            self.demands, _clone(self.affinity), _clone(self.anti_affinity), _clone(self.existing)
        )


@dataclass(frozen=True, slots=True)
class ScoreState:
    """scores: per topology key, what a node of each domain gets; lastly of none."""

    scores: Mapping[str, Scores]


class InterPodAffinity(
    PreFilterPlugin,
    FilterPlugin,
    PreFilterExtensions,
    PreScorePlugin,
    ScorePlugin,
    NormalizeScore,
    Explains,
):
    name = "InterPodAffinity"
    scope = Scope.CLUSTER

    def __init__(self, args: config.InterPodAffinityArgs, handle: Handle) -> None:
        self._hard_weight = args.hard_pod_affinity_weight or 0
        self._ignores_preferred = args.ignore_preferred_terms_of_existing_pods
        self._namespaces = handle.cluster.namespaces
        self._index = PodIndex.of(handle.snapshot)
        self._existing = ExistingTerms.of(handle.snapshot, self._namespaces)

    # -- filter -----------------------------------------------------------------------------------

    def pre_filter(
        self, state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> tuple[PreFilterResult | None, Status]:
        demands = self._index.derived(self._demands, pod)
        if demands.error:
            return None, Status.unresolvable(f"parsing pod: {demands.error}")
        avoiding = [t for t in self._index.group(pod).terms[TermKind.AVOIDS] if t.total]
        if not avoiding and not demands.required and not demands.required_anti:
            return None, SKIP
        found = FilterState(
            demands,
            _tally(term.counter for term in demands.required),
            _tally(term.counter for term in demands.required_anti),
            _tally(avoiding),
        )
        state.write(PRE_FILTER_KEY, found)
        return None, SUCCESS

    def _demands(self, pod: PodInfo) -> Demands:
        terms = self._index.derived(affinity_terms, pod)
        if terms is NO_TERMS:
            return NO_DEMANDS
        if terms.error:
            return Demands(error=terms.error)
        together = PodSelection(tuple(t.as_incoming(self._namespaces) for t in terms.required))
        keys = dict.fromkeys(term.topology_key for term in terms.required)
        return Demands(
            required=tuple(self._count(together, key) for key in keys),
            matches_self=together.matches(pod.namespace, pod.labels),
            required_anti=self._counts(terms.required_anti),
            preferred=self._counts(terms.preferred),
        )

    def _counts(self, terms: Iterable[AffinityTerm]) -> tuple[TermCount, ...]:
        return tuple(
            self._count(
                PodSelection((term.as_incoming(self._namespaces),)), term.topology_key, term.weight
            )
            for term in terms
        )

    def _count(self, selection: PodSelection, key: str, weight: int = 0) -> TermCount:
        counter = self._index.counter(selection, self._index.domains(key))
        return TermCount(selection, counter, weight)

    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> Status:
        return self._follow(state, pod, added, node, 1)

    def remove_pod(
        self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo
    ) -> Status:
        return self._follow(state, pod, removed, node, -1)

    def concerns(self, state: CycleState, pod: PodInfo, other: PodInfo) -> bool:
        found: FilterState | None = state.data.get(PRE_FILTER_KEY)
        if found is None:
            return True
        counted_by = self._index.group(other).counters
        terms = (*found.demands.required, *found.demands.required_anti)
        if any(term.counter in counted_by for term in terms):
            return True
        about = self._index.group(pod).terms[TermKind.AVOIDS]
        return any(had in about for had in self._existing.had_by(other))

    def _follow(
        self, state: CycleState, pod: PodInfo, other: PodInfo, node: NodeInfo, number: int
    ) -> Status:
        try:
            found = _filter_state(state)
        except PluginError as missing:
            return Status.error(str(missing))
        counted_by = self._index.group(other).counters
        for term in found.demands.required:
            if term.counter in counted_by:
                found.affinity[term.domains.key].add(node.row, number)
        for term in found.demands.required_anti:
            if term.counter in counted_by:
                found.anti_affinity[term.domains.key].add(node.row, number)
        about = self._index.group(pod).terms[TermKind.AVOIDS]
        for had in self._existing.had_by(other):
            if had in about:
                tally = found.existing.get(had.domains.key)
                if tally is None:
                    tally = found.existing[had.domains.key] = Tally.of((), had.domains)
                tally.add(node.row, number)
        return SUCCESS

    def filter_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Verdicts:
        found = _filter_state(state)
        verdicts = Verdicts.passing(len(nodes))
        if found.affinity:
            verdicts.reject(_unmet(found, nodes), AFFINITY)
        if found.anti_affinity:
            verdicts.reject(_present(found.anti_affinity, nodes), ANTI_AFFINITY)
        if found.existing:
            verdicts.reject(_present(found.existing, nodes), EXISTING_ANTI_AFFINITY)
        return verdicts

    # -- score ------------------------------------------------------------------------------------

    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Status:
        if self._ignores_preferred and not _prefers(pod):
            return SKIP
        demands = self._index.derived(self._demands, pod)
        if demands.error:
            raise PluginError(f"failed to parse pod: {demands.error}")
        about = self._index.group(pod).terms
        if not (demands.preferred or about[TermKind.REQUIRES] or about[TermKind.PREFERS]):
            return SKIP
        scores: dict[str, Scores] = {}
        for term in self._weighted(pod, demands):
            domains = term.domains
            sums = scores.get(domains.key)
            if sums is None:
                sums = scores[domains.key] = domains.zeros().astype(np.int64)
            sums += np.multiply(term.counter.counts, term.weight, dtype=np.int64)
        if not scores:
            return SKIP
        state.write(PRE_SCORE_KEY, ScoreState(scores))
        return SUCCESS

    def _weighted(self, pod: PodInfo, demands: Demands) -> Iterator[TermCount]:
        """The terms that count anybody: the pod's own preferences, then what running pods say."""
        for term in demands.preferred:
            if term.counter.total:
                yield term
        about = self._index.group(pod).terms
        if self._hard_weight > 0:
            for had in about[TermKind.REQUIRES]:
                if had.total:
                    yield TermCount(had.selection, had, self._hard_weight)
        for had in about[TermKind.PREFERS]:
            if had.total:
                yield TermCount(had.selection, had, had.weight)

    def score_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Scores:
        found = _score_state(state)
        by_key = [
            sums[nodes.gather(nodes.snapshot.labels[key].codes)]
            for key, sums in found.scores.items()
        ]
        return by_key[0] if len(by_key) == 1 else np.sum(by_key, axis=0)

    def normalize_scores(
        self, state: CycleState, pod: PodInfo, nodes: Nodes, scores: Scores
    ) -> Scores:
        _score_state(state)
        least = scores.item(scores.argmin())
        spread = scores.item(scores.argmax()) - least
        if spread <= 0:
            return np.zeros(len(scores), dtype=np.int64)
        return (float(MAX_NODE_SCORE) * ((scores - least) / float(spread))).astype(np.int64)

    # -- explain ----------------------------------------------------------------------------------

    def explain_filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> list[str]:
        found = _filter_state(state)
        required = found.demands.required
        lines = [explained.affinity_line(t.selection, t.counter, node) for t in required]
        witnesses = self._witnesses(state, pod, found.demands)
        for term in found.demands.required_anti:
            code, domain = explained.domain_of(term.domains, node)
            seen = witnesses.get((term.counter, code))
            if seen is not None:
                lines.append(f"pods with {term.selection} run in {domain}: {seen}")
        for had in self._index.group(pod).terms[TermKind.AVOIDS]:
            code, domain = explained.domain_of(had.domains, node)
            seen = witnesses.get((had, code))
            if seen is not None:
                said = f"pods that accept none with {had.selection} run in {domain}: {seen}"
                lines.append(said)
        return [line for line in lines if line]

    def _witnesses(self, state: CycleState, pod: PodInfo, demands: Demands) -> explained.ByDomain:
        """Who stands in the way, looked up once per attempt."""
        known: explained.ByDomain | None = state.data.get(WITNESSES_KEY)
        if known is not None:
            return known
        found: explained.ByDomain = {}
        about = self._index.group(pod).terms[TermKind.AVOIDS]
        for other, row, name in explained.pods_on(self._index.snapshot):
            counted_by = self._index.group(other).counters
            unwanted = {t.counter for t in demands.required_anti if t.counter in counted_by}
            for counter in (*unwanted, *{t for t in self._existing.had_by(other) if t in about}):
                explained.note(found, counter, row, name)
        state.write(WITNESSES_KEY, found)
        return found

    def explain_score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> list[str]:
        demands = self._index.derived(self._demands, pod)
        lines = [
            explained.score_line(term.counter, term.weight, term.selection, node)
            for term in self._weighted(pod, demands)
        ]
        return [line for line in lines if line]


def _prefers(pod: PodInfo) -> bool:
    """Whether it has preferred terms of its own."""
    affinity = pod.spec.affinity
    return affinity is not None and any(
        one is not None and one.preferred_during_scheduling_ignored_during_execution
        for one in (affinity.pod_affinity, affinity.pod_anti_affinity)
    )


def _tally(counters: Iterable[DomainCounter]) -> Tallies:
    """By topology key; counters of one key are summed."""
    by_key: dict[str, list[DomainCounter]] = {}
    for counter in counters:
        by_key.setdefault(counter.domains.key, []).append(counter)
    return {key: Tally.of(same, same[0].domains) for key, same in by_key.items()}


def _clone(tallies: Tallies) -> Tallies:
    return {key: tally.clone() for key, tally in tallies.items()}


def _unmet(found: FilterState, nodes: Nodes) -> Mask:
    """The nodes that lack a topology key, or one of whose domains lacks a matching pod."""
    tallies = found.affinity.values()
    # The first of a group of pods that want each other may go anywhere that has the keys.
    if found.demands.matches_self and not any(tally.total for tally in tallies):
        return _any(nodes.gather(tally.domains.codes) == MISSING for tally in tallies)
    return _any(tally.at(tally.domains, nodes.rows) <= 0 for tally in tallies)


def _present(tallies: Tallies, nodes: Nodes) -> Mask:
    """The nodes in a domain with a pod that counts."""
    return _any(tally.at(tally.domains, nodes.rows) > 0 for tally in tallies.values())


def _any(masks: Iterable[Mask]) -> Mask:
    """masks: at least one."""
    first, *others = masks
    for mask in others:
        first = first | mask
    return first


def _filter_state(state: CycleState) -> FilterState:
    try:
        found: FilterState = state.read(PRE_FILTER_KEY)
    except PluginError as missing:
        raise PluginError(f"error {missing}") from None
    return found


def _score_state(state: CycleState) -> ScoreState:
    try:
        found: ScoreState = state.read(PRE_SCORE_KEY)
    except PluginError as missing:
        raise PluginError(f"failed to read{str(missing).removeprefix('reading')}") from None
    return found
