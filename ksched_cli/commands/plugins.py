"""`ksched plugins`: every plugin known, where it comes from, its extension points."""

from __future__ import annotations

from ksched_cli.commands import runs
from ksched_cli.commands.options import CommonOptions
from ksched_cli.commands.output import show
from ksched_cli.errors import ExitCode


def plugins(options: CommonOptions) -> ExitCode:
    """Every plugin known, where it comes from, its extension points.

    The result also lists the kinds of workloads that plugins make pods of. Installed plugins that
    cannot be loaded are listed as broken, with the cause.

    Examples:
        ksched plugins
        ksched plugins --plugin packing.py -o json
    """
    from msgspec.structs import replace

    from ksched_cli.config.load import default_configuration
    from ksched_cli.framework.discovery import tried
    from ksched_cli.framework.plugin_list import plugin_list
    from ksched_cli.run.plugins import discovered

    run = runs.run_of(options)
    discovery = discovered(run.plugins)
    registry = runs.in_named_release(discovery.registry, run)
    discovery = tried(replace(discovery, registry=registry))
    default_profile = default_configuration(discovery.registry).profiles[0]
    enabled = {ref.name for refs in default_profile.plugins.values() for ref in refs}
    return show(plugin_list(discovery, enabled), options)
