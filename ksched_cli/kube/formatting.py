"""Strings, numbers, JSON and durations as Go prints them in kube-scheduler's messages.

Upstream: strconv.Quote, encoding/json's Marshal, time.Duration's String and time.ParseDuration;
apimachinery/pkg/util/errors/errors.go.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from decimal import Decimal

from ksched_cli.kube.int64 import MAX_INT64

_UNITS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_DURATION_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]*)")
_ESCAPES = {
    "\a": r"\a",
    "\b": r"\b",
    "\f": r"\f",
    "\n": r"\n",
    "\r": r"\r",
    "\t": r"\t",
    "\v": r"\v",
    "\\": r"\\",
    '"': r"\"",
}
_HTML = str.maketrans(
    {"<": r"\u003c", ">": r"\u003e", "&": r"\u0026", "\u2028": r"\u2028", "\u2029": r"\u2029"}
)


class DurationError(ValueError):
    """A text that time.ParseDuration refuses; the message is Go's."""


def quote(text: str) -> str:
    """Return a string as %q prints it."""
    return '"' + "".join(_quoted_rune(char) for char in text) + '"'


def _quoted_rune(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable():
        return char
    code = ord(char)
    if code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def float_text(value: float, bits: int = 64) -> str:
    """Return a float as encoding/json writes it: shortest digits, an exponent from 1e21 and below
    1e-6.

    bits: 64 or 32, of Go's type
    """
    if math.isinf(value):  # what was written is out of range
        return getattr(value, "literal", str(value))
    if value == 0:
        return "-0" if math.copysign(1, value) < 0 else "0"
    digits = repr(value) if bits == 64 else f"{value:.9g}"
    magnitude = abs(value)
    if 1e-6 <= magnitude < 1e21:
        plain = format(Decimal(digits), "f")
        return plain.removesuffix(".0") if "." in plain else plain
    mantissa, _, exponent = format(Decimal(digits), "e").partition("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    sign = "-" if exponent.startswith("-") else "+"
    return f"{mantissa}e{sign}{abs(int(exponent))}"


def json_text(value: object) -> str:
    """Plain data as json.Marshal prints it: no spaces, keys in their order, HTML escaped."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).translate(_HTML)
    if isinstance(value, float):
        return float_text(value)
    if isinstance(value, dict):
        inner = ",".join(f"{json_text(str(key))}:{json_text(item)}" for key, item in value.items())
        return "{" + inner + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(json_text(item) for item in value) + "]"
    return json.dumps(value)


def aggregate(messages: Iterable[str]) -> str:
    """Aggregate.Error: each message once; a single one as it is, more in brackets."""
    messages = list(dict.fromkeys(messages))
    return messages[0] if len(messages) == 1 else f"[{', '.join(messages)}]"


# Digits of numbers in durations: beyond them they overflow, and fractions do not count.
_MAX_DIGITS = len(str(MAX_INT64))
_MAX_FRACTION = 30


def parse_duration(text: str) -> int:
    """Return the nanoseconds of a text such as "1h30m" or "1.5s".

    Raises DurationError with Go's message.
    """
    sign, rest = (text[0], text[1:]) if text[:1] in ("+", "-") else ("", text)
    if rest == "0":
        return 0
    quoted = _quote_bytes(text)
    if not rest:
        raise DurationError(f"time: invalid duration {quoted}")
    total = 0
    while rest:
        match = _DURATION_PART.match(rest)
        if match is None or not (match[1] or match[2]):
            raise DurationError(f"time: invalid duration {quoted}")
        unit = match[3]
        if not unit:
            raise DurationError(f"time: missing unit in duration {quoted}")
        if unit not in _UNITS:
            raise DurationError(f"time: unknown unit {_quote_bytes(unit)} in duration {quoted}")
        whole, fraction = (match[1] or "0").lstrip("0"), (match[2] or "")[:_MAX_FRACTION]
        if len(whole) > _MAX_DIGITS:
            raise DurationError(f"time: invalid duration {quoted}")
        total += int(whole or "0") * _UNITS[unit]
        total += int(fraction or "0") * _UNITS[unit] // 10 ** len(fraction)
        rest = rest[match.end() :]
    if total > MAX_INT64 + (sign == "-"):
        raise DurationError(f"time: invalid duration {quoted}")
    return -total if sign == "-" else total


def _quote_bytes(text: str) -> str:
    """Package time's own quote: escapes every byte of what is not printable ASCII."""
    parts = []
    for char in text:
        if char in '"\\':
            parts.append("\\" + char)
        elif " " <= char < "\x7f":
            parts.append(char)
        else:
            parts += [f"\\x{byte:02x}" for byte in char.encode("utf-8", "surrogatepass")]
    return f'"{"".join(parts)}"'


def duration_text(nanoseconds: int) -> str:
    """Return a duration as time.Duration prints it: "1h0m0s", "1.5s", "300ms"."""
    if nanoseconds == 0:
        return "0s"
    sign, absolute = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    for unit, size in (("ns", 1), ("µs", 10**3), ("ms", 10**6)):
        if absolute < size * 1000:
            return f"{sign}{_fraction(absolute, size)}{unit}"
    minutes, rest = divmod(absolute, 60 * 10**9)
    text = f"{_fraction(rest, 10**9)}s"
    if minutes:
        hours, minutes = divmod(minutes, 60)
        text = f"{hours}h{minutes}m{text}" if hours else f"{minutes}m{text}"
    return sign + text


def _fraction(value: int, size: int) -> str:
    """value / size as a decimal number without zeros at its end; size: a power of ten."""
    whole, rest = divmod(value, size)
    if not rest:
        return str(whole)
    digits = str(rest).rjust(len(str(size)) - 1, "0").rstrip("0")
    return f"{whole}.{digits}"
