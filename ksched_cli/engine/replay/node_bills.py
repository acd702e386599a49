"""The billed time of each node of a replay, and its price.

A node is billed from when the autoscaler asked for it, or from when it joined, until it leaves. Its
price is that of its labels as it joined.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from msgspec import Struct
from msgspec import field as struct_field

from ksched_cli.cluster.objects import Node
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.engine.replay.autoscaler.autoscaler import Autoscaler
from ksched_cli.engine.replay.records import Moment
from ksched_cli.scenario.node_groups import NodeGroup
from ksched_cli.scenario.prices import Prices


class NodeBill(Struct, array_like=True):
    """A node's time, in microseconds.

    price:   the name of its price; "" where none applies to it
    minimum: it is billed for so long at least
    until:   None while it is there
    """

    price: str
    per_hour: float
    since: Moment
    minimum: Moment
    until: Moment | None = None

    def time_until(self, at: int) -> int:
        """Return the billed time at a moment that is not before `since`."""
        end = at if self.until is None else min(at, self.until)
        return max(end - self.since, self.minimum)


class NodeBills(Struct):
    """open: of existing and requested nodes, by name; closed: of those that left"""

    open: dict[str, NodeBill] = struct_field(default_factory=dict)
    closed: list[NodeBill] = struct_field(default_factory=list)

    def all(self) -> list[NodeBill]:
        """Every bill, those of nodes that left first."""
        return [*self.closed, *self.open.values()]


@dataclass(slots=True)
class NodeBiller:
    """Follows the nodes of a replay, and writes their bills."""

    prices: Prices
    autoscaler: Autoscaler | None
    bills: NodeBills = field(default_factory=NodeBills)
    _snapshot: Snapshot | None = None
    _upcoming: tuple[str, ...] = ()

    def note(self, at: int, snapshot: Snapshot, *, is_start: bool = False) -> None:
        """All that happens at a time has happened. is_start: the nodes have been there for long, so
        that their minimum billing is over"""
        autoscaler = self.autoscaler
        requested = autoscaler.state.upcoming if autoscaler is not None else []
        names = tuple(node.name for node in requested)
        if snapshot is self._snapshot and names == self._upcoming:
            return
        self._snapshot, self._upcoming = snapshot, names
        bills = self.bills
        present = snapshot.row.keys() | set(names)
        for name in [name for name in bills.open if name not in present]:
            bill = bills.open.pop(name)
            bill.until = at
            bills.closed.append(bill)
        for node in snapshot.nodes:
            if node.name not in bills.open:
                group = None if autoscaler is None else autoscaler.group_of(node)
                bills.open[node.name] = self._bill(at, node, group, is_start)
        for upcoming in requested:
            if upcoming.name not in bills.open:
                assert autoscaler is not None
                group = autoscaler.groups[upcoming.group]
                node = group.new_node(upcoming.name)
                bills.open[upcoming.name] = self._bill(at, node, group, False)

    def _bill(self, at: int, node: Node, group: NodeGroup | None, is_start: bool) -> NodeBill:
        price = self.prices.of_node(node) if group is None else group.node_price(node, self.prices)
        if price is None:
            return NodeBill("", 0.0, at, 0)
        minimum = 0 if is_start else price.price.minimum_billing
        return NodeBill(price.name, price.price.per_hour, at, minimum)
