"""`ksched config`: show, diff, migrate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ksched_cli import program_name
from ksched_cli.commands import output, runs
from ksched_cli.commands.command_line import option
from ksched_cli.commands.options import SOURCE_HELP, AllowPlugins, CommonOptions
from ksched_cli.errors import ExitCode, InputError, UsageError
from ksched_cli.kube.file_paths import STDIN, check_standard_input, split_reference
from ksched_cli.kube.versions import MINORS
from ksched_cli.report.forms import Form, safe_in_job

if TYPE_CHECKING:
    from ksched_cli.config.allowed_plugins import AllowedPlugin
    from ksched_cli.config.effective import Configuration
    from ksched_cli.config.migration.migrate import ConfigurationMigration
    from ksched_cli.config.sources import ConfigurationText
    from ksched_cli.run.open import Opener
    from ksched_cli.run.run import Run

VERSIONED_HELP = f"{SOURCE_HELP} REV:PATH reads a file from git."

HELP = "Show the configuration that takes effect."


def show(
    options: CommonOptions,
    config: Annotated[
        str | None,
        typer.Argument(
            metavar="CONFIG",
            envvar="KSCHED_CONFIG",
            help=f"{VERSIONED_HELP} Without it, the default configuration.",
        ),
    ] = None,
    allow_plugins: AllowPlugins = None,
) -> ExitCode:
    """The effective plugins, weights and args of every profile.

    Examples:
        ksched config show scheduler.yaml
        ksched config show origin/main:deploy/scheduler.yaml -o yaml
    """
    from ksched_cli.analysis.configuration import EffectiveConfiguration

    run = runs.in_project(runs.run_of(options, configuration=config or ""), config or STDIN)
    opener = runs.opener(run)
    output.set_release(opener.release(run))
    allowed = runs.allowed_in_project(allow_plugins, config or STDIN)
    answer = EffectiveConfiguration.of(_configuration(opener, run, allowed))
    return output.show(answer, options)


def diff(
    options: CommonOptions,
    before: Annotated[str, typer.Argument(metavar="A", help=VERSIONED_HELP)],
    after: Annotated[str, typer.Argument(metavar="B", help="The configuration to compare with.")],
    allow_plugins: AllowPlugins = None,
    from_version: Annotated[
        str,
        option("Minor whose rules apply to A; default that of B.", "|".join(MINORS)),
    ] = "",
) -> ExitCode:
    """What differs once both take effect.

    Compares after defaults, merging, multiPoint and weights, so that two files with the same
    meaning do not differ. With --from-version, A and B may be one file: it shows what an upgrade
    changes. -o markdown is for a pull request. Exit code 0 when nothing differs, 1 when something
    does.

    Examples:
        ksched config diff old.yaml new.yaml
        ksched config diff -o markdown -- origin/main:scheduler.yaml scheduler.yaml
    """
    from msgspec.structs import replace

    from ksched_cli.analysis.configuration import ConfigurationDiff
    from ksched_cli.config.differences import differences

    check_standard_input({"A": [before], "B": [after]})
    run = runs.in_project(runs.run_of(options), after)
    sides = [replace(run, configuration=path) for path in (before, after)]
    names = before, after
    if from_version:
        sides[0] = replace(sides[0], kubernetes_version=from_version)
    opener = runs.opener(*sides)
    registry = opener.registry(sides[1])
    if from_version:
        names = f"{before} ({from_version})", f"{after} ({registry.release.minor})"
    output.set_release(registry.release)
    allowed = runs.allowed_in_project(allow_plugins, after)
    first = _configuration(opener, sides[0], allowed)
    try:
        second = _configuration(opener, sides[1], allowed)
    except InputError as error:
        # One file may be valid in the older minor only.
        for each in (error, *error.others) if from_version else ():
            each.problem = f"Kubernetes {registry.release.minor} refuses this: {each.problem}"
        raise error.with_others(error.others) from None
    answer = ConfigurationDiff(changes=differences(first, second, registry), names=names)
    return output.show(answer, options)


def _configuration(opener: Opener, run: Run, allowed: tuple[AllowedPlugin, ...]) -> Configuration:
    """Return the configuration of a file, or of a revision in git. Raises InputError."""
    from ksched_cli.config.load import load_configuration_source
    from ksched_cli.config.sources import read_versioned_text

    if not run.configuration:
        return opener.configuration(run, allowed)
    text = read_versioned_text(run.configuration)
    return load_configuration_source(text, opener.registry(run), allowed)


def migrate(
    options: CommonOptions,
    file: Annotated[str, typer.Argument(metavar="FILE", help=SOURCE_HELP)],
    write: Annotated[bool, option("Write the new configuration to FILE.", short="-w")] = False,
) -> ExitCode:
    """The same configuration in the newest apiVersion, comments kept.

    Reads v1beta1, v1beta2 and v1beta3, and a Policy. Prints the new file; standard error lists,
    line by line, what is written differently and what cannot be carried over. -w writes FILE
    instead, also inside a ConfigMap, if everything can be carried over. Exit code 0 when the new
    file takes effect as the old one did, 1 when something cannot be carried over.

    Examples:
        ksched config migrate old.yaml > new.yaml
        ksched config migrate -w scheduler-configmap.yaml
    """
    from ksched_cli.config.migration.migrate import migrate_source
    from ksched_cli.config.sources import read_configuration_text
    from ksched_cli.report.configuration import is_warning, remark_line

    if write and options.output is not Form.TABLE:
        raise UsageError(f"-w prints nothing: it cannot be combined with -o {options.output.value}")
    registry = runs.registry(runs.in_project(runs.run_of(options), file))
    source = read_configuration_text(file)
    migration = migrate_source(source, registry)
    if options.output is Form.TABLE and not write:
        # The text is printed as it is: a CI job's runner must obey no line of it.
        safe = safe_in_job(migration.text, Form.TABLE)
        for text, safe_line in zip(migration.text.splitlines(), safe.splitlines(), strict=True):
            if text != safe_line:
                raise UsageError(
                    f"{source.path}: the CI job's log would run this line of the new configuration "
                    f"as a command: {safe_line.strip()}\n  -o json prints the text escaped"
                )
    for remark in migration.remarks:
        line = remark_line(remark, source.path)
        if is_warning(remark):
            output.warn(line)
        else:
            output.note(line)
    if write:
        return _write(source, split_reference(file)[0], migration)
    return output.show(migration, options)


def _write(source: ConfigurationText, path: str, migration: ConfigurationMigration) -> ExitCode:
    """Write the file that holds the source. Raises UsageError if that cannot be done."""
    from ksched_cli.config.sources import with_text
    from ksched_cli.live.snapshot_file import written_aside

    if path == STDIN:
        raise UsageError("-w requires a file; standard input cannot be written")
    if not migration.complete:
        output.note(f"did not write {path}; without -w, ksched prints the part that it can migrate")
        return ExitCode.NO
    if migration.text == source.text:
        output.note(f"no change is needed in {path}")
        return ExitCode.YES
    content = with_text(source, migration.text, source.file)
    if content is None:
        command = f"{program_name()} config migrate {path}"
        hint = f"print the new configuration with `{command}`, and put it there"
        raise UsageError(f"{source.name} cannot be written in its place; {hint}")
    with written_aside(path) as file:
        file.write(content)
    output.note(f"wrote {path}")
    return ExitCode.YES
