"""Amounts in scheduler units, written for people."""

from __future__ import annotations

BINARY = (("Ti", 1 << 40), ("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10))


def amount_text(resource: str, amount: int) -> str:
    """cpu: milli; memory and storage: bytes; anything else: as counted."""
    if resource == "cpu":
        return str(amount // 1000) if amount % 1000 == 0 else f"{amount}m"
    if resource in ("memory", "ephemeral-storage") or resource.startswith("hugepages-"):
        return _bytes_text(amount)
    return str(amount)


def _bytes_text(amount: int) -> str:
    for suffix, unit in BINARY:
        if abs(amount) >= unit:
            return f"{amount / unit:.1f}".removesuffix(".0") + suffix
    return str(amount)
