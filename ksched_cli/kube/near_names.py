"""The names that were likely meant by one that does not exist."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def nearest(name: str, candidates: Iterable[str], cutoff: float = 0.72) -> str:
    """Return the candidate that is most like a name, whatever its case; empty where none is."""
    from difflib import get_close_matches  # which only errors need

    by_fold = {candidate.casefold(): candidate for candidate in candidates}
    matches = get_close_matches(name.casefold(), by_fold, n=1, cutoff=cutoff)
    return by_fold[matches[0]] if matches else ""


def near_key(key: str, keys: Iterable[str]) -> str:
    """Return the label key that is nearly this one, as topology.kubernetes.io/zone is zone, or "".
    keys: the likeliest first"""
    candidates, name = [*keys], key.rpartition("/")[2]
    of_same_name = (each for each in candidates if each.rpartition("/")[2] == name)
    return next(of_same_name, "") or nearest(key, candidates)


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """Return a hint, or nothing."""
    candidate = nearest(name, candidates)
    return f'did you mean "{candidate}"?' if candidate else ""


def near_hint(
    name: str,
    candidates: Iterable[str],
    *,
    most: int = 3,
    cutoff: float = 0.6,
    meant: Mapping[str, str] | None = None,
) -> str:
    """A hint with the nearest names, `; did you mean a, b?`, or nothing. meant: what a candidate
    stands for, where that is not itself"""
    from difflib import get_close_matches

    near = get_close_matches(name, [*candidates], n=most, cutoff=cutoff)
    listed = ", ".join(dict.fromkeys((meant or {}).get(each, each) for each in near))
    return f"; did you mean {listed}?" if listed else ""
