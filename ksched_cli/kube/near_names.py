"""The name that was likely meant by one that does not exist."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_CUTOFF = 0.72


def nearest(name: str, candidates: Iterable[str]) -> str:
    """The candidate that is most like a name, whatever its case; empty where none is."""
    by_fold = {candidate.casefold(): candidate for candidate in candidates}
    matches = get_close_matches(name.casefold(), by_fold, n=1, cutoff=_CUTOFF)
    return by_fold[matches[0]] if matches else ""


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """A hint, or nothing."""
    candidate = nearest(name, candidates)
    return f'did you mean "{candidate}"?' if candidate else ""
