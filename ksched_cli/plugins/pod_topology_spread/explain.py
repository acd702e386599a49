"""The domains and counts behind PodTopologySpread's verdicts and scores of a node."""

from __future__ import annotations

import numpy as np

from ksched_cli.cluster.topology.domain_counts import Tally
from ksched_cli.cluster.topology.label_columns import MISSING
from ksched_cli.cluster.topology.pod_selection import selector_text
from ksched_cli.framework.nodes import NodeInfo
from ksched_cli.kube.selectors import Selector
from ksched_cli.plugins.pod_topology_spread.constraints import CountedConstraint

MOST_DOMAINS = 8


def filter_line(
    counted: CountedConstraint, tally: Tally, global_minimum: int, node: NodeInfo
) -> str:
    """Return why the node does not meet the constraint, or "" where it does.

    global_minimum: with minDomains taken into account
    """
    constraint, key = counted.constraint, counted.constraint.topology_key
    code = counted.node_domains.codes.item(node.row)
    if code == MISSING:
        return f"the node has no label {key}"
    counts = tally.current()
    count = int(counts[code])
    if count + counted.matches_self - global_minimum <= constraint.max_skew:
        return ""
    value, domains = counted.node_domains.values[code], tally.domains
    line = f"{key} {value} has {pods_text(count, constraint.selector)}"
    line += f", {count + 1} with this one" if counted.matches_self else ""
    if len(domains.present) < constraint.min_domains:
        present = f"{len(domains.present)} domains of at least {constraint.min_domains}"
        line += f"; with {present} the fewest counts as 0"
    else:
        fewest = domains.present[np.argmin(counts[domains.present])]
        line += f"; {domains.values[fewest]} has {global_minimum}"
    return f"{line}; max skew {constraint.max_skew}. All: {_domains_text(tally)}"


def pods_text(count: int, selector: Selector) -> str:
    return f"{count} pod{'' if count == 1 else 's'} with {selector_text(selector)}"


def _domains_text(tally: Tally) -> str:
    """The domains that count, those with the fewest pods first; the range where there are many."""
    domains = tally.domains
    counts = tally.current()[domains.present]
    if len(counts) > MOST_DOMAINS:
        return f"{len(counts)} domains, {counts.min()} to {counts.max()} each"
    ranked = sorted(
        (count, domains.values[code])
        for count, code in zip(counts.tolist(), domains.present.tolist(), strict=True)
    )
    return ", ".join(f"{value} {count}" for count, value in ranked) or "none"


def score_line(counted: CountedConstraint, weight: float, node: NodeInfo) -> str:
    """Return what a constraint adds to the node's raw score; "" where the node lacks the label."""
    code = counted.node_domains.codes.item(node.row)
    if code == MISSING:
        return ""
    count = int(counted.counter.counts[counted.codes.item(node.row)])
    skew = counted.constraint.max_skew - 1
    value = f"{counted.constraint.topology_key} {counted.node_domains.values[code]}"
    line = f"{value} has {pods_text(count, counted.constraint.selector)}"
    return f"{line}: {count} x {weight:.3f} + {skew}, fewer is better"
