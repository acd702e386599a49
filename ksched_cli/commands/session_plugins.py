"""The plugins there are; those that do not load are reported and left out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

from ksched_cli.commands.output import warn
from ksched_cli.errors import UsageError
from ksched_cli.framework.discovery import Broken, Discovery, discover
from ksched_cli.framework.registry import PluginEntry, Registry
from ksched_cli.plugins import IN_TREE


def discovery(asked: Sequence[str] | None = None) -> Discovery:
    """In-tree plugins, those that other distributions bring, and those that --plugin names."""
    return _discovery(tuple(asked or ()))


@cache
def _discovery(asked: tuple[str, ...]) -> Discovery:
    return discover(IN_TREE, asked)


def registry(asked: Sequence[str] | None = None) -> Registry:
    """The plugins that can be used; warns of the others. Raises UsageError where one that was asked
    for cannot be had."""
    found = discovery(asked)
    for broken in found.broken:
        if broken.asked:
            raise UsageError(f"--plugin {broken.origin}: {broken.cause}{_place(broken)}")
        warn(f"the plugins of {broken.origin} cannot be loaded: {broken.cause}")
    return found.registry


def asked_for(known: Registry, asked: Sequence[str] | None) -> Iterable[PluginEntry]:
    """The plugins that --plugin brought."""
    return [entry for entry in known.values() if entry.origin in (asked or ())]


def _place(broken: Broken) -> str:
    """The last line of code that the traceback names."""
    lines = [line.strip() for line in broken.detail.splitlines() if line.startswith("  File ")]
    return f"\n  at {lines[-1]}" if lines else ""
