"""Expectations about a run: each holds, or fails with what came out instead."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase

from ksched_cli.cluster.objects.pod import Pod
from ksched_cli.engine.records import RunRecord
from ksched_cli.engine.simulation import Simulation

_LISTED = 3


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run comes to.

    nodes:       pod key → the node that it is on in the end
    pods:        by key
    node_labels: by node
    nodes_used:  how many nodes have pods
    """

    run: RunRecord
    nodes: Mapping[str, str]
    pods: Mapping[str, Pod]
    node_labels: Mapping[str, Mapping[str, str]]
    nodes_used: int

    def matching(self, pattern: str) -> list[str]:
        """The keys of the pods whose name matches, or namespace/name where the glob has a slash."""
        with_namespace = "/" in pattern
        return [
            key
            for key in self.pods
            if fnmatchcase(key if with_namespace else key.rpartition("/")[2], pattern)
        ]

    def place(self, key: str) -> str:
        """Where a pod is, in words that follow its name."""
        if key in self.nodes:
            return f"is on {self.nodes[key]}"
        for eviction in self.run.evicted:
            if eviction.pod == key:
                return f"is evicted from {eviction.node} for {eviction.preemptor}"
        if key in self.run.gated:
            return f"is gated: {self.run.gated[key].message}"
        if key in self.run.last:
            return f"is pending: {self.run.last[key].why_not}"
        return "is left out"


@dataclass(frozen=True, slots=True)
class Failure:
    """message: what was expected and what came out; pod: the key of that to be explained, or ""."""

    message: str
    pod: str = ""


@dataclass(frozen=True, slots=True)
class Expectation(ABC):
    """name: as the file has it, else what is expected in words."""

    name: str

    @abstractmethod
    def check(self, outcome: Outcome) -> Failure | None:
        """None where it holds."""


@dataclass(frozen=True, slots=True)
class PodsOn(Expectation):
    """node: a glob of node names, or ""; labels: of the node, with globs of their values."""

    pods: str
    node: str
    labels: Mapping[str, str]

    def check(self, outcome: Outcome) -> Failure | None:
        keys = outcome.matching(self.pods)
        wrong = [key for key in keys if not self._holds(outcome, key)]
        where = self.node or f"a node with {_listed_labels(self.labels)}"
        return _verdict(outcome, self.pods, keys, wrong, f"on {where}", self._labels_there)

    def _holds(self, outcome: Outcome, key: str) -> bool:
        node = outcome.nodes.get(key)
        if node is None:
            return False
        labels = outcome.node_labels.get(node, {})
        return (not self.node or fnmatchcase(node, self.node)) and all(
            fnmatchcase(labels[name], value) if name in labels else False
            for name, value in self.labels.items()
        )

    def _labels_there(self, outcome: Outcome, key: str) -> str:
        """The labels in question, as the pod's node has them."""
        if key not in outcome.nodes or not self.labels:
            return ""
        labels = outcome.node_labels.get(outcome.nodes[key], {})
        return (
            f" ({', '.join(f'{n}={labels[n]}' if n in labels else f'no {n}' for n in self.labels)})"
        )


@dataclass(frozen=True, slots=True)
class PodsPending(Expectation):
    """because: a part of the message of each, or ""."""

    pods: str
    because: str

    def check(self, outcome: Outcome) -> Failure | None:
        keys = outcome.matching(self.pods)
        waiting = {*outcome.run.pending, *outcome.run.gated}
        wrong = [
            key for key in keys if key not in waiting or self.because not in outcome.place(key)
        ]
        expected = f'pending because of "{self.because}"' if self.because else "pending"
        return _verdict(outcome, self.pods, keys, wrong, expected)


@dataclass(frozen=True, slots=True)
class PodsEvicted(Expectation):
    pods: str
    evicted: bool

    def check(self, outcome: Outcome) -> Failure | None:
        keys = outcome.matching(self.pods)
        evicted = {eviction.pod for eviction in outcome.run.evicted}
        wrong = [key for key in keys if (key in evicted) != self.evicted]
        expected = "evicted" if self.evicted else "not evicted"
        return _verdict(outcome, self.pods, keys, wrong, expected)


@dataclass(frozen=True, slots=True)
class PendingCount(Expectation):
    """Gated pods do not count."""

    count: int

    def check(self, outcome: Outcome) -> Failure | None:
        return _count_verdict(self.count, outcome.run.pending, "pending")


@dataclass(frozen=True, slots=True)
class EvictedCount(Expectation):
    count: int

    def check(self, outcome: Outcome) -> Failure | None:
        return _count_verdict(self.count, [item.pod for item in outcome.run.evicted], "evicted")


@dataclass(frozen=True, slots=True)
class NodesUsed(Expectation):
    at_least: int | None
    at_most: int | None

    def check(self, outcome: Outcome) -> Failure | None:
        used = outcome.nodes_used
        if (self.at_least is None or used >= self.at_least) and (
            self.at_most is None or used <= self.at_most
        ):
            return None
        limits = (("at least", self.at_least), ("at most", self.at_most))
        expected = " and ".join(f"{what} {limit}" for what, limit in limits if limit is not None)
        return Failure(f"expected {expected} nodes with pods, and {used} have some")


@dataclass(frozen=True, slots=True)
class Spread(Expectation):
    """over: the node label whose values are compared."""

    pods: str
    over: str
    at_most: int

    def check(self, outcome: Outcome) -> Failure | None:
        keys = outcome.matching(self.pods)
        if not keys:
            return _no_pod(outcome, self.pods)
        counts = Counter(
            {labels[self.over]: 0 for labels in outcome.node_labels.values() if self.over in labels}
        )
        if not counts:
            return Failure(f"no node has the label {self.over}")
        for key in keys:
            labels = outcome.node_labels.get(outcome.nodes.get(key, ""), {})
            if self.over in labels:
                counts[labels[self.over]] += 1
        skew = max(counts.values()) - min(counts.values())
        if skew <= self.at_most:
            return None
        listed = ", ".join(f"{value}: {count}" for value, count in sorted(counts.items()))
        fullest = max(sorted(counts), key=lambda value: counts[value])
        pod = next(key for key in keys if self._is_on(outcome, key, fullest))
        message = f"expected a skew of at most {self.at_most} over {self.over}, and it is {skew}"
        return Failure(f"{message} ({listed})", pod)

    def _is_on(self, outcome: Outcome, key: str, value: str) -> bool:
        node = outcome.nodes.get(key, "")
        return outcome.node_labels.get(node, {}).get(self.over) == value


def outcome_of(simulation: Simulation) -> Outcome:
    """Runs the simulation."""
    run = simulation.run()
    pods = {pod.key: pod for pod in simulation.state.pods}
    nodes = {key: pod.node_name for key, pod in pods.items() if pod.node_name and not pod.finished}
    for eviction in run.evicted:
        nodes.pop(eviction.pod, None)
    labels = {node.metadata.name: node.metadata.labels or {} for node in simulation.state.nodes}
    used = int((simulation.snapshot.pod_count > 0).sum())
    return Outcome(run, nodes | dict(run.placements), pods, labels, used)


def _no_details(_outcome: Outcome, _key: str) -> str:
    return ""


def _verdict(
    outcome: Outcome,
    pattern: str,
    keys: Sequence[str],
    wrong: Sequence[str],
    expected: str,
    details: Callable[[Outcome, str], str] = _no_details,
) -> Failure | None:
    if not keys:
        return _no_pod(outcome, pattern)
    if not wrong:
        return None
    shown = [f"{key} {outcome.place(key)}{details(outcome, key)}" for key in wrong[:_LISTED]]
    more = f"; and {len(wrong) - _LISTED} more" if len(wrong) > _LISTED else ""
    of_many = f" ({len(wrong)} of {len(keys)} are not)" if len(keys) > 1 else ""
    return Failure(f"expected {pattern} {expected}{of_many}; {'; '.join(shown)}{more}", wrong[0])


def _no_pod(outcome: Outcome, pattern: str) -> Failure:
    names = {key.rpartition("/")[2]: key for key in outcome.pods}
    near = get_close_matches(pattern.strip("*"), [*outcome.pods, *names], n=3)
    hint = f"; did you mean {', '.join(near)}?" if near else ""
    return Failure(f'no pod matches "{pattern}" ({len(outcome.pods)} pods){hint}')


def _count_verdict(expected: int, keys: Sequence[str], what: str) -> Failure | None:
    if len(keys) == expected:
        return None
    more = ", …" if len(keys) > _LISTED else ""
    listed = f": {', '.join(keys[:_LISTED])}{more}" if keys else ""
    return Failure(
        f"expected {expected} pods {what}, and {len(keys)} are{listed}", keys[0] if keys else ""
    )


def _listed_labels(labels: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in labels.items())
