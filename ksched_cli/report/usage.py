"""How full the cluster is, as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ksched_cli.analysis.usage import NodeUsage, Pool, UtilizationByLabel, utilization_by
from ksched_cli.kube.quantity import amount_text, amount_texts
from ksched_cli.report.table import Limit, counted

PODS = "pods"
HEADERS = ("RESOURCE", "REQUESTED", "ALLOCATABLE", "USED", "FULLEST", "EMPTIEST")


def table(usages: Sequence[NodeUsage], limit: Limit, by: str = "") -> str:
    """Nodes used; per resource requested of allocatable, the fullest and the emptiest nodes, of
    those that take pods. by: a label, for a row of each of its values"""
    if not usages:
        return ""
    chosen = ordinary(usages)
    used = sum(usage.pods > 0 for usage in usages)
    resources = dict.fromkeys(key for usage in chosen for key in usage.allocatable)
    rows = [row for resource in resources if (row := _resource_row(chosen, resource, limit))]
    text = limit.columns(HEADERS, rows)
    if not limit.fits_width(HEADERS, rows):
        text = "\n".join(limit.paragraph(_sentence(*row), "  ") for row in rows)
    left_out = without(usages)
    line = f"{used:,} of {counted(len(usages), 'node')} used"
    line += f"; below {left_out}" if left_out else ""
    line = limit.paragraph(line)
    by_label = pool_rows(utilization_by(by, usages), list(resources)) if by else None
    pools = f"\n\n{limit.columns(*by_label)}" if by_label else ""
    return f"{line}\n{text}{pools}"


def ordinary(usages: Sequence[NodeUsage]) -> Sequence[NodeUsage]:
    """The nodes that take pods; all where none does."""
    return [usage for usage in usages if not usage.apart] or usages


def without(usages: Sequence[NodeUsage]) -> str:
    """How many nodes are not ordinary, and why; "" where none is left out."""
    if len(ordinary(usages)) == len(usages):
        return ""
    counts = Counter(usage.apart for usage in usages if usage.apart)
    return f"without {', '.join(f'{count:,} {why}' for why, count in counts.items())}"


def pool_rows(
    utilization: UtilizationByLabel, resources: Sequence[str]
) -> tuple[list[str], list[tuple[str, ...]]]:
    """Headers, and a row per pool: its nodes, and what is used of each resource."""
    rows = [
        (
            _pool_name(pool, utilization.label),
            f"{pool.nodes:,}",
            *(percent(pool.used[name]) if name in pool.used else "-" for name in resources),
        )
        for pool in utilization.pools
    ]
    return [utilization.label.upper(), "NODES", *(f"{name} used" for name in resources)], rows


def _pool_name(pool: Pool, label: str) -> str:
    if pool.apart:
        return f"({pool.apart})"
    return f"no {label}" if pool.value is None else pool.value


def _sentence(
    resource: str, requested: str, allocatable: str, share: str, fullest: str, emptiest: str
) -> str:
    amounts = f"{resource}: {requested} of {allocatable} requested, {share}"
    return f"{amounts}; fullest {fullest}; emptiest {emptiest}"


def _resource_row(
    usages: Sequence[NodeUsage], resource: str, limit: Limit
) -> tuple[str, str, str, str, str, str] | None:
    """None for a resource that no node has any of."""
    shares = [
        (requested_of(usage, resource) / capacity, usage.name)
        for usage in usages
        if (capacity := usage.allocatable.get(resource, 0)) > 0
    ]
    if not shares:
        return None
    requested = sum(requested_of(usage, resource) for usage in usages)
    allocatable = sum(usage.allocatable.get(resource, 0) for usage in usages)
    return (
        resource,
        _sum_text(resource, requested),
        _sum_text(resource, allocatable),
        percent(requested / allocatable),
        _nodes_at(max(shares)[0], shares, limit),
        _nodes_at(min(shares)[0], shares, limit),
    )


def _sum_text(resource: str, amount: int) -> str:
    """As amount_text, of many cores rounded to a tenth."""
    if resource == "cpu":
        return f"{amount / 1000:,.1f}".removesuffix(".0")
    text = amount_text(resource, amount)
    return f"{amount:,}" if text == str(amount) else text


def requested_of(usage: NodeUsage, resource: str) -> int:
    return usage.pods if resource == PODS else usage.requested.get(resource, 0)


def _nodes_at(level: float, shares: Sequence[tuple[float, str]], limit: Limit) -> str:
    """The share, and the nodes that have it."""
    names = [name for share, name in shares if share == level]
    return f"{percent(level)} {limit.listed(names, 1)}"


def percent(share: float) -> str:
    """Rounded, but 100% and 0% only where they are exact."""
    rounded = round(share * 100)
    if rounded == 100 and share != 1:
        rounded = 99 if share < 1 else 101
    return "<1%" if rounded == 0 and share else f"{rounded}%"


def nodes_table(usages: Sequence[NodeUsage], limit: Limit) -> str:
    """Every node: its pods, and requested of allocatable per resource."""
    resources = dict.fromkeys(key for usage in usages for key in usage.allocatable)
    rows = [
        (usage.name, *(_of_allocatable(usage, resource) for resource in resources))
        for usage in usages
    ]
    return limit.whole.columns(("NODE", *map(str.upper, resources)), rows)


def _of_allocatable(usage: NodeUsage, resource: str) -> str:
    capacity = usage.allocatable.get(resource)
    if capacity is None:
        return "-"
    requested = requested_of(usage, resource)
    share = f" ({percent(requested / capacity)})" if capacity else ""
    return f"{' of '.join(amount_texts(resource, (requested, capacity)))}{share}"
