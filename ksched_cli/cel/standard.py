"""CEL's conversions, times and functions of strings.

Upstream: cel-go/common/types (ConvertToType, overflow.go, timestamp.go, duration.go), cel-go/ext
(strings.go, formatting.go).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from functools import cache, lru_cache
from string import ascii_lowercase, ascii_uppercase
from typing import Any, TypeAlias

from ksched_cli.cel.values import (
    CelError,
    Duration,
    Timestamp,
    TypeName,
    Uint,
    checked_int,
    no_overload,
    text,
    type_name,
)
from ksched_cli.kube.formatting import DurationError, parse_duration, quote
from ksched_cli.kube.int64 import MAX_INT64, MAX_UINT64, MIN_INT64, divide, parse_int64

Function: TypeAlias = Callable[..., Any]

_SECOND = 10**9
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Seconds since 1970 of the first and the last time that there is.
_FIRST, _LAST = -62_135_596_800, 253_402_300_799
_TIME = (
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{1,2}):([0-9]{2}):([0-9]{2})"
    r"(?:[.,]([0-9]+))?(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
)
_FLOAT = (
    r"[+-]?(?:0[xX][0-9a-fA-F_]*\.?[0-9a-fA-F_]*[pP][+-]?[0-9]+|[0-9_]*\.?[0-9_]*(?:[eE][+-]?[0-9]+)?)"
    r"|[+-]?(?i:inf(?:inity)?)|(?i:nan)"
)
_BOOLS = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}


def _failed(value: Any, kind: str) -> CelError:
    return CelError(f"type conversion error from '{type_name(value)}' to '{kind}'")


# -- conversions -----------------------------------------------------------------------------------


def _int(value: Any) -> int:
    match value:
        case bool():
            pass
        case Uint():
            return checked_int(int(value), int)
        case int():
            return value
        case float():
            if not MIN_INT64 < value < MAX_INT64:
                raise CelError("integer overflow")
            return int(value)
        case str():
            number = parse_int64(value)
            if number is None:
                raise _failed(value, "int")
            return number
        case Duration():
            return value.nanoseconds
        case Timestamp():
            return value.nanoseconds // _SECOND
    raise no_overload("int", value)


def _uint(value: Any) -> Uint:
    match value:
        case bool():
            pass
        case int():
            return Uint(checked_int(int(value), Uint))
        case float():
            if not 0 <= value < MAX_UINT64:
                raise CelError("unsigned integer overflow")
            return Uint(value)
        case str():
            digits = value.lstrip("0") or "0"
            if not value or set(value) - set("0123456789") or len(digits) > len(str(MAX_UINT64)):
                raise _failed(value, "uint")
            if int(digits) > MAX_UINT64:
                raise _failed(value, "uint")
            return Uint(digits)
    raise no_overload("uint", value)


def _double(value: Any) -> float:
    if isinstance(value, str):
        try:
            if re.fullmatch(_FLOAT, value) is None:
                raise ValueError
            is_hex = "x" in value.lower()
            number = float.fromhex(value.replace("_", "")) if is_hex else float(value)
        except (ValueError, OverflowError):
            raise _failed(value, "double") from None
        if math.isinf(number) and "i" not in value.lower():
            raise _failed(value, "double")
        return number
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise no_overload("double", value)
    return float(value)


def _string(value: Any) -> str:
    match value:
        case str():
            return value
        case bool():
            return str(value).lower()
        case int():
            return str(int(value))
        case float():
            return _float_text(value)
        case bytes():
            try:
                return value.decode()
            except UnicodeDecodeError:
                message = "invalid UTF-8 in bytes, cannot convert to string"
                raise CelError(message) from None
        case Duration():
            seconds = divide(value.nanoseconds, _SECOND)
            exact = seconds + (value.nanoseconds - seconds * _SECOND) / _SECOND
            return _plain(float(exact)) + "s"
        case Timestamp():
            moment = _moment(value, timezone(timedelta(minutes=value.zone)))
            fraction = f".{value.nanoseconds % _SECOND:09d}".rstrip("0").rstrip(".")
            zone = f"{abs(value.zone) // 60:02d}:{abs(value.zone) % 60:02d}"
            sign = "-" if value.zone < 0 else "+"
            whole = moment.replace(tzinfo=None).isoformat()
            return whole + fraction + (sign + zone if value.zone else "Z")
        case TypeName():
            return value.name
    raise no_overload("string", value)


def _plain(number: float) -> str:
    """As Go's format 'f' with the digits that it takes."""
    digits = format(Decimal(repr(number)), "f")
    return digits.removesuffix(".0")


def _float_text(number: float) -> str:
    """As Go's %g."""
    if not math.isfinite(number):
        return "NaN" if math.isnan(number) else ("+Inf" if number > 0 else "-Inf")
    sign, digits, exponent = Decimal(repr(number)).normalize().as_tuple()
    assert isinstance(exponent, int)
    point = len(digits) + exponent - 1
    if number and not -4 <= point < 6:
        mantissa = "".join(map(str, digits))
        mantissa = mantissa[0] + ("." + mantissa[1:] if mantissa[1:] else "")
        return f"{'-' * sign}{mantissa}e{'-' if point < 0 else '+'}{abs(point):02d}"
    return _plain(number)


def _bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value not in _BOOLS:
        raise _failed(value, "bool")
    return _BOOLS[text("bool", value)]


# -- times -----------------------------------------------------------------------------------------


def _duration(value: Any) -> Duration:
    if isinstance(value, Duration):
        return value
    try:
        return Duration(parse_duration(text("duration", value)))
    except DurationError:
        raise _failed(value, "google.protobuf.Duration") from None


def _timestamp(value: Any) -> Timestamp:
    if isinstance(value, Timestamp):
        return value
    if type(value) is int:
        return _checked_time(value * _SECOND)
    match = re.fullmatch(_TIME, text("timestamp", value))
    try:
        if match is None:
            raise ValueError
        *parts, fraction, sign, hours, minutes = match.groups()
        year, month, day, hour, minute, second = map(int, parts)
        if not year:
            raise CelError("timestamp overflow")
        moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
        if hours is not None and (int(hours) > 24 or int(minutes) > 59):
            raise ValueError
    except ValueError:
        raise _failed(value, "google.protobuf.Timestamp") from None
    zone = int(hours or 0) * 60 + int(minutes or 0)
    zone = -zone if sign == "-" else zone
    nanoseconds = int(f"{fraction or '':0<9}"[:9])
    seconds = (moment - _EPOCH) // timedelta(seconds=1) - zone * 60
    return _checked_time(seconds * _SECOND + nanoseconds, zone)


def _checked_time(nanoseconds: int, zone: int = 0) -> Timestamp:
    if not _FIRST <= nanoseconds // _SECOND <= _LAST:
        raise CelError("timestamp overflow")
    return Timestamp(nanoseconds, zone)


def _checked_duration(nanoseconds: int) -> Duration:
    return Duration(checked_int(nanoseconds, int))


def add_times(left: Any, right: Any) -> Duration | Timestamp:
    if isinstance(left, Duration) and isinstance(right, Duration):
        return _checked_duration(left.nanoseconds + right.nanoseconds)
    if isinstance(left, Duration) and isinstance(right, Timestamp):
        left, right = right, left
    if isinstance(left, Timestamp) and isinstance(right, Duration):
        return _checked_time(left.nanoseconds + right.nanoseconds, left.zone)
    raise no_overload("_+_", left, right)


def subtract_times(left: Any, right: Any) -> Duration | Timestamp:
    if type(left) is type(right) and isinstance(left, Duration | Timestamp):
        return _checked_duration(left.nanoseconds - right.nanoseconds)
    if isinstance(left, Timestamp) and isinstance(right, Duration):
        return _checked_time(left.nanoseconds + negate(right).nanoseconds, left.zone)
    raise no_overload("_-_", left, right)


def negate(duration: Duration) -> Duration:
    return _checked_duration(-duration.nanoseconds)


def _moment(value: Timestamp, zone: tzinfo) -> datetime:
    seconds = timedelta(seconds=value.nanoseconds // _SECOND)
    try:
        return (_EPOCH + seconds).astimezone(zone)
    except OverflowError:
        raise CelError("timestamp overflow") from None


@lru_cache(maxsize=64)
def _zone(name: str) -> tzinfo:
    hours, colon, minutes = name.partition(":")
    if not colon:
        from zoneinfo import ZoneInfo  # rare, and slow to import

        try:
            return ZoneInfo(name) if name not in ("", "UTC") else UTC
        except (ValueError, OSError, LookupError):
            raise CelError(f"unknown time zone {name}") from None
    hour, minute = parse_int64(hours), parse_int64(minutes)
    if hour is None or minute is None:
        raise CelError(
            f'strconv.Atoi: parsing "{hours if hour is None else minutes}": invalid syntax'
        )
    offset = hour * 60 + (-minute if name[0] == "-" else minute)
    if abs(offset) >= 24 * 60:
        raise CelError(f"unknown time zone {name}")
    return timezone(timedelta(minutes=offset))


def _part(function: str, of_moment: Callable[[datetime], int], unit: int = 0) -> Function:
    """unit: of a duration, in nanoseconds; 0: it has no such part."""

    def part(value: Any, *zone: Any) -> int:
        if isinstance(value, Duration) and unit and not zone:
            return divide(value.nanoseconds, unit)
        if not isinstance(value, Timestamp):
            raise no_overload(function, value)
        if function == "getMilliseconds":
            return value.nanoseconds % _SECOND // 10**6
        return of_moment(_moment(value, _zone(text(function, zone[0])) if zone else UTC))

    return part


_PARTS: tuple[tuple[str, Callable[[datetime], int], int], ...] = (
    ("getFullYear", lambda moment: moment.year, 0),
    ("getMonth", lambda moment: moment.month - 1, 0),
    ("getDayOfYear", lambda moment: moment.timetuple().tm_yday - 1, 0),
    ("getDayOfMonth", lambda moment: moment.day - 1, 0),
    ("getDate", lambda moment: moment.day, 0),
    ("getDayOfWeek", lambda moment: moment.isoweekday() % 7, 0),
    ("getHours", lambda moment: moment.hour, 3600 * _SECOND),
    ("getMinutes", lambda moment: moment.minute, 60 * _SECOND),
    ("getSeconds", lambda moment: moment.second, _SECOND),
    ("getMilliseconds", lambda moment: 0, 10**6),
)


# -- strings ---------------------------------------------------------------------------------------

_UPPER = str.maketrans(ascii_lowercase, ascii_uppercase)
_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)
_ESCAPES = {
    ord(shown): f"\\{letter}"
    for shown, letter in zip('\a\b\f\n\r\t\v\\"', 'abfnrtv\\"', strict=True)
}


def _typed(function: str, result_of: Function, *kinds: type) -> Function:
    """Return a function of a string, and of values of these types."""

    def typed(whole: Any, *rest: Any) -> Any:
        text(function, whole)
        if any(type(value) is not kind for value, kind in zip(rest, kinds, strict=False)):
            raise no_overload(function, whole, *rest)
        return result_of(whole, *rest)

    return typed


@cache
def _spaces() -> str:
    """Go's white space; Python's has four control characters more."""
    return "".join(c for c in map(chr, range(0x3001)) if c.isspace() and not "\x1c" <= c <= "\x1f")


def _outside(index: int) -> CelError:
    return CelError(f"index out of range: {index}")


def _char_at(whole: str, index: int) -> str:
    if not 0 <= index <= len(whole):
        raise _outside(index)
    return whole[index : index + 1]


def _substring(whole: str, start: int, end: int | None = None) -> str:
    stop = len(whole) if end is None else end
    if end is not None and start > stop:
        raise CelError(f"invalid substring range. start: {start}, end: {end}")
    for index in (start, stop):
        if not 0 <= index <= len(whole):
            raise _outside(index)
    return whole[start:stop]


def _index_of(whole: str, part: str, start: int = 0) -> int:
    if start < 0:
        raise _outside(start)
    return whole.find(part, start) if part else min(start, len(whole))


def _last_index_of(whole: str, part: str, start: int | None = None) -> int:
    if start is None:
        return whole.rfind(part)
    if start < 0:
        raise _outside(start)
    if not part:
        return min(start, len(whole))
    return whole.rfind(part, 0, start + len(part)) if start < len(whole) else -1


def _split(whole: str, separator: str, count: int = -1) -> list[str]:
    if not count:
        return []
    if separator:
        return whole.split(separator, count - 1 if count > 0 else -1)
    if count < 0 or count >= len(whole):
        return list(whole)
    return [*whole[: count - 1], whole[count - 1 :]]


def _join(values: Any, separator: Any = "") -> str:
    if type(values) is not list:
        raise no_overload("join", values)
    for value in values:
        if not isinstance(value, str):
            raise CelError(f"join: invalid input: {value}")
    return text("join", separator).join(values)


_CLAUSE = r"(?s)%(?:(%)|(\.[0-9]*)?(.?))|[^%]+"
_KEYS = {bool: _string, int: _string, Uint: _string, str: quote}
_SPECIAL = ("NaN", "Infinity", "-Infinity")
_MAX_WIDTH = 1_000_000
_KINDS = {
    "d": ("decimal clause can only be used on integers", "int uint"),
    "f": ("fixed-point clause can only be used on doubles", "double"),
    "e": ("scientific clause can only be used on doubles", "double"),
    "b": ("only integers and bools can be formatted as binary", "int uint bool"),
    "o": ("octal clause can only be used on integers", "int uint"),
    "x": (
        "only integers, byte buffers, and strings can be formatted as hex",
        "int uint string bytes",
    ),
    "s": (
        "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists,"
        " types, durations, and timestamps",
        "string bool bytes int uint double map list type null_type"
        " google.protobuf.Duration google.protobuf.Timestamp",
    ),
}


def clauses(pattern: str, count: int) -> Iterator[tuple[str, str, int]]:
    """Yield the parts of a format: a text, or a letter, its precision (-1: none) and "". Raises
    CelError.

    count: of arguments
    """
    index = 0
    for match in re.finditer(_CLAUSE, pattern):
        percent, precision, letter = match.groups()
        if letter is None:
            yield percent or match.group(), "", -1
            continue
        if index >= count:
            raise CelError(f"index {index} out of range")
        index += 1
        if not letter and not precision:
            raise CelError("unexpected end of string")
        problem = ""
        if not letter:
            problem = "error while parsing precision: could not find end of precision specifier"
        elif precision and parse_int64(precision[1:]) is None:
            problem = (
                "error while parsing precision: error while converting precision to integer:"
                f' strconv.Atoi: parsing "{precision[1:]}": invalid syntax'
            )
        elif letter.lower() not in _KINDS or letter not in "sdfebxXo":
            problem = f'unrecognized formatting clause "{letter}"'
        if problem:
            raise CelError(f"could not parse formatting clause: {problem}")
        yield "", letter, int(precision[1:]) if precision else -1


def format_problem(letter: str, kind: str) -> str:
    """What is wrong with an argument of this type, or ""."""
    problem, kinds = _KINDS[letter.lower()]
    fits = kind in kinds.split()
    return "" if fits else f"error during formatting: {problem}, was given {kind}"


def _format(pattern: Any, values: Any) -> str:
    if type(values) is not list:
        raise no_overload("format", pattern, values)
    parts: list[str] = []
    rest = iter(values)
    for part, letter, precision in clauses(text("format", pattern), len(values)):
        parts.append(_formatted(next(rest), letter, precision) if letter else part)
    return "".join(parts)


def _formatted(value: Any, letter: str, precision: int) -> str:
    problem = format_problem(letter, type_name(value))
    if problem and not (letter in "fe" and isinstance(value, str) and value in _SPECIAL):
        raise CelError(problem)
    if letter == "s":
        if isinstance(value, list | dict | None):
            return _literal(value)
        try:
            return _string(value)
        except CelError as error:
            problem = f'could not convert argument "{error}" to string'
            raise CelError(f"error during formatting: {problem}") from None
    if letter in "fe":
        return _float_clause(float(value), letter, 6 if precision < 0 else precision)
    if isinstance(value, str | bytes):
        digits = (value.encode() if isinstance(value, str) else value).hex()
        return digits.upper() if letter == "X" else digits
    return format(int(value), letter)


def _float_clause(number: float, letter: str, precision: int) -> str:
    """As golang.org/x/text prints it in English; of %e, the precision is the width."""
    if precision > _MAX_WIDTH:
        raise CelError("precision is out of range")
    if math.isnan(number):
        shown = "NaN"
    elif math.isinf(number):
        shown = "∞" if number > 0 else "-∞"
    elif letter == "f":
        return f"{number:,.{precision}f}"
    else:
        mantissa, _, exponent = f"{number:.6e}".partition("e")
        raised = exponent.translate(str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "+"))
        shown = f"{mantissa}\u00d710{raised}"
    return shown.rjust(precision) if letter == "e" else shown


def _literal(value: Any) -> str:
    """As it is within a list or map."""
    match value:
        case None:
            return "null"
        case str():
            return quote(value)
        case bytes():
            return f"b{quote(value.decode('utf-8', 'replace'))}"
        case bool() | int() | TypeName():
            return _string(value)
        case float():
            return f"{value:.6f}" if math.isfinite(value) else quote(_float_text(value))
        case Duration():
            return f"duration({quote(_string(value))})"
        case Timestamp():
            return f"timestamp({quote(_string(value))})"
        case list():
            return f"[{', '.join([_literal(element) for element in value])}]"
        case Mapping():
            return _map_literal(value)
    raise CelError(f"error during formatting: no formatting function for {type_name(value)}")


def _map_literal(value: Mapping[Any, Any]) -> str:
    entries: list[tuple[str, str]] = []
    for key, element in value.items():
        shown = _KEYS.get(type(key))
        if shown is None:
            problem = f"no formatting function for map key of type {type_name(key)}"
            raise CelError(f"error during formatting: {problem}")
        entries.append((shown(key), _literal(element)))
    return "{" + ", ".join(f"{key}:{element}" for key, element in sorted(entries)) + "}"


CONVERSIONS: dict[str, Function] = {
    "int": _int,
    "uint": _uint,
    "double": _double,
    "string": _string,
    "bool": _bool,
    "bytes": lambda value: value if isinstance(value, bytes) else text("bytes", value).encode(),
    "duration": _duration,
    "timestamp": _timestamp,
    **{name: _part(name, of_moment, unit) for name, of_moment, unit in _PARTS},
}
STRINGS: dict[str, Function] = {
    "charAt": _typed("charAt", _char_at, int),
    "substring": _typed("substring", _substring, int, int),
    "lowerAscii": _typed("lowerAscii", lambda whole: whole.translate(_LOWER)),
    "upperAscii": _typed("upperAscii", lambda whole: whole.translate(_UPPER)),
    "trim": _typed("trim", lambda whole: whole.strip(_spaces())),
    "replace": _typed("replace", str.replace, str, str, int),
    "split": _typed("split", _split, str, int),
    "join": _join,
    "strings.quote": _typed("strings.quote", lambda whole: f'"{whole.translate(_ESCAPES)}"'),
    "format": _format,
}
index_of = _typed("indexOf", _index_of, str, int)
last_index_of = _typed("lastIndexOf", _last_index_of, str, int)
