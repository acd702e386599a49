"""Kubernetes quantities: "100m", "1.5Gi", "2e3".

Upstream: k8s.io/apimachinery/pkg/api/resource (quantity.go, amount.go, math.go, scale_int.go,
suffix.go). A quantity is unscaled * 10**scale. Upstream keeps small ones as int64 and others as
decimals of any size; the two differ in what they do on overflow and in rounding negative values,
so `wide` tells which of them a quantity is.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, total_ordering

from ksched_cli.kube.int64 import MAX_INT64, MIN_INT64, wrap

DECIMAL_SI = "DecimalSI"
BINARY_SI = "BinarySI"
DECIMAL_EXPONENT = "DecimalExponent"

NANO = -9
MILLI = -3

_WRONG_FORMAT = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)
_WRONG_NUMBER = "unable to parse numeric part of quantity"
_WRONG_SUFFIX = "unable to parse quantity's suffix"

_DECIMAL_SUFFIXES = {
    -9: "n", -6: "u", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E",
}  # fmt: skip
_BINARY_SUFFIXES = {10: "Ki", 20: "Mi", 30: "Gi", 40: "Ti", 50: "Pi", 60: "Ei"}
_DECIMAL_EXPONENTS = {suffix: exponent for exponent, suffix in _DECIMAL_SUFFIXES.items()}
_BINARY_EXPONENTS = {suffix: exponent for exponent, suffix in _BINARY_SUFFIXES.items()}

# Decimal digits that surely fit an int64.
_INT64_DIGITS = 18
_SINGLE_STEP_DIGITS = (1, 2, 3, 6, 9)
# Upstream takes any exponent and any number of digits, and computes with all of them.
_MAX_EXPONENT = _MAX_DIGITS = 1000


class QuantityError(ValueError):
    """The text is not a quantity. The message is upstream's."""


@total_ordering
class Quantity:
    """An amount. Immutable by convention. Equal amounts are equal, however they were written.

    unscaled, scale: the amount is unscaled * 10**scale
    form: DecimalSI, BinarySI or DecimalExponent: how it is printed
    wide: whether upstream keeps it as a decimal of any size, not as an int64
    """

    # Not a dataclass, which msgspec would decode by itself.
    __slots__ = ("_text", "form", "scale", "unscaled", "wide")

    def __init__(
        self,
        unscaled: int,
        scale: int = 0,
        form: str = DECIMAL_SI,
        wide: bool = False,
        text: str = "",
    ) -> None:
        self.unscaled = unscaled
        self.scale = scale
        self.form = form
        self.wide = wide
        self._text = text

    @classmethod
    def parse(cls, text: str) -> Quantity:
        """Parse a quantity. Raises QuantityError. Same texts give the same object."""
        return _parse(text)

    def value(self) -> int:
        """Units, rounded away from zero. On overflow of an int64 the result is upstream's."""
        return self.scaled_value(0)

    def milli_value(self) -> int:
        """Thousandths, rounded and overflowing as value() is."""
        return self.scaled_value(MILLI)

    def scaled_value(self, scale: int) -> int:
        """Return the amount in units of 10**scale. Upstream: Quantity.ScaledValue."""
        shift = self.scale - scale
        if self.wide:
            # Upstream: scaledValue. Integers wrap, division truncates and then adds one.
            if shift >= 0:
                return wrap(self.unscaled * _power_of_ten(shift))
            divisor = _power_of_ten(-shift)
            if self.unscaled < MAX_INT64 and -shift <= _INT64_DIGITS and self.unscaled < 0:
                low = wrap(self.unscaled)
                quotient = -(-low // divisor) if low < 0 else low // divisor
                return quotient + (low % divisor != 0)
            return wrap(-(-self.unscaled // divisor))
        if shift < 0:
            return _divide_away(self.unscaled, -shift)
        # Upstream: positiveScaleInt64. On overflow it wraps where upstream multiplies in one step,
        # else it is 0.
        if not self.unscaled or shift > _INT64_DIGITS:
            return 0
        result = self.unscaled * _power_of_ten(shift)
        if MIN_INT64 <= result <= MAX_INT64:
            return result
        return wrap(result) if shift in _SINGLE_STEP_DIGITS else 0

    def saturated_value(self, scale: int) -> int:
        """As scaled_value, but the nearest int64 on overflow. Upstream: AsScaledInt64 from 1.38."""
        shift = self.scale - scale
        if shift < 0:
            amount = _divide_away(self.unscaled, -shift)
        elif shift > _INT64_DIGITS and self.unscaled:
            amount = self.sign() * (MAX_INT64 + 1)
        else:
            amount = self.unscaled * _power_of_ten(shift)
        return min(max(amount, MIN_INT64), MAX_INT64)

    def nano_value(self) -> int:
        """Billionths, exactly: nothing is smaller, and Python's integers do not overflow."""
        return _unscaled_at(self, NANO)

    def sign(self) -> int:
        return (self.unscaled > 0) - (self.unscaled < 0)

    def round_up(self, scale: int) -> Quantity:
        """To multiples of 10**scale, away from zero. Upstream: Quantity.RoundUp."""
        if self.scale >= scale:
            return self
        rounded = _divide_away(self.unscaled, scale - self.scale)
        return Quantity(rounded, scale, self.form, self.wide)

    def __add__(self, other: Quantity) -> Quantity:
        form = self.form if self.unscaled else other.form
        scale = min(self.scale, other.scale)
        if not self.unscaled or not other.unscaled:
            nonzero = self if self.unscaled else other
            return Quantity(nonzero.unscaled, nonzero.scale, form, self.wide or other.wide)
        total = _unscaled_at(self, scale) + _unscaled_at(other, scale)
        wide = self.wide or other.wide or not MIN_INT64 < total <= MAX_INT64
        return Quantity(total, scale, form, wide)

    def __mul__(self, other: Quantity) -> Quantity:
        """Return the product, which upstream keeps as a decimal. Upstream: inf.Dec.Mul."""
        unscaled = self.unscaled * other.unscaled
        return Quantity(unscaled, self.scale + other.scale, self.form, wide=True)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Quantity):
            return NotImplemented
        return self is other or self._reduced() == other._reduced()

    def __lt__(self, other: Quantity) -> bool:
        if self.scale == other.scale:
            return self.unscaled < other.unscaled
        if self.sign() != other.sign():
            return self.sign() < other.sign()
        scale = min(self.scale, other.scale)
        return _unscaled_at(self, scale) < _unscaled_at(other, scale)

    def __hash__(self) -> int:
        return hash(self._reduced())

    def __str__(self) -> str:
        """Return the canonical form. Upstream: Quantity.String."""
        if self._text:
            return self._text
        if not self.unscaled:
            return "0"
        if self.form == BINARY_SI:
            # Upstream prints small and fractional binary quantities as decimals.
            is_whole = self.scale >= 0 or self.unscaled % _power_of_ten(-self.scale) == 0
            if is_whole and abs(_unscaled_at(self, 0)) >= 1024:
                amount, times = _reduce(
                    self.scaled_value(0) if not self.wide else _unscaled_at(self, 0), 0, 1024
                )
                return f"{amount}{_BINARY_SUFFIXES.get(times * 10, '')}"
        amount, exponent = _reduce(self.unscaled, self.scale, 10)
        extra = exponent % 3
        amount, exponent = amount * _power_of_ten(extra), exponent - extra
        if self.form == DECIMAL_EXPONENT:
            return f"{amount}e{exponent}" if exponent else str(amount)
        return f"{amount}{_DECIMAL_SUFFIXES.get(exponent, '')}"

    def __repr__(self) -> str:
        return f"Quantity({str(self)!r})"

    def _reduced(self) -> tuple[int, int]:
        return _reduce(self.unscaled, self.scale, 10) if self.unscaled else (0, 0)


def milli_quantity(amount: int) -> Quantity:
    """`amount` thousandths. Upstream: NewMilliQuantity."""
    return Quantity(amount, MILLI)


def _power_of_ten(exponent: int) -> int:
    power: int = 10**exponent
    return power


def _unscaled_at(amount: Quantity, scale: int) -> int:
    """Return the amount as an integer at a scale at which it is whole."""
    shift = amount.scale - scale
    if shift < 0:
        return amount.unscaled // _power_of_ten(-shift)
    return amount.unscaled * _power_of_ten(shift)


def _reduce(amount: int, exponent: int, base: int) -> tuple[int, int]:
    """Move all factors of base into the exponent."""
    while amount and amount % base == 0:
        amount //= base
        exponent += 1
    return amount, exponent


def _divide_away(amount: int, digits: int) -> int:
    """amount / 10**digits, rounded away from zero."""
    if digits > len(str(abs(amount))):
        return (amount > 0) - (amount < 0)
    divisor = _power_of_ten(digits)
    return -(-amount // divisor) if amount > 0 else amount // divisor


def _split(text: str) -> tuple[bool, str, str, str, str]:
    """Positive, the number as written, its whole digits, its decimals, the suffix."""
    end = len(text)
    start = 1 if text[0] in "+-" else 0
    pos = start
    while pos < end and text[pos] == "0":
        pos += 1
    if pos == end:
        return text[0] != "-", "0", "0", "", ""
    whole_start = pos
    pos = _digits_end(text, pos)
    whole, decimals = text[whole_start:pos] or "0", ""
    if pos < end and text[pos] == ".":
        decimals_start = pos + 1
        pos = _digits_end(text, decimals_start)
        decimals = text[decimals_start:pos]
    number, suffix = text[:pos], text[pos:]
    while pos < end and text[pos] in "eEinumkKMGTP":
        pos += 1
    if pos < end and text[pos] in "+-":
        pos += 1
    if pos < end and _digits_end(text, pos) != end:
        raise QuantityError(_WRONG_FORMAT)
    return text[0] != "-", number, whole, decimals, suffix


def _digits_end(text: str, pos: int) -> int:
    while pos < len(text) and text[pos] in "0123456789":
        pos += 1
    return pos


def _interpret(suffix: str) -> tuple[int, int, str]:
    """Base, exponent, form. Upstream: suffixHandler.interpret."""
    if suffix in _DECIMAL_EXPONENTS:
        return 10, _DECIMAL_EXPONENTS[suffix], DECIMAL_SI
    if suffix in _BINARY_EXPONENTS:
        return 2, _BINARY_EXPONENTS[suffix], BINARY_SI
    if len(suffix) > 1 and suffix[0] in "eE":
        try:
            exponent = int(suffix[1:])
        except ValueError:
            raise QuantityError(_WRONG_SUFFIX) from None
        if abs(exponent) > _MAX_EXPONENT:
            raise QuantityError(f"exponents beyond {_MAX_EXPONENT} are not supported")
        return 10, exponent, DECIMAL_EXPONENT
    raise QuantityError(_WRONG_SUFFIX)


@lru_cache(maxsize=65536)
def _parse(text: str) -> Quantity:
    if not text:
        raise QuantityError(_WRONG_FORMAT)
    positive, number, whole, decimals, suffix = _split(text)
    base, exponent, form = _interpret(suffix)
    narrow = _parse_narrow(text, positive, whole, decimals, (base, exponent, form))
    return narrow or _parse_wide(number, (base, exponent, form))


def _parse_narrow(
    text: str, positive: bool, whole: str, decimals: str, unit: tuple[int, int, str]
) -> Quantity | None:
    """Return the int64 form, or None if upstream takes the decimal one."""
    base, exponent, form = unit
    if base == 10:
        precision, scale, mantissa = _INT64_DIGITS - len(whole) - len(decimals), exponent, 1
    elif decimals:
        return None
    else:
        precision, scale, mantissa = 14 - len(whole) - exponent * 3 // 10, 0, 1 << exponent
    scale -= len(decimals)
    if precision < 0 or scale < NANO:
        return None
    digits = whole + decimals
    amount = int(digits)
    if form == BINARY_SI:
        as_written = bool(amount & 0x07)
    else:
        as_written = scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"
    signed = amount * mantissa if positive else -amount * mantissa
    return Quantity(signed, scale, form, False, text if as_written else "")


def _parse_wide(number: str, unit: tuple[int, int, str]) -> Quantity:
    """Return a decimal of any size, at least a billionth, binary ones at most an int64."""
    base, exponent, form = unit
    whole, _, decimals = number.lstrip("+-").partition(".")
    if not whole + decimals:
        raise QuantityError(_WRONG_NUMBER)
    digits = (whole + decimals).lstrip("0")
    if len(digits) > _MAX_DIGITS or len(decimals) > _MAX_DIGITS:
        raise QuantityError(f"more than {_MAX_DIGITS} digits are not supported")
    amount, scale = int(digits or "0"), -len(decimals)
    if base == 10:
        scale += exponent
    else:
        amount <<= exponent
    if scale < NANO:
        amount = _divide_away(amount, NANO - scale)
    else:
        amount *= _power_of_ten(scale - NANO)
    rounded = Quantity(amount, NANO, form, True)
    if form == BINARY_SI:
        if rounded > Quantity(MAX_INT64, 0):
            rounded = Quantity(MAX_INT64, 0, form, True)
        elif Quantity(0, 0) < rounded < Quantity(1, 0):
            rounded = Quantity(amount, NANO, DECIMAL_SI, True)
    if number[0] == "-":
        return Quantity(-rounded.unscaled, rounded.scale, rounded.form, True)
    return rounded


_BINARY_UNITS = (("Ti", 1 << 40), ("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10))


def amount_text(resource: str, amount: int) -> str:
    """Text of an amount in the scheduler's unit of the resource; bytes rounded to a tenth."""
    if resource == "cpu":
        return str(amount // 1000) if amount % 1000 == 0 else f"{amount}m"
    if is_of_bytes(resource):
        return _bytes_text(amount)
    return str(amount)


def amount_texts(resource: str, amounts: Sequence[int], written: str = "") -> list[str]:
    """Return texts of amounts that are read beside each other: cpu in cores, such as 6.5; different
    amounts never read alike. written: how the manifest has the first one, which replaces a text
    that would be rounded"""
    if resource == "cpu":
        return [f"{amount / 1000:.12g}" for amount in amounts]
    rounded = [amount_text(resource, amount) for amount in amounts]
    if not is_of_bytes(resource):
        return rounded
    by_text: dict[str, set[int]] = {}
    for text, amount in zip(rounded, amounts, strict=True):
        by_text.setdefault(text, set()).add(amount)
    texts = [
        text if len(by_text[text]) == 1 else _close_text(amount)
        for text, amount in zip(rounded, amounts, strict=True)
    ]
    if written and Quantity.parse(rounded[0]) != Quantity(amounts[0]):
        texts[0] = written if written[-1].isalpha() else _close_text(amounts[0], texts[0])
    return texts


def whole_unit(resource: str, amount: int) -> int:
    """Return the unit in whose multiples a person writes such an amount of the resource."""
    if not is_of_bytes(resource):
        return 1
    return next((unit for _, unit in _BINARY_UNITS[2:] if amount >= 64 * unit), 1)


def exact_text(resource: str, amount: float) -> str:
    """Return a quantity of exactly the amount, which is in the scheduler's unit of the resource, to
    a millionth of it: 0.5 of a GPU is 500m."""
    if amount != int(amount):
        millionths = round(amount * 1_000_000)
        if resource == "cpu":
            return f"{millionths}n"
        return f"{millionths}u" if millionths % 1000 else f"{millionths // 1000}m"
    amount = int(amount)
    if resource == "cpu" or not amount:
        return amount_text(resource, amount)
    if is_of_bytes(resource):
        for suffix, unit in _BINARY_UNITS:
            if amount % unit == 0:
                return f"{amount // unit}{suffix}"
    return str(amount)


def is_of_bytes(resource: str) -> bool:
    """Return whether the scheduler counts the resource in bytes."""
    return resource in ("memory", "ephemeral-storage") or resource.startswith("hugepages-")


def _bytes_text(amount: int) -> str:
    for suffix, unit in _BINARY_UNITS:
        if abs(amount) >= unit:
            return f"{amount / unit:.1f}".removesuffix(".0") + suffix
    return str(amount)


def rounded_down(resource: str, amount: int) -> int:
    """Return the largest amount up to this one that a person would write."""
    return amount - amount % whole_unit(resource, amount)


def _close_text(amount: int, otherwise: str = "") -> str:
    """Return exactly how far the amount is from a whole number of a unit, as "8Gi less 1 byte", of
    the largest unit of which that is less than a thousandth; or the other text, if there is one."""
    for suffix, unit in _BINARY_UNITS:
        whole = round(amount / unit)
        rest = amount - whole * unit
        is_last = unit == 1024 and not otherwise
        if whole and (not rest or abs(rest) * 1000 < unit or is_last):
            noun = " byte" if abs(rest) == 1 else " bytes" if abs(rest) < 1024 else ""
            what = f" {'less' if rest < 0 else 'and'} {_bytes_text(abs(rest))}{noun}"
            return f"{whole}{suffix}{what if rest else ''}"
    return otherwise or str(amount)
