"""Mutated texts: quantities, selectors, expressions and the like, for functions that read them."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from mutations import INTEGERS, QUANTITIES, STRINGS, TIMES

ALPHABET = "0123456789.-+eEnumkKMGTPi '\"\\()[]{}:,/=!<>&|?abxyZ_\x00\n\t\x7f\u00e9\u0663\u2028"
EXTREMES = (
    *map(str, INTEGERS),
    *QUANTITIES,
    *TIMES,
    *(text for text in STRINGS if "\ud800" not in text),  # no reader of UTF-8 makes one
)


GROWN = Path(__file__).parent / "corpus" / "texts"


@cache
def grown_texts(name: str) -> tuple[str, ...]:
    """Those that libFuzzer found for a function: each reaches code that no other one does."""
    path = GROWN / f"{name}.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return tuple(map(json.loads, lines))


def write_grown_texts(name: str, texts: Iterable[str]) -> None:
    GROWN.mkdir(parents=True, exist_ok=True)
    (GROWN / f"{name}.jsonl").write_text("".join(f"{json.dumps(text)}\n" for text in texts))


def mutated_text(corpus: Sequence[str], rng: random.Random) -> str:
    """A text of the corpus after up to four changes, or one that is odd by itself."""
    text = rng.choice(corpus) if rng.random() < 0.95 else rng.choice(EXTREMES)
    for _ in range(rng.choice((0, 1, 1, 2, 4))):
        start = rng.randrange(len(text) + 1)
        end = min(len(text), start + rng.choice((0, 1, 1, 3, 20)))
        text = text[:start] + _filling(text[start:end], corpus, rng) + text[end:]
    return text


def _filling(replaced: str, corpus: Sequence[str], rng: random.Random) -> str:
    kind = rng.randrange(6)
    if kind == 0:
        return ""
    if kind == 1:
        return "".join(rng.choices(ALPHABET, k=rng.choice((1, 1, 2, 8))))
    if kind == 2:
        return replaced * rng.choice((2, 3, 50, 3000))
    if kind == 3:
        return rng.choice(EXTREMES)
    if kind == 4:
        return replaced.swapcase()
    other = rng.choice(corpus)
    start = rng.randrange(len(other) + 1)
    return other[start : start + rng.choice((1, 4, 30))]
