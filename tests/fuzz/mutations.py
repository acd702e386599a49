"""Mutations of JSON-like values that know what Kubernetes objects look like.

A mutation takes a value and a source of randomness and returns a changed copy: a key dropped,
doubled or misspelt, a value of another type, a number at a limit, a string that a parser of
quantities, times or expressions must refuse, a branch taken from another place or file.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

Path = tuple[str | int, ...]

INTEGERS = (
    -1, 0, 1, 2, 100, 101, 2**31 - 1, 2**31, -(2**31), 2**53 + 1, 2**63 - 1, 2**63, -(2**63), 2**64,
    10**30,
)  # fmt: skip
FLOATS = (0.5, -0.0, 1e-9, 1e308, -1e308, float("inf"), float("nan"))
QUANTITIES = (
    "0", "1", "-1", "100m", "1Ki", "1e3", "1E6", "9223372036854775807", "9223372036854775808", "1n",
    "0.0000000001", "1.5Gi", "1Zi", "1e400", "1e-400", "+1", "1 ", "Mi", "--1", "1mm", "٣", "8Ei",
    "9" * 4400, "0x10", "1_000",
)  # fmt: skip
TIMES = (
    "2024-01-01T00:00:00Z", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z",
    "2024-02-30T00:00:00Z", "2024-01-01T00:00:00+99:99", "2024-01-01", "0001-01-01T00:00:00-23:59",
    "2024-01-01T24:00:00Z", "1h", "1h1", "-5s", "9999999999h", "1e9s", ".s",
)  # fmt: skip
STRINGS = (
    "", " ", "a", "A_b", "node-a", "a/b", "a/b/c", "/", "a=b", "-", "." * 300, "x" * 5000, "\x00",
    "\x1b[31m", "\ud800", "é", "e\u0301", "\u202e", "\n", "null", "true", "yes", "~", "1", "0o17",
    "<script>", "{}", "[]", "kubernetes.io/hostname", "topology.kubernetes.io/zone",
    "metadata.name", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Equal", "NoSchedule",
    "NoExecute", "PreferNoSchedule", "Never", "PreemptLowerPriority", "DoNotSchedule",
    "ScheduleAnyway", "Honor", "Ignore", "Always", "system-node-critical", "default-scheduler",
    "WaitForFirstConsumer", "ReadWriteOncePod", "All", "ExactCount", "device.driver == 'a'",
    "device.attributes['a'].b > 1", "(" * 200, "true ? 1 :", "1 in [", "'\\x'",
    "a" * 63 + "." * 200,
)  # fmt: skip
OTHERS: tuple[Any, ...] = (None, True, False, [], {}, [None], {"": None}, [[]], {"a": {"b": []}})


def mutated(value: Any, rng: random.Random, donors: list[Any], rounds: int = 0) -> Any:
    """A copy of `value` after one to eight mutations; branches may come from `donors`."""
    result = copy.deepcopy(value)
    for _ in range(rounds or rng.choice((1, 1, 1, 1, 2, 2, 5))):
        result = rng.choice(MUTATIONS)(result, rng, donors)
    return result


def paths(value: Any) -> list[Path]:
    """The paths of everything inside `value`, the value itself left out."""
    branches: list[Path] = []
    pending: list[tuple[Path, Any]] = [((), value)]
    while pending:
        path, item = pending.pop()
        keys: list[str | int] = []
        if isinstance(item, dict):
            keys = [key for key in item if isinstance(key, str)]
        elif isinstance(item, list):
            keys = list(range(len(item)))
        for key in keys:
            branches.append((*path, key))
            pending.append(((*path, key), item[key]))
    return branches


def at(value: Any, path: Path) -> Any:
    for key in path:
        value = value[key]
    return value


def _pick(value: Any, rng: random.Random) -> Path | None:
    branches = paths(value)
    return rng.choice(branches) if branches else None


def _set(value: Any, path: Path, item: Any) -> Any:
    at(value, path[:-1])[path[-1]] = item
    return value


def drop(value: Any, rng: random.Random, donors: list[Any]) -> Any:
    path = _pick(value, rng)
    if path is not None:
        del at(value, path[:-1])[path[-1]]
    return value


def misspell(value: Any, rng: random.Random, donors: list[Any]) -> Any:
    path = _pick(value, rng)
    if path is not None and isinstance(path[-1], str) and path[-1]:
        parent, key = at(value, path[:-1]), path[-1]
        index = rng.randrange(len(key))
        parent[key[:index] + rng.choice("xX_ 1é") + key[index + 1 :]] = parent.pop(key)
    return value


def replace(value: Any, rng: random.Random, donors: list[Any]) -> Any:
    path = _pick(value, rng)
    return value if path is None else _set(value, path, interesting(rng))


def nudge(value: Any, rng: random.Random, donors: list[Any]) -> Any:
    """A number near what it was, or a string with a character changed."""
    path = _pick(value, rng)
    if path is None:
        return value
    item = at(value, path)
    if isinstance(item, bool):
        return _set(value, path, not item)
    if isinstance(item, int):
        return _set(value, path, item + rng.choice((-1, 1, 10, -item * 2, item * 1000)))
    if isinstance(item, str) and item:
        index = rng.randrange(len(item))
        character = chr(rng.choice((0, 9, 32, 45, 46, 48, 57, 65, 0x7F, 0xE9, 0x2028, 0x1F600)))
        return _set(value, path, item[:index] + character + item[index + 1 :])
    return value


def repeat(value: Any, rng: random.Random, donors: list[Any]) -> Any:
    """An item of a list twice, or many times."""
    lists = [path for path in paths(value) if isinstance(at(value, path), list)]
    if lists:
        items = at(value, rng.choice(lists))
        if items:
            item = rng.choice(items)
            items.extend(copy.deepcopy(item) for _ in range(rng.choice((1, 1, 2, 40))))
    return value


def splice(value: Any, rng: random.Random, donors: list[Any]) -> Any:
    """A branch of a donor in the place of one of ours, most often one of the same key."""
    path = _pick(value, rng)
    if path is None or not donors:
        return value
    donor = rng.choice(donors)
    branches = paths(donor)
    alike = [branch for branch in branches if branch[-1] == path[-1]]
    if not branches:
        return value
    source = rng.choice(alike) if alike and rng.random() < 0.8 else rng.choice(branches)
    return _set(value, path, copy.deepcopy(at(donor, source)))


def graft(value: Any, rng: random.Random, donors: list[Any]) -> Any:
    """A key that a donor has beside ours."""
    objects = [path for path in paths(value) if isinstance(at(value, path), dict)]
    if objects and donors:
        donor = rng.choice(donors)
        branches = [path for path in paths(donor) if isinstance(path[-1], str)]
        if branches:
            source = rng.choice(branches)
            at(value, rng.choice(objects))[source[-1]] = copy.deepcopy(at(donor, source))
    return value


def nest(value: Any, rng: random.Random, donors: list[Any]) -> Any:
    path = _pick(value, rng)
    if path is None:
        return value
    item = at(value, path)
    for _ in range(rng.choice((1, 2, 60))):
        item = [item] if rng.random() < 0.5 else {"a": item}
    return _set(value, path, item)


def interesting(rng: random.Random) -> Any:
    kinds: tuple[tuple[Any, ...], ...] = (INTEGERS, FLOATS, QUANTITIES, TIMES, STRINGS, OTHERS)
    return copy.deepcopy(rng.choice(rng.choice(kinds)))


Mutation = Callable[[Any, random.Random, list[Any]], Any]

MUTATIONS: tuple[Mutation, ...] = (
    drop, misspell, replace, replace, nudge, nudge, repeat, splice, splice, graft, nest,
)  # fmt: skip


def mangled(data: bytes, rng: random.Random) -> bytes:
    """Bytes after one to four changes that know nothing of their meaning."""
    for _ in range(rng.choice((1, 1, 2, 4))):
        start = rng.randrange(len(data) + 1)
        end = min(len(data), start + rng.choice((0, 1, 1, 4, 64, 1000)))
        filling = rng.choice(
            (b"", b"\x00", b"\xff", b"\t", b"&a *a", b"!!python/object:os.system ", b"{", b"- ",
             b": ", b"---\n", b"%YAML 9.9\n", b'"', b"\xef\xbb\xbf", data[start:end] * 3)
        )  # fmt: skip
        data = data[:start] + filling + data[end:]
    return data
