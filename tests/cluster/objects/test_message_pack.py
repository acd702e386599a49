"""Objects as MessagePack."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import msgspec
import pytest

from ksched_cli.cluster.objects import Node, ResourceAmount
from ksched_cli.cluster.objects.message_pack import pack, unpack
from ksched_cli.cluster.objects.node import NodeStatus
from ksched_cli.kube.quantity import Quantity

LARGE = "1" + "0" * 25


@pytest.mark.parametrize(
    "text", ["0", "100m", "+5", "1.5Gi", "8589934592", "2e3", "1e30", "-3n", "0.0001", LARGE, "7Ei"]
)
@pytest.mark.parametrize("kind", [Quantity, ResourceAmount])
def test_a_quantity_is_the_same_down_to_how_it_overflows(kind: type[Quantity], text: str) -> None:
    if kind is ResourceAmount and text.startswith("-"):
        return
    amount = kind.parse(text)
    again = unpack(pack(amount), kind)
    assert type(again) is kind
    for name in ("unscaled", "scale", "form", "wide"):
        assert getattr(again, name) == getattr(amount, name)
    assert (str(again), again.value()) == (str(amount), amount.value())


def test_a_sum_of_quantities_is_the_same() -> None:
    total = Quantity.parse("1500m") + Quantity.parse("1Gi") + Quantity.parse("3E")
    again = unpack(pack({"total": total}), dict[str, Quantity])["total"]
    assert (again, str(again), again.wide) == (total, str(total), total.wide)


def test_an_object_is_the_same() -> None:
    status = NodeStatus(capacity={"cpu": ResourceAmount.parse("2")})
    node = Node(status=status, raw=msgspec.Raw(pack(b"{}")))
    again = unpack(pack(node), Node)
    assert (again.status, again.metadata) == (node.status, node.metadata)
    assert unpack(pack(MappingProxyType({("a", "b"): 1})), dict[tuple[str, str], int]) == {
        ("a", "b"): 1
    }


AMOUNT: list[Any] = ["5", 0, "DecimalSI", False, "5"]


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (0, "x"),
        (0, "9" * 5000),
        (0, "1\n"),
        (1, 10**6),
        (1, -10),
        (2, "x"),
        (3, 1),
        (4, ""),
        (4, 5),
    ],
)
def test_what_is_no_quantity_is_refused(place: int, value: object) -> None:
    assert unpack(pack(AMOUNT), Quantity) == Quantity.parse("5")
    changed = [*AMOUNT[:place], value, *AMOUNT[place + 1 :]]
    with pytest.raises(msgspec.ValidationError):
        unpack(pack(changed), Quantity)


@pytest.mark.parametrize(
    "data", [b"", b"\xc1", b"5 and more", pack([5]), b"\x81\xa1\xff\x01", b"\x91" * 10**5]
)
def test_what_is_of_another_type_is_refused(data: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        unpack(data, Quantity)
    with pytest.raises(msgspec.DecodeError):
        unpack(data, dict[str, int])


def test_what_it_cannot_hold_is_refused() -> None:
    with pytest.raises(TypeError, match="MessagePack has no `object`"):
        pack(object())
    with pytest.raises(OverflowError):
        pack(2**64)
