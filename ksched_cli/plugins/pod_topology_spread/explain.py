"""The domains and numbers behind what PodTopologySpread says about a node."""

from __future__ import annotations

import numpy as np

from ksched_cli.cluster.selectors import Selector
from ksched_cli.cluster.topology.domain_counts import Tally
from ksched_cli.cluster.topology.label_columns import MISSING
from ksched_cli.cluster.topology.pod_selection import selector_text
from ksched_cli.framework.nodes import NodeInfo
from ksched_cli.plugins.pod_topology_spread.constraints import CountedConstraint

MOST_DOMAINS = 8


def filter_line(one: CountedConstraint, tally: Tally, least: int, node: NodeInfo) -> str:
    """Why the node does not meet the constraint, or "" where it does.

    least: the global minimum, minDomains taken into account
    """
    constraint, key = one.constraint, one.constraint.topology_key
    code = one.labelled.codes.item(node.row)
    if code == MISSING:
        return f"the node has no label {key}"
    counts = tally.current()
    count = int(counts[code])
    if count + one.matches_self - least <= constraint.max_skew:
        return ""
    value, domains = one.labelled.values[code], tally.domains
    said = f"{key} {value} has {pods(count, constraint.selector)}"
    said += f", {count + 1} with this one" if one.matches_self else ""
    if len(domains.present) < constraint.min_domains:
        few = f"{len(domains.present)} domains of at least {constraint.min_domains}"
        said += f"; with {few} the fewest counts as 0"
    else:
        fewest = domains.present[np.argmin(counts[domains.present])]
        said += f"; {domains.values[fewest]} has {least}"
    return f"{said}; max skew {constraint.max_skew}. All: {_all(tally)}"


def pods(count: int, selector: Selector) -> str:
    return f"{count} pod{'' if count == 1 else 's'} with {selector_text(selector)}"


def _all(tally: Tally) -> str:
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


def score_line(one: CountedConstraint, weight: float, node: NodeInfo) -> str:
    """What a constraint adds to the node's raw score; "" where the node lacks the label."""
    code = one.labelled.codes.item(node.row)
    if code == MISSING:
        return ""
    count = int(one.counter.counts[one.where.item(node.row)])
    skew = one.constraint.max_skew - 1
    value = f"{one.constraint.topology_key} {one.labelled.values[code]}"
    said = f"{value} has {pods(count, one.constraint.selector)}"
    return f"{said}: {count} x {weight:.3f} + {skew}, fewer is better"
