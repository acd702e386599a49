"""Hourly prices of nodes: by name, by label, or by node group. Prices have no currency."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from math import isfinite
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType, field

from ksched_cli.errors import UsageError
from ksched_cli.kube.file_parts import FilePart, RuledPart, Text, Time
from ksched_cli.kube.file_rules import SingleKey
from ksched_cli.scenario.own_document import OwnDocument, read_own_document

if TYPE_CHECKING:
    from ksched_cli.cluster.objects import Node

_HINT = "Expected apiVersion: ksched/v1, kind: Prices, and `prices` (docs/replay.md)."
_MAX = 10**12  # an hour


class Price(Struct, frozen=True):
    """per_hour: of a node; with a spot share, the mean of both prices
    minimum_billing: microseconds that a node is billed at least, once it was asked for
    """

    per_hour: float
    minimum_billing: int = 0


class NodePrice(Struct, frozen=True):
    """A price and the nodes that have it: those whose name matches `pattern`, or with these labels.

    name: in results
    """

    name: str
    price: Price
    pattern: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)

    def applies_to(self, labels: Mapping[str, str], names: Iterable[str]) -> bool:
        """Return whether the price is one of a node with these labels or names.

        names: of the node, and what else its price may be given by
        """
        if self.labels:
            return all(labels.get(key) == value for key, value in self.labels.items())
        return any(fnmatchcase(name, self.pattern) for name in names)


class Prices(Struct, frozen=True):
    """The first price that applies to a node is its price."""

    listed: tuple[NodePrice, ...] = ()

    def of_node(self, node: Node, *names: str) -> NodePrice | None:
        """Return the first price that applies to the node, or None.

        names: by which a price may be given besides the node's own
        """
        labels, all_names = node.metadata.labels, (node.name, *names)
        return next((each for each in self.listed if each.applies_to(labels, all_names)), None)

    def total(self, nodes: Iterable[Node]) -> float:
        """Return what the nodes cost an hour, as far as they have a price."""
        return sum(each.price.per_hour for each in map(self.of_node, nodes) if each is not None)


NO_PRICES = Prices()


def is_price_file(text: str) -> bool:
    """Return whether a text of --price names a file."""
    return "=" not in text


def read_prices(texts: Sequence[str], path_of: Callable[[str], str] = str) -> Prices:
    """Read what `--price` takes: NODE=N, LABEL=VALUE=N, or a file of kind Prices. Raises UsageError
    and InputError.

    path_of: where a file is in this process
    """
    listed: list[NodePrice] = []
    for text in texts:
        if is_price_file(text):
            document, file = read_own_document(path_of(text), PricesDocument, _HINT, text)
            for index, entry in enumerate(file.prices):
                price = price_from(document, entry.price, "prices", index, "price")
                labels, pattern = entry.node_selector or {}, entry.node or ""
                name = pattern or ",".join(f"{key}={value}" for key, value in labels.items())
                listed.append(NodePrice(name, price, pattern, labels))
        else:
            target, _, number = text.rpartition("=")
            try:
                amount = float(number)
            except ValueError:
                amount = -1
            if not target.strip("=") or not isfinite(amount) or not 0 <= amount <= _MAX:
                raise UsageError(f'--price takes NODE=N, LABEL=VALUE=N or a file; not "{text}"')
            label, equals, value = target.partition("=")
            price, labels = Price(amount), {label: value} if equals else {}
            listed.append(NodePrice(target, price, "" if equals else target, labels))
    return Prices(tuple(listed))


# -- files ----------------------------------------------------------------------------------------


_Cost: TypeAlias = Annotated[float, Meta(ge=0, le=_MAX)]
Labels: TypeAlias = Annotated[dict[str, str], Meta(min_length=1)]


class BilledPrice(FilePart, frozen=True, kw_only=True):
    """A price with the terms on which it is billed.

    minimum_billing: A node that is asked for is billed for so long at least; default 0; seconds, or
            a duration such as 1m.
    spot_share: The share of node-hours that is billed at spotPerHour; default 0.
    """

    per_hour: _Cost
    minimum_billing: Time | UnsetType = UNSET
    spot_share: Annotated[float, Meta(ge=0, le=1)] | UnsetType = UNSET
    spot_per_hour: _Cost | UnsetType = UNSET


HourlyPrice: TypeAlias = _Cost | BilledPrice


class PriceEntry(RuledPart, frozen=True, kw_only=True):
    """Nodes and their price.

    node: A node's name, that of its node group, or that of the node it is a copy of; * and ? match
            anything.
    node_selector: Labels that the nodes have.
    """

    RULES: ClassVar = (SingleKey(("node", "nodeSelector")),)

    node: Text | UnsetType = UNSET
    node_selector: Labels | UnsetType = UNSET
    price: Annotated[
        HourlyPrice,
        Meta(title="price", description="For an hour of a node, in any currency."),
    ]


class PricesDocument(FilePart, frozen=True, kw_only=True):
    """What nodes cost an hour.

    prices: The first that applies to a node is its price.
    """

    api_version: Literal["ksched/v1"]
    kind: Literal["Prices"]
    prices: Annotated[tuple[PriceEntry, ...], Meta(min_length=1)]


def price_from(document: OwnDocument, data: HourlyPrice, *place: str | int) -> Price:
    """Return the price per hour, with spot's share averaged in, and the time billed at least.
    Raises InputError."""
    if not isinstance(data, BilledPrice):
        return Price(data)
    if (data.spot_share is UNSET) != (data.spot_per_hour is UNSET):
        raise document.error("spotShare and spotPerHour require each other", *place)
    share, mean = data.spot_share or 0, data.per_hour
    if share and data.spot_per_hour is not UNSET:
        mean = mean * (1 - share) + data.spot_per_hour * share
    return Price(mean, document.time(data.minimum_billing, 0, *place, "minimumBilling"))
