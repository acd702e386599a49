"""Names of the plugin contract that were renamed: the old ones work for one more release."""

from __future__ import annotations

import warnings
from typing import Any

RENAMED = {
    "depends_on": "scope_for",
    "looks_at": "cache_key",
    "by_extremes": "normalizes_by_min_max",
}


def warn_renamed(old: str, new: str, stacklevel: int = 3) -> None:
    """A FutureWarning, which Python shows by default: it is the plugin's user who can act on it."""
    message = f"{old} is now {new}; the old name goes away in ksched 0.3"
    warnings.warn(message, FutureWarning, stacklevel=stacklevel)


def adopt_renamed(cls: type[Any]) -> None:
    """Gives a plugin class that defines members by their old names the new ones."""
    for old, new in RENAMED.items():
        if old in vars(cls) and new not in vars(cls):
            warn_renamed(f"{cls.__name__}.{old}", new, stacklevel=4)
            setattr(cls, new, vars(cls)[old])
