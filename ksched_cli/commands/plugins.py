"""`ksched plugins`: every plugin known, where it comes from, its extension points."""

from __future__ import annotations

from ksched_cli.commands.options import Output, Plugin
from ksched_cli.report.forms import Form


def plugins(plugin: Plugin = None, output: Output = Form.TABLE) -> None:
    """Every plugin known, where it comes from, its extension points.

    Plugins that are installed but cannot be loaded or made are listed as broken, with the cause.
    """
    from ksched_cli.commands.output import limit, show
    from ksched_cli.commands.session_plugins import discovery
    from ksched_cli.config.load import default_configuration
    from ksched_cli.framework.discovery import tried
    from ksched_cli.report import plugins as report
    from ksched_cli.report.forms import Report

    found = tried(discovery(plugin))
    defaults = default_configuration(found.registry).profiles[0]
    enabled = {ref.name for refs in defaults.plugins.values() for ref in refs}
    show(
        Report(
            document=lambda: report.document(found, enabled),
            table=lambda: report.table(found, enabled, limit()),
        ),
        output,
    )
