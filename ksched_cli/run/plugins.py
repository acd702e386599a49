"""The plugins that a Run may use: in-tree ones, installed ones, and those that it names.

Loads neither NumPy nor msgspec, so that `validate` and `plugins` start quickly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ksched_cli.errors import UsageError
from ksched_cli.framework.discovery import Discovery, discover
from ksched_cli.framework.interface import Plugin
from ksched_cli.framework.registry import Registry
from ksched_cli.kube.versions import Release
from ksched_cli.plugins import IN_TREE, registry_of


def discovered(
    sources: Sequence[str], classes: Mapping[str, type[Plugin]] | None = None
) -> Discovery:
    """Return the plugins that can be loaded, and the sources that cannot. sources: as --plugin
    takes them, or keys of `classes`"""
    return discover(IN_TREE, sources, classes)


def usable(discovery: Discovery, warn: Callable[[str], None]) -> Registry:
    """Return the plugins that load; warns of installed ones that do not. Raises UsageError where
    one that is named does not."""
    for broken in discovery.broken:
        if broken.is_requested:
            # The last line of code that the traceback names says where.
            detail = broken.detail.splitlines()
            lines = [line.strip() for line in detail if line.startswith("  File ")]
            where = f"\n  at {lines[-1]}" if lines else ""
            raise UsageError(f"--plugin {broken.origin}: {broken.cause}{where}")
        warn(f"the plugins of {broken.origin} cannot be loaded: {broken.cause}")
    for line in discovery.notes:
        warn(line)
    return discovery.registry


def in_release(registry: Registry, release: Release) -> Registry:
    """Return the same plugins as a release has them."""
    foreign = [entry for entry in registry.values() if entry.is_foreign]
    return registry_of(release, foreign, registry.pod_makers)
