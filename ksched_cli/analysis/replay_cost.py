"""The cost of a replay's nodes. Times are added up as whole microseconds before they are
multiplied, so that the cost is exact to its six digits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from msgspec import Meta

from ksched_cli.answers import Count, Part
from ksched_cli.engine.replay.node_bills import NodeBill
from ksched_cli.engine.replay.replay import Replay
from ksched_cli.kube.time import SECOND

_HOUR = 3_600 * SECOND
_DIGITS = 6
Amount = Annotated[float, Meta(ge=0)]


class PriceCost(Part, frozen=True):
    """What the nodes of one price cost.

    name: of the node, the label or the node group that the price was given for
    nodes: that were billed
    hours: that were billed, added up
    """

    name: str
    per_hour: Amount
    nodes: Count
    hours: Amount
    cost: Amount


class ReplayCost(Part, frozen=True):
    """What the nodes of a replay cost, without currency.

    total: without the nodes that have no price
    unpriced: how many nodes have no price
    """

    total: Amount
    prices: tuple[PriceCost, ...]
    unpriced: Count

    @classmethod
    def of(cls, replay: Replay) -> ReplayCost | None:
        """Return the cost; None where no price was given."""
        if replay.biller is None:
            return None
        now, unpriced = replay.clock.now, 0
        by_price: dict[tuple[str, float], list[int]] = {}
        for bill in replay.biller.bills.all():
            if not bill.price:
                unpriced += 1
                continue
            by_price.setdefault((bill.price, bill.per_hour), []).append(bill.time_until(now))
        prices = tuple(
            PriceCost(
                name,
                per_hour,
                len(times),
                round(sum(times) / _HOUR, _DIGITS),
                round(_cost(sum(times), per_hour), _DIGITS),
            )
            for (name, per_hour), times in sorted(by_price.items())
        )
        total = sum(_cost(sum(times), price) for (_, price), times in sorted(by_price.items()))
        return cls(round(total, _DIGITS), prices, unpriced)


def _cost(time: int, per_hour: float) -> float:
    return time * per_hour / _HOUR


def costs_at(bills: Sequence[NodeBill], times: Sequence[int]) -> list[float]:
    """Return the cost of the nodes up to each of the times, which ascend, in microseconds."""
    moments = np.array(times, dtype=np.int64)
    billed: dict[float, np.ndarray] = {}
    for bill in bills:
        first = int(np.searchsorted(moments, bill.since))
        end = moments[first:] if bill.until is None else np.minimum(moments[first:], bill.until)
        time = billed.setdefault(bill.per_hour, np.zeros(len(moments), dtype=np.int64))
        time[first:] += np.maximum(end - bill.since, bill.minimum)
    total = np.zeros(len(moments))
    for per_hour, time in sorted(billed.items()):
        total += time * (per_hour / _HOUR)
    rounded: list[float] = total.round(_DIGITS).tolist()
    return rounded


def unpriced_warning(replay: Replay) -> str:
    """Return a warning that some nodes have no price, or ""."""
    cost = ReplayCost.of(replay)
    if cost is None or not cost.unpriced:
        return ""
    nodes = "1 node has" if cost.unpriced == 1 else f"{cost.unpriced:,} nodes have"
    return (
        f"{nodes} no price, and the cost leaves them out; --price '*=N' sets a price for all "
        "other nodes"
    )
