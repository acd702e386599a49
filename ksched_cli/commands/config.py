"""`ksched config`: show, diff, migrate."""

from __future__ import annotations

from typing import Annotated

import typer

from ksched_cli.commands.command import ExitCode, as_command
from ksched_cli.commands.command_line import Command, CommandGroup
from ksched_cli.commands.options import AllowPlugins, CommonOptions

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
    allow_plugins: AllowPlugins = None,
) -> ExitCode:
    """The effective plugins, weights and args of every profile."""
    from ksched_cli.commands import output
    from ksched_cli.commands.session import (
        read_configuration,
        registry_in_release,
        usable_plugins,
    )
    from ksched_cli.config.allowed_plugins import read_allowed
    from ksched_cli.report import configuration as renderer
    from ksched_cli.report.forms import Report

    registry = registry_in_release(options, usable_plugins(options.plugin))
    allowed = read_allowed(allow_plugins or ())
    configuration = read_configuration(config, registry, options.plugin, allowed)
    output.show(
        Report(
            document=lambda: renderer.document(configuration),
            table=lambda: renderer.table(configuration, output.limit()),
        ),
        options.output,
    )
    return ExitCode.YES


@app.command(cls=Command)
@as_command
def diff(
    options: CommonOptions,
    before: Annotated[str, typer.Argument(metavar="A", help="A file, or - for standard input.")],
    after: Annotated[str, typer.Argument(metavar="B", help="The file to compare with it.")],
    allow_plugins: AllowPlugins = None,
) -> ExitCode:
    """What differs once both take effect.

    Defaults, merging, multiPoint and weights are applied before: two files that mean the same do
    not differ, however they are written. Exit code 0 when nothing differs, 1 when something does.
    """
    from ksched_cli.commands import output
    from ksched_cli.commands.session import (
        read_configuration,
        registry_in_release,
        usable_plugins,
    )
    from ksched_cli.config.allowed_plugins import read_allowed
    from ksched_cli.config.diff import differences
    from ksched_cli.report import configuration_diff as renderer
    from ksched_cli.report.forms import Report

    registry = registry_in_release(options, usable_plugins(options.plugin))
    allowed = read_allowed(allow_plugins or ())
    first, second = (
        read_configuration(path, registry, options.plugin, allowed) for path in (before, after)
    )
    changes = differences(first, second, registry)
    output.show(
        Report(
            document=lambda: renderer.document(changes),
            table=lambda: renderer.table(changes, (before, after), output.limit()),
        ),
        options.output,
    )
    return ExitCode.NO if changes else ExitCode.YES


@app.command(cls=Command)
@as_command
def migrate(
    options: CommonOptions,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A file, or - for standard input.")],
) -> ExitCode:
    """The same configuration in the newest apiVersion, comments kept.

    Of v1beta1, v1beta2 and v1beta3, and of a Policy. The new file goes to standard output; what was
    written otherwise, and what cannot be carried over, to standard error, line by line. Exit code 0
    when it takes effect as the old file did, 1 when something is not carried over.
    """
    from ksched_cli.commands import output
    from ksched_cli.commands.session import registry_in_release, usable_plugins
    from ksched_cli.config.migration.migrate import migrate as migrated
    from ksched_cli.kube.documents import decode_text, read_file
    from ksched_cli.report import migration as renderer
    from ksched_cli.report.forms import Report

    registry = registry_in_release(options, usable_plugins(options.plugin))
    raw, name = read_file(file)
    migration = migrated(decode_text(raw, name), name, registry)
    for remark in migration.remarks:
        line = renderer.line(remark, name)
        if renderer.is_warning(remark):
            output.warn(line)
        else:
            output.note(line)
    output.show(
        Report(
            document=lambda: renderer.document(migration),
            table=lambda: migration.text.removesuffix("\n"),
        ),
        options.output,
    )
    return ExitCode.YES if migration.complete else ExitCode.NO
