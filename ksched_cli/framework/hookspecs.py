"""The hook by which other distributions register plugins, in the entry-point group `ksched`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    from ksched_cli.cluster.custom_objects import PodMaker


PROJECT = "ksched"

# The attribute of an entry point's module with the version of the plugin API that it is for.
API_ATTRIBUTE = "KSCHED_API"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


class Hooks:
    """Implemented in the module that the entry point names, marked with `hookimpl`."""

    @hookspec
    def ksched_plugins(self) -> Mapping[str, type[Any]]:
        """Return a mapping from plugin name to class. A class is called with (args, handle) when a
        profile enables it."""
        raise NotImplementedError

    @hookspec
    def ksched_workloads(self) -> Mapping[str, PodMaker]:
        """Return a mapping from a kind with its group, such as "Farm.example.com", to a function.
        It takes an object of that kind, as plain data, and returns the manifests of all pods that
        its controller would make, with their names. Those that the state has are left out."""
        raise NotImplementedError
