"""Amounts of resources as text for people: "1500m", "2Gi".

The scheduler counts cpu in thousandths, memory and storage in bytes, all else in units.
"""

from __future__ import annotations

from collections.abc import Sequence

_BINARY_UNITS = (("Ti", 1 << 40), ("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10))


def amount_text(resource: str, amount: int) -> str:
    """Text of an amount in the scheduler's unit of the resource; bytes rounded to a tenth."""
    if resource == "cpu":
        return str(amount // 1000) if amount % 1000 == 0 else f"{amount}m"
    if is_of_bytes(resource):
        return _bytes_text(amount)
    return str(amount)


def amount_texts(resource: str, amounts: Sequence[int]) -> list[str]:
    """Texts of amounts that are read beside each other; cpu in cores, such as 6.5."""
    if resource == "cpu":
        return [f"{amount / 1000:.12g}" for amount in amounts]
    return [amount_text(resource, amount) for amount in amounts]


def exact_text(resource: str, amount: int) -> str:
    """A quantity of exactly the amount, which is in the scheduler's unit of the resource."""
    if resource == "cpu" or not amount:
        return amount_text(resource, amount)
    if is_of_bytes(resource):
        for suffix, unit in _BINARY_UNITS:
            if amount % unit == 0:
                return f"{amount // unit}{suffix}"
    return str(amount)


def is_of_bytes(resource: str) -> bool:
    """Whether the scheduler counts the resource in bytes."""
    return resource in ("memory", "ephemeral-storage") or resource.startswith("hugepages-")


def _bytes_text(amount: int) -> str:
    for suffix, unit in _BINARY_UNITS:
        if abs(amount) >= unit:
            return f"{amount / unit:.1f}".removesuffix(".0") + suffix
    return str(amount)
