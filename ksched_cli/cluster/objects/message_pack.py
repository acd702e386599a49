"""Objects as MessagePack and back, with nothing lost: for files that ksched alone reads.

JSON of an object has its quantities as Kubernetes prints them. Here a quantity keeps its digits and
its form, as it overflows and rounds by them.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeVar

import msgspec
from msgspec import Meta, Struct

from ksched_cli.kube.quantity import BINARY_SI, DECIMAL_EXPONENT, DECIMAL_SI, NANO, Quantity

T = TypeVar("T")

if TYPE_CHECKING:
    _Array = array[int]
else:
    _Array = array  # Python 3.11 cannot subscript it


class Integers(_Array):
    """Many 64-bit integers, as compact as they can be."""

    __slots__ = ()

    def __new__(cls, data: bytes = b"") -> Self:
        """data: as `tobytes` gave it; raises ValueError for what no integers are in"""
        integers: Self = super().__new__(cls, "q", data)  # type: ignore[assignment]  # typeshed
        return integers


class _Amount(Struct, frozen=True, array_like=True):
    """A quantity. unscaled: its digits, which may be more than 64 bits hold; text: as it prints"""

    unscaled: Annotated[str, Meta(pattern=r"^-?[0-9]{1,4000}\Z")]
    scale: Annotated[int, Meta(ge=NANO, le=1000)]
    form: Annotated[str, Meta(pattern=rf"^({DECIMAL_SI}|{BINARY_SI}|{DECIMAL_EXPONENT})\Z")]
    wide: bool
    text: Annotated[str, Meta(min_length=1, max_length=4000)]


def pack(value: Any) -> bytes:
    """Raises OverflowError for an integer of more than 64 bits, TypeError for what is neither plain
    data nor made of structs, dataclasses and quantities."""
    return msgspec.msgpack.encode(value, enc_hook=_plain)


def unpack(data: bytes | msgspec.Raw, kind: type[T]) -> T:
    """Raises msgspec.DecodeError for anything that is not MessagePack, or is of another type."""
    try:
        return msgspec.msgpack.decode(data, type=kind, dec_hook=_object)
    except (UnicodeDecodeError, RecursionError) as error:
        raise msgspec.DecodeError(str(error)) from None


def _plain(value: object) -> object:
    if isinstance(value, Quantity):
        return _Amount(str(value.unscaled), value.scale, value.form, value.wide, str(value))
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Integers):
        return value.tobytes()
    raise TypeError(f"MessagePack has no `{type(value).__name__}`")


def _object(kind: Any, value: object) -> object:
    if issubclass(kind, Integers):
        return kind(msgspec.convert(value, bytes))
    if not issubclass(kind, Quantity):
        raise NotImplementedError(kind)
    return _quantity(kind, msgspec.convert(value, _Amount))


@lru_cache(maxsize=65536)
def _quantity(kind: Callable[..., Quantity], amount: _Amount) -> Quantity:
    return kind(int(amount.unscaled), amount.scale, amount.form, amount.wide, amount.text)
