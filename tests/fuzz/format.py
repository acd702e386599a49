"""A format of files that ksched reads, and what makes variants of its examples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from corpora import EXAMPLES
from substitutes import Variant, json_variants

# Labels, and what makes the bytes of the file.
Variants = Iterable[tuple[str, Callable[[], bytes]]]
Arguments = tuple[str, ...]
FIRST_CLUSTER = str(EXAMPLES / "first-cluster" / "cluster.yaml")
PREEMPTION = str(EXAMPLES / "preemption" / "cluster.yaml")
REPLAY = EXAMPLES / "replay"
DAY = str(REPLAY / "day.yaml")
JSON = ("-o", "json")


@dataclass(frozen=True, slots=True)
class Format:
    """variants: labels and contents of the file NAME; commands: those that read it, by the path of
    the file, in turn; prepare: puts into its folder what they need beside it."""

    name: str
    file: str
    variants: Callable[[], Variants]
    commands: Callable[[str, Path], Sequence[Arguments]]
    prepare: Callable[[Path], None] = lambda folder: None


def encoded(variants: Iterable[Variant]) -> Variants:
    return ((variant.label, partial(_encode, variant)) for variant in variants)


def _encode(variant: Variant) -> bytes:
    return variant.make().encode("utf-8", "surrogatepass")


def of_bytes(variants: Iterable[tuple[str, bytes]]) -> Variants:
    return ((label, partial(bytes, data)) for label, data in variants)


def of_documents(corpus: Callable[[], Iterable[Sequence[Any]]]) -> Callable[[], Variants]:
    """Some documents of each file, without places that an earlier file has."""

    def variants() -> Variants:
        seen: set[Any] = set()
        for documents in corpus():
            yield from encoded(json_variants(documents, seen))

    return variants


def singly(corpus: Callable[[], Iterable[Any]]) -> Callable[[], Variants]:
    return of_documents(lambda: [[document] for document in corpus()])
