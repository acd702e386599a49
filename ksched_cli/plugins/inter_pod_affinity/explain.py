"""The pods and counts behind InterPodAffinity's verdicts and scores of a node.

Nothing here runs in a cycle, so it may visit every pod.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.cluster.topology.domain_counts import DomainCounter, Domains
from ksched_cli.cluster.topology.label_columns import MISSING
from ksched_cli.cluster.topology.pod_index import TermCounter, TermKind
from ksched_cli.cluster.topology.pod_selection import PodSelection
from ksched_cli.framework.nodes import NodeInfo

MOST_NAMED = 3
MOST_DOMAINS = 8


PodsByDomain = dict[DomainCounter, dict[int, list[tuple[PodInfo, int]]]]
"""By a term's counter and a domain's code the pods there, each with its row."""


def add_pods(
    conflicting: PodsByDomain,
    snapshot: Snapshot,
    counters_of: Callable[[PodInfo], Iterable[DomainCounter]],
) -> None:
    """Adds every pod to the terms that conflict with it. counters_of: the same for pods of one
    shape"""
    by_shape: dict[int, tuple[DomainCounter, ...]] = {}
    for row, pods in enumerate(snapshot.pods):
        for pod in pods:
            counters = by_shape.get(pod.shape)
            if counters is None:
                counters = by_shape[pod.shape] = tuple(counters_of(pod))
            for counter in counters:
                code = counter.domains.codes.item(row)
                if code != MISSING:
                    conflicting.setdefault(counter, {}).setdefault(code, []).append((pod, row))


def pod_names(pods: Sequence[tuple[PodInfo, int]], snapshot: Snapshot) -> str:
    """The names of the first pods and of their nodes, and how many more there are."""
    names = ", ".join(f"{pod.key} on {snapshot.names[row]}" for pod, row in pods[:MOST_NAMED])
    more = len(pods) - MOST_NAMED
    return names + (f" and {more} more" if more > 0 else "")


def domain_of(domains: Domains, node: NodeInfo) -> tuple[int, str]:
    """The code of the node's domain, and the domain as key=value."""
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
    elif counter.kind is TermKind.REQUIRES:
        line = f"{pods} with required affinity to {selection}"
    else:
        line = f"{pods} with preferred {'anti-' if weight < 0 else ''}affinity to {selection}"
    return f"{line}, {weight:+d} each: {count * weight:+d}"
