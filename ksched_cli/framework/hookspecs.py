"""How plugins from outside make themselves known: one hook, in the entry-point group `ksched`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pluggy

PROJECT = "ksched"

# Where the entry point's module says which version of the plugin API it is for.
API_ATTRIBUTE = "KSCHED_API"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


class Hooks:
    """Implement it in the module that the entry point names, marked with `hookimpl`."""

    @hookspec
    def ksched_plugins(self) -> Mapping[str, type[Any]]:
        """Plugin name → class. The class is made with (args, handle) when a profile enables it."""
        raise NotImplementedError
