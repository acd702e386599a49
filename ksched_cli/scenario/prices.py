"""Hourly prices of nodes: by name, by label, or by node group. Prices have no currency."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from math import isfinite
from typing import TYPE_CHECKING, Any

from ksched_cli.errors import UsageError
from ksched_cli.scenario.own_document import OwnDocument, read_own_document

if TYPE_CHECKING:
    from ksched_cli.cluster.objects import Node

_HINT = "Expected apiVersion: ksched/v1, kind: Prices, and `prices` (docs/replay.md)."
_MAX = 1e12  # an hour


@dataclass(frozen=True, slots=True)
class Price:
    """per_hour: of a node; with a spot share, the mean of both prices
    minimum_billing: microseconds that a node is billed at least, once it was asked for
    """

    per_hour: float
    minimum_billing: int = 0


@dataclass(frozen=True, slots=True)
class NodePrice:
    """A price and the nodes that have it: those whose name matches `pattern`, or with these labels.

    name: in results
    """

    name: str
    price: Price
    pattern: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)

    def applies_to(self, labels: Mapping[str, str], names: Iterable[str]) -> bool:
        """names: of the node, and what else its price may be given by"""
        if self.labels:
            return all(labels.get(key) == value for key, value in self.labels.items())
        return any(fnmatchcase(name, self.pattern) for name in names)


@dataclass(frozen=True, slots=True)
class Prices:
    """The first price that applies to a node is its price."""

    listed: tuple[NodePrice, ...] = ()

    def of_node(self, node: Node, *names: str) -> NodePrice | None:
        """names: by which a price may be given besides the node's own"""
        labels, all_names = node.metadata.labels, (node.name, *names)
        return next((each for each in self.listed if each.applies_to(labels, all_names)), None)


NO_PRICES = Prices()


def is_price_file(text: str) -> bool:
    """Whether a text of --price names a file."""
    return "=" not in text


def read_prices(texts: Sequence[str], path_of: Callable[[str], str] = str) -> Prices:
    """Reads what `--price` takes: NODE=N, LABEL=VALUE=N, or a file of kind Prices.

    path_of: where a file is in this process
    Raises UsageError, InputError
    """
    listed: list[NodePrice] = []
    for text in texts:
        if is_price_file(text):
            listed += _of_file(read_own_document(path_of(text), "Prices", _HINT, text))
        else:
            listed.append(_inline(text))
    return Prices(tuple(listed))


def _inline(text: str) -> NodePrice:
    target, _, number = text.rpartition("=")
    try:
        price = float(number)
    except ValueError:
        price = -1
    if not target.strip("=") or not isfinite(price) or not 0 <= price <= _MAX:
        raise UsageError(f'--price takes NODE=N, LABEL=VALUE=N or a file; not "{text}"')
    label, equals, value = target.partition("=")
    if equals:
        return NodePrice(target, Price(price), labels={label: value})
    return NodePrice(target, Price(price), target)


def _of_file(document: OwnDocument) -> Iterable[NodePrice]:
    for index, entry in enumerate(document.data["prices"]):
        price = price_from(document, entry["price"], "prices", index, "price")
        labels = entry.get("nodeSelector", {})
        name = entry.get("node") or ",".join(f"{key}={value}" for key, value in labels.items())
        yield NodePrice(name, price, entry.get("node", ""), labels)


def price_from(document: OwnDocument, data: Any, *place: str | int) -> Price:
    """data: a number, or an object as the schemas have it. Raises InputError."""
    if not isinstance(data, Mapping):
        return Price(float(data))
    share, per_hour = data.get("spotShare", 0), float(data["perHour"])
    if ("spotShare" in data) != ("spotPerHour" in data):
        raise document.error("spotShare and spotPerHour require each other", *place)
    mean = per_hour * (1 - share) + data["spotPerHour"] * share if share else per_hour
    return Price(mean, document.time(data.get("minimumBilling"), 0, *place, "minimumBilling"))
