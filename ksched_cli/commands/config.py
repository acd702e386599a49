"""`ksched config show [CONFIG]`: the effective configuration."""

from __future__ import annotations

from typing import Annotated

import typer

from ksched_cli.commands.options import Output, Plugin
from ksched_cli.report.forms import Form

app = typer.Typer(help="The configuration as it takes effect.", no_args_is_help=True)


@app.callback()
def config() -> None:
    """The configuration as it takes effect."""


@app.command()
def show(
    config: Annotated[
        str | None,
        typer.Argument(
            metavar="[CONFIG]",
            envvar="KSCHED_CONFIG",
            help="A file, or - for standard input. Without it, the default configuration.",
        ),
    ] = None,
    plugin: Plugin = None,
    output: Output = Form.TABLE,
) -> None:
    """The effective plugins, weights and args of every profile."""
    from ksched_cli.commands import output as printing
    from ksched_cli.commands.session_configuration import read_configuration
    from ksched_cli.commands.session_plugins import registry
    from ksched_cli.report import configuration
    from ksched_cli.report.forms import Report

    effective = read_configuration(config, registry(plugin), plugin)
    printing.show(
        Report(
            document=lambda: configuration.document(effective),
            table=lambda: configuration.table(effective, printing.limit()),
        ),
        output,
    )
