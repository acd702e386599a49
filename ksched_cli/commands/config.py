"""`ksched config show [CONFIG]`: the effective configuration."""

from __future__ import annotations

from typing import Annotated

import typer

from ksched_cli.commands.command import ExitCode, as_command
from ksched_cli.commands.command_line import Command, CommandGroup
from ksched_cli.commands.options import CommonOptions

app = typer.Typer(help="The configuration as it takes effect.", cls=CommandGroup)


@app.callback()
def config() -> None:
    """The configuration as it takes effect."""


@app.command(cls=Command)
@as_command
def show(
    options: CommonOptions,
    config: Annotated[
        str | None,
        typer.Argument(
            metavar="CONFIG",
            envvar="KSCHED_CONFIG",
            help="A file, or - for standard input. Without it, the default configuration.",
        ),
    ] = None,
) -> ExitCode:
    """The effective plugins, weights and args of every profile."""
    from ksched_cli.commands import output
    from ksched_cli.commands.session import (
        read_configuration,
        registry_in_release,
        usable_plugins,
    )
    from ksched_cli.report import configuration as renderer
    from ksched_cli.report.forms import Report

    registry = registry_in_release(options, usable_plugins(options.plugin))
    configuration = read_configuration(config, registry, options.plugin)
    output.show(
        Report(
            document=lambda: renderer.document(configuration),
            table=lambda: renderer.table(configuration, output.limit()),
        ),
        options.output,
    )
    return ExitCode.YES
