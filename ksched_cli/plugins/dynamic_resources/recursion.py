"""How deep the search for devices may nest."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def recursion_limit_for(devices: int) -> Iterator[None]:
    """The search nests two calls per device, and as many per claim."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(before + 8 * devices)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
