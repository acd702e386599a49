"""How full the cluster is, as tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from msgspec import UnsetType
from msgspec.structs import replace

from ksched_cli.analysis.cluster_cost import ClusterCost, CostShare
from ksched_cli.analysis.usage import HourlyCost, NodeUsage, PoolUsage, UtilizationByLabel
from ksched_cli.cluster.snapshot import USAGE_DIGITS
from ksched_cli.kube.quantity import is_of_bytes
from ksched_cli.report.view import Column, Kind, Medium, Rows, Table, table
from ksched_cli.report.words import counted, verb
from ksched_cli.report.words import percent as percent

PODS = "pods"
SHOWN_COSTS = 10
NO_SHARE = CostShare("", 0, 0)
COST_AN_HOUR = Column("Cost an hour", Kind.NUMBER)
COST_AFTER = Column("Cost after", Kind.NUMBER)


def resources_table(usages: Sequence[NodeUsage]) -> Table:
    """Return per resource requested of allocatable, the fullest and the emptiest nodes, of those
    that take pods."""
    chosen = ordinary(usages)
    used = sum(usage.pods > 0 for usage in usages)
    left_out = without(usages)
    resources = dict.fromkeys(key for usage in chosen for key in usage.allocatable)
    rows = []
    for resource in resources:
        shares = [
            (requested_of(usage, resource) / capacity, usage.name)
            for usage in chosen
            if (capacity := usage.allocatable.get(resource, 0)) > 0
        ]
        if not shares:  # no node has any of it
            continue
        requested = round(sum(requested_of(usage, resource) for usage in chosen), USAGE_DIGITS)
        allocatable = sum(usage.allocatable.get(resource, 0) for usage in chosen)
        row = (
            resource,
            (resource, requested, allocatable),
            requested / allocatable,
            _nodes_at(max(shares)[0], shares),
            _nodes_at(min(shares)[0], shares),
        )
        rows.append(row)
    columns = (
        Column("Resource"),
        Column("Requested", Kind.AMOUNT),
        Column("Used", Kind.SHARE),
        Column("Fullest", drop=1),
        Column("Emptiest", drop=2),
    )
    return Table(
        heading=f"{used:,} of {counted(len(usages), 'node')} used",
        columns=columns,
        rows=rows,
        note=left_out,
        on=Medium.TEXT,
    )


def ordinary(usages: Sequence[NodeUsage]) -> Sequence[NodeUsage]:
    """Return the nodes that take pods; all where none does."""
    return [usage for usage in usages if not usage.apart] or usages


def without(usages: Sequence[NodeUsage]) -> str:
    """Say how many nodes are not ordinary, and why; "" if none is left out."""
    if len(ordinary(usages)) == len(usages):
        return ""
    counts = Counter(usage.apart for usage in usages if usage.apart)
    return f"without {', '.join(f'{count:,} {why}' for why, count in counts.items())}"


def cost_text(cost: HourlyCost) -> str:
    """Return what nodes cost an hour, and what of it is idle."""
    share = f" ({percent(cost.idle / cost.per_hour)})" if cost.per_hour else ""
    text = f"costs {hourly(cost.per_hour)} an hour, of which {hourly(cost.idle)}{share} is idle"
    if cost.unpriced:
        nodes = f"{counted(cost.unpriced, 'node')} that {verb(cost.unpriced, 'has', 'have')}"
        text += f", without {nodes} no price"
    return text


def hourly(cost: float) -> str:
    """Return a cost for an hour: as 1,234.50, 15.94 or 0.2522."""
    return f"{cost:,.2f}" if cost >= 100 else f"{cost:.4g}"


def cost_columns(
    costs: Iterable[HourlyCost | UnsetType], *, is_after: bool = False
) -> list[tuple[Column, Callable[[PoolUsage], Any]]]:
    """Return the columns of what pools cost, where any has a price. is_after: of nodes that could
    go"""
    if not any(costs):
        return []
    cost, idle = (COST_AFTER, "Idle after") if is_after else (COST_AN_HOUR, "Idle")
    return [
        (
            cost,
            lambda pool: hourly(pool.cost.per_hour) if pool.cost else None,
        ),
        (
            Column(idle, Kind.NUMBER, drop=1),
            lambda pool: hourly(pool.cost.idle) if pool.cost else None,
        ),
    ]


def pools_table(utilization: UtilizationByLabel) -> Table:
    """Return a row per value of a label: its nodes, and what is used of each resource."""
    resources = list(dict.fromkeys(key for pool in utilization.pools for key in pool.used))
    return table(
        f"Utilisation by {utilization.label}",
        utilization.pools,
        (Column(utilization.label), lambda pool: pool_name(pool, utilization.label)),
        (Column("Nodes", Kind.NUMBER), lambda pool: pool.nodes),
        *(
            (Column(f"{name} used", Kind.SHARE), lambda pool, name=name: pool.used.get(name))
            for name in resources
        ),
        *cost_columns(pool.cost for pool in utilization.pools),
    )


def pool_name(pool: PoolUsage, label: str) -> str:
    """Return what a table calls the nodes of one value of a label."""
    if pool.apart:
        return f"({pool.apart})"
    return f"no {label}" if pool.value is None else pool.value


def requested_of(usage: NodeUsage, resource: str) -> float:
    return usage.pods if resource == PODS else usage.requested.get(resource, 0)


def _nodes_at(level: float, shares: Sequence[tuple[float, str]]) -> str:
    """Return the share, and the nodes that have it."""
    names = [name for share, name in shares if share == level]
    rest = f" and {len(names) - 1:,} more" if len(names) > 1 else ""
    return f"{percent(level)} {names[0]}{rest}"


def nodes_table(usages: Sequence[NodeUsage]) -> Table:
    """Return every node: its pods, and requested of allocatable per resource."""
    resources = dict.fromkeys(key for usage in usages for key in usage.allocatable)
    columns = [Column("Node", Kind.NODE)]
    for resource in resources:
        columns.append(Column(resource, amount_kind(resource)))
        columns.append(Column("%", Kind.SHARE, drop=1))
    rows = []
    for usage in usages:
        row: list[Any] = [usage.name]
        for resource in resources:
            capacity, requested = usage.allocatable.get(resource), requested_of(usage, resource)
            row += [None, None] if capacity is None else [
                (requested, capacity), requested / capacity if capacity else None
            ]  # fmt: skip
        rows.append(row)
    return Table(heading="Every node", columns=columns, rows=rows, brief=len(rows), on=Medium.TEXT)


def amount_kind(resource: str) -> Kind:
    """Return the kind of a column of a resource's amounts."""
    if resource == "cpu":
        return Kind.CPU
    return Kind.BYTES if is_of_bytes(resource) else Kind.NUMBER


def cost_tables(
    *costs: tuple[Column, ClusterCost | UnsetType], differing: bool = False
) -> Iterator[Table]:
    """Yield what the requests of namespaces and of owners cost an hour, what costs most first.

    costs: of one cluster, or of several side by side
    differing: where lists are cut, fold rows that are equal on all sides
    """
    for name, lists in (
        ("namespace", [cost.by_namespace if cost else None for _, cost in costs]),
        ("owner", [cost.by_owner if cost else None for _, cost in costs]),
    ):
        sides = [None if own is None else {each.name: each for each in own} for own in lists]
        most: dict[str, float] = {}
        for share in (each for side in sides if side for each in side.values()):
            most[share.name] = max(most.get(share.name, 0), share.per_hour)
        rows = []
        for each in sorted(most, key=lambda name: (-most[name], name)):
            shares = [None if side is None else side.get(each, NO_SHARE) for side in sides]
            pods = [share.pods for share in shares if share] if len(costs) == 1 else []
            texts = (hourly(share.per_hour) if share else "none" for share in shares)
            rows.append((each, *pods, *texts))
        count = [Column("Pods", Kind.NUMBER)] if len(costs) == 1 else []
        every = Table(
            heading=f"Cost of requests by {name}",
            columns=[Column(name.capitalize()), *count, *(column for column, _ in costs)],
            rows=rows,
            brief=SHOWN_COSTS,
            noun=f"{name}s",
            on=Medium.ALL if name == "namespace" else Medium.WIDE | Medium.WHOLE | Medium.PAGE,
        )
        if not differing:
            yield every
            continue
        yield replace(every, on=Medium.WIDE | Medium.WHOLE)
        if any(len({*row[1:]}) > 1 for row in rows):
            on = every.on & (Medium.BRIEF | Medium.PAGE)
            yield replace(every, shown=Rows.NOT_EQUAL, on=on)
