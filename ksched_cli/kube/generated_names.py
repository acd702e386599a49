"""Names as the API server generates them, in order instead of at random."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

# The alphabet of upstream's rand.SafeEncodeString: no vowels, so that no bad words arise.
SAFE_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH = 5
_MAX_BASE = 58  # leaves room for the suffix in a name of 63 characters


def generated_names(base: str, taken: set[str]) -> Iterator[str]:
    """Yield the names that an object with `base` as its generateName may get, and add each to
    `taken`, whose names are not used. Upstream: apiserver/pkg/storage/names (GenerateName)."""
    for number in itertools.count():
        # Five characters, in order of the number.
        suffix, rest = "", number
        for _ in range(_SUFFIX_LENGTH):
            rest, digit = divmod(rest, len(SAFE_ALPHABET))
            suffix = SAFE_ALPHABET[digit] + suffix
        name = f"{base[:_MAX_BASE]}{suffix}"
        if name not in taken:
            taken.add(name)
            yield name
