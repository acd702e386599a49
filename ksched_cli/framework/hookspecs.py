"""The hook by which other distributions register plugins, in the entry-point group `ksched`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pluggy

PROJECT = "ksched"

# The attribute of an entry point's module with the version of the plugin API that it is for.
API_ATTRIBUTE = "KSCHED_API"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


class Hooks:
    """Implemented in the module that the entry point names, marked with `hookimpl`."""

    @hookspec
    def ksched_plugins(self) -> Mapping[str, type[Any]]:
        """Plugin name → class, which is called with (args, handle) when a profile enables it."""
        raise NotImplementedError
