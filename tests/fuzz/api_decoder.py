#!/usr/bin/env python3
"""Mutated objects, decoded by ksched and, strictly, by the API's own decoder of every minor.

    api_decoder.py [--count N] [--seed N] [--all]

ksched reads the fields that any minor has. Each object is refused, read, read with a warning of
unknown fields and repeated keys ("strict"), or of no kind that is read ("foreign"). Where the two
differ, one of REASONS has to apply; the counts are by reason. Exits with 1 where none
does, 2 without Go. --all shows every difference.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

# tests/ is a package, its folders `fuzz` and `oracle` have scripts.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "oracle"))

import msgspec
from corpora import state_corpus
from mutations import at, mutated, paths

from ksched_cli.cluster.loading.kinds import KINDS, type_of_kind
from ksched_cli.cluster.loading.load import load_sources
from ksched_cli.cluster.loading.sources import Source
from ksched_cli.errors import InputError
from ksched_cli.kube.gates import POD_GROUP_KINDS
from ksched_cli.kube.versions import MINORS
from oracle import Oracle, UnavailableError

_PLACEHOLDER = "written twice"
_NULL_IN_LIST = re.compile(r"\[\d+\]: expected .*, got nothing")
_GO_FIELD = re.compile(r"Go struct field \w+\.(\S+) of type")


@dataclass(frozen=True, slots=True)
class Decoded:
    """outcome: refused, strict, foreign or read; message: why."""

    outcome: str
    message: str = ""


def by_ksched(text: str) -> Decoded:
    try:
        state = load_sources([Source("object.json", text.encode())], POD_GROUP_KINDS, tuple)
    except InputError as error:
        return Decoded("refused", str(error))
    if state.skipped:
        return Decoded("foreign")
    doubts = [w for w in state.warnings if "unknown field" in w or "appears twice" in w]
    return Decoded("strict", "\n".join(doubts)) if doubts else Decoded("read")


def by_api(oracles: list[Oracle], text: str) -> Decoded:
    """Refused by one is refused; foreign to one may be known to another, and so may a field be."""
    results = [_by_minor(oracle, text) for oracle in oracles]
    refused = next((result for result in results if result.outcome == "refused"), None)
    read = [result for result in results if result.outcome != "foreign"]
    if refused or not read:
        return refused or results[0]
    lines_by_minor = [result.message.splitlines() for result in read]
    shared = [
        doubt
        for doubt in dict.fromkeys(line for lines in lines_by_minor for line in lines)
        if all(any(_is_in(doubt, other) for other in lines) for lines in lines_by_minor)
    ]
    return Decoded("strict", "\n".join(shared)) if shared else Decoded("read")


def _is_in(doubt: str, other: str) -> bool:
    """Whether a doubt is about the field of another one, or about one in it."""
    mine, field = doubt.split('"')[1], other.split('"')[1]
    return mine == field or mine.startswith((f"{field}.", f"{field}["))


def _by_minor(oracle: Oracle, text: str) -> Decoded:
    answer = oracle.decoding(text)
    if "error" in answer:
        raise RuntimeError(answer["error"])
    result = answer["result"]
    if result.get("refused"):
        return Decoded("refused", result["refused"])
    if result.get("foreign"):
        return Decoded("foreign")
    doubts = result.get("strict")
    return Decoded("strict", "\n".join(doubts)) if doubts else Decoded("read")


def mutated_object(seed: int) -> str:
    """The JSON of a changed object of a kind that ksched reads; now and then with a key twice."""
    rng = random.Random(seed)
    corpus = state_corpus()
    objects = [item for item in rng.choice(corpus) if item.get("kind") in KINDS]
    donors = rng.choice(corpus)
    if not objects:
        return mutated_object(seed + 2**32)
    value = mutated(rng.choice(objects), rng, [rng.choice(donors)])
    key = _repeat_key(value, rng) if rng.random() < 0.05 else ""
    return json.dumps(value).replace(json.dumps(_PLACEHOLDER), json.dumps(key))


def _repeat_key(value: Any, rng: random.Random) -> str:
    """Adds a copy of one field under the placeholder, and returns its key."""
    path = rng.choice([path for path in paths(value) if isinstance(path[-1], str)])
    parent = at(value, path[:-1])
    parent[_PLACEHOLDER] = parent[path[-1]]
    return str(path[-1])


# Why the two may differ. The first of several counts.
REASONS: tuple[tuple[str, Callable[[str, Decoded, Decoded], bool]], ...] = (
    ("an unknown version", lambda text, api, mine: _is_of_unknown_version(api)),
    ("no apiVersion", lambda text, api, mine: "'apiVersion' is missing" in api.message),
    ("no name", lambda text, api, mine: "expected a name" in mine.message),
    ("no such priority class", lambda text, api, mine: "no PriorityClass" in mine.message),
    ("a negative amount", lambda text, api, mine: "greater than or equal to 0" in mine.message),
    ("a quantity too long", lambda text, api, mine: "digits are not supported" in mine.message),
    ("a null in a list", lambda text, api, mine: bool(_NULL_IN_LIST.search(mine.message))),
    ("half of a surrogate pair", lambda text, api, mine: "hex escape" in mine.message),
    ("the year 0", lambda text, api, mine: '"0000-' in mine.message),
    ("a time that is not read", lambda text, api, mine: _is_unread_time(text, api.message)),
    ("a field that is not read", lambda text, api, mine: _is_unread(text, api.message)),
)


def _is_of_unknown_version(api: Decoded) -> bool:
    return api.outcome == "foreign" or "unexpected GroupVersion" in api.message


def _is_unread_time(text: str, message: str) -> bool:
    return "parsing time" in message and json.loads(text)["kind"] != "Pod"


def _is_unread(text: str, message: str) -> bool:
    """Whether it is about a field that ksched's type of this kind has not."""
    match = _GO_FIELD.search(message)
    if match is None:
        return False
    value = json.loads(text)
    kind: Any = type_of_kind(value.get("apiVersion", ""), value["kind"])
    for step in match[1].split("."):
        fields = {field.encode_name: field.type for field in _fields(kind)}
        if step not in fields:
            return True
        kind = fields[step]
    return False


def _fields(kind: Any) -> tuple[msgspec.structs.FieldInfo, ...]:
    """The record type, or that of the records in a list, a map or a choice."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return msgspec.structs.fields(kind)
    return tuple(field for part in get_args(kind) for field in _fields(part))


def reason_of(text: str, api: Decoded, mine: Decoded) -> str:
    """Why they differ, "" where no reason is known."""
    return next((name for name, applies in REASONS if applies(text, api, mine)), "")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    unexplained = 0
    with ExitStack() as stack:
        try:
            oracles = [stack.enter_context(Oracle(minor)) for minor in MINORS]
        except UnavailableError as why:
            print(f"no oracle: {why}", file=sys.stderr)
            return 2
        for seed in range(options.seed, options.seed + options.count):
            text = mutated_object(seed)
            mine, api = by_ksched(text), by_api(oracles, text)
            if api.outcome == mine.outcome:
                counts[f"alike: {api.outcome}"] += 1
                continue
            reason = reason_of(text, api, mine)
            counts[reason or "no reason"] += 1
            unexplained += not reason
            if options.all or not reason:
                print(f"seed {seed}: the API: {api.outcome} {api.message[:300]}")
                print(f"    ksched: {mine.outcome} {mine.message[:300]}", flush=True)
    for line, count in sorted(counts.items()):
        print(f"{count:6d} {line}")
    return int(bool(unexplained))


if __name__ == "__main__":
    sys.exit(main())
