"""The pods and counts behind InterPodAffinity's verdicts and scores of a node.

Nothing here runs in a cycle, so it may visit every pod.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct, field

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.cluster.topology.domain_counts import DomainCounter, Domains
from ksched_cli.cluster.topology.label_columns import MISSING
from ksched_cli.cluster.topology.pod_index import TermCounter, TermKind
from ksched_cli.cluster.topology.pod_selection import PodSelection
from ksched_cli.framework.nodes import NodeInfo

MOST_NAMED = 3
MOST_DOMAINS = 8


class PodNames(Struct):
    """The names of the first pods, and the number of all."""

    names: list[str] = field(default_factory=list)
    count: int = 0

    def add(self, name: str) -> None:
        self.count += 1
        if len(self.names) < MOST_NAMED:
            self.names.append(name)

    def __str__(self) -> str:
        more = self.count - len(self.names)
        return ", ".join(self.names) + (f" and {more} more" if more else "")


PodNamesByDomain = dict[tuple[object, int], PodNames]
"""Keys: a term's counter, by identity, and a domain's code."""


def pods_on(snapshot: Snapshot) -> Iterator[tuple[PodInfo, int, str]]:
    """Every pod with its row, and its key and node as text."""
    for row, pods in enumerate(snapshot.pods):
        for pod in pods:
            yield pod, row, f"{pod.key} on {snapshot.names[row]}"


def add_pod_name(names: PodNamesByDomain, term: DomainCounter, row: int, name: str) -> None:
    """Adds the pod on `row` to those of its domain; nothing where the row has no domain."""
    code = term.domains.codes.item(row)
    if code != MISSING:
        names.setdefault((term, code), PodNames()).add(name)


def domain_of(domains: Domains, node: NodeInfo) -> tuple[int, str]:
    """The code of the node's domain, and the domain as key=value."""
    code = domains.codes.item(node.row)
    return code, f"no label {domains.key}" if code == MISSING else domains.name(code)


def affinity_line(selection: PodSelection, counter: DomainCounter, node: NodeInfo) -> str:
    """Why a node does not meet the required affinity on one topology key, or "" where it does."""
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
    """What one term adds to the node's raw score, or "" where it adds nothing."""
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
