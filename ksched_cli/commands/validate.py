"""`ksched validate CONFIG...`: are these KubeSchedulerConfigurations right?"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from ksched_cli import program_name
from ksched_cli.commands.command_line import option
from ksched_cli.commands.options import AllowPlugins, CommonOptions
from ksched_cli.commands.output import (
    limit,
    note,
    print_text,
    set_release,
    show,
    show_text,
    warn,
)
from ksched_cli.commands.runs import run_of
from ksched_cli.errors import ExitCode, UsageError
from ksched_cli.kube.file_paths import STDIN, split_reference
from ksched_cli.kube.streams import STDIN_NAME
from ksched_cli.report.forms import Form

if TYPE_CHECKING:
    from ksched_cli.analysis.reviewer import Reviewer
    from ksched_cli.config.sources import Sources

ALL_RULES = "all"


def _selectors(values: Sequence[str] | None) -> tuple[str, ...]:
    """Return the rules and families of every value, which has commas between."""
    return tuple(part for value in values or () for part in re.split(r"[,\s]+", value) if part)


@dataclass(frozen=True, slots=True)
class ValidateOptions(CommonOptions):
    """The options of `validate`.

    skip_others: Skip files without a configuration, as in folders.
    select RULE,...: Rules and families to check, or all; overrides the project file.
    extend_select RULE,...: Rules and families to check additionally.
    ignore RULE,...: Rules and families to skip.
    fail_on error|warning: Exit with 1 from this severity on.
    isolated: Read no project file (.ksched.yaml).
    show_settings: Show the settings of each CONFIG only.
    explain RULE: Explain a rule, with an example; a family or all lists rules.
    fix: Show a diff that mends what it can.
    write: With --fix: write the files.
    """

    allow_plugins: AllowPlugins = None
    skip_others: bool = False
    select: list[str] | None = None
    extend_select: list[str] | None = None
    ignore: list[str] | None = None
    fail_on: Annotated[str, option(show_default="error")] = ""
    isolated: bool = False
    show_settings: bool = False
    explain: str = ""
    fix: bool = False
    write: Annotated[bool, option(short="-w")] = False


def validate(
    options: ValidateOptions,
    configs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CONFIG...",
            help="Files, folders with their sub-folders, globs, FILE#NAME, or - for standard "
            "input.",
        ),
    ] = None,
) -> ExitCode:
    """Are these KubeSchedulerConfigurations right?

    Lists every problem with its line, and what kube-scheduler itself would say; warns of what later
    Kubernetes minors refuse. Reads ConfigMaps, charts' values and lists, too. --fix mends misspelt
    names, numbers in quotes and the like; comments stay. Exit code 0 when all are valid, with -w
    after the edits, 1 when one is not, 2 when a file cannot be read.

    Examples:
        ksched validate --fail-on warning -o github -- deploy/
        helm template chart | ksched validate -
        ksched validate --fix -w scheduler.yaml
        ksched validate --explain weight-zero
    """
    from ksched_cli.analysis.configuration import ValidationResult, ValidationResults
    from ksched_cli.config.sources import find_configurations

    if options.explain:
        return _explain(options.explain, configs or (), options.output)
    if not configs:
        raise UsageError(f"CONFIG... is missing: {program_name()} validate CONFIG...")
    sources = find_configurations(configs, skip_others=options.skip_others)
    for path in sources.templates:
        command = f"helm template CHART | {program_name()} validate -"
        warn(f"{path} is a template: render it first, `{command}`")
    if not sources.texts and not options.skip_others:
        count = len(sources.passed_over)
        raise UsageError(f"no configuration in {' '.join(configs)} ({count} YAML and JSON files)")
    reviewer = _reviewer(options)
    if options.show_settings:
        from ksched_cli.report.validation import settings_text

        if options.output is not Form.TABLE:
            raise UsageError(f"--show-settings has no effect with -o {options.output.value}")
        paths = dict.fromkeys(source.path for source in sources.texts)
        show_text("\n\n".join(settings_text(path, reviewer.settings(path)) for path in paths))
        return ExitCode.YES
    if options.write and not options.fix:
        raise UsageError("-w requires --fix")
    if options.fix:
        return _fix(reviewer, sources, options)
    texts = [reviewer.review(source) for source in sources.texts]
    set_release(reviewer.settings(texts[0].source.path if texts else STDIN).release)
    # A single file with a single configuration has a document of its own kind.
    is_single = len(configs) == len(texts) == 1 and (
        configs[0] == "-" or os.path.isfile(split_reference(configs[0])[0])
    )
    answer = ValidationResult.of(texts[0]) if is_single else ValidationResults.of(texts, sources)
    return show(answer, options)


def _reviewer(options: ValidateOptions) -> Reviewer:
    """Return what reviews the files. Raises UsageError for unknown rules."""
    from ksched_cli.analysis.reviewer import Reviewer, ReviewOptions
    from ksched_cli.config.allowed_plugins import read_allowed
    from ksched_cli.config.checks.findings import Severity
    from ksched_cli.config.checks.rules import Selection, check_ignored, rules_of
    from ksched_cli.run.plugins import discovered, in_release, usable

    if options.fail_on not in ("", Severity.ERROR, Severity.WARNING):
        raise UsageError(f'--fail-on takes error or warning; not "{options.fail_on}"')
    selection = Selection(
        None if options.select is None else _selectors(options.select),
        _selectors(options.extend_select),
        _selectors(options.ignore),
    )
    for selector in (*(selection.select or ()), *selection.extend_select):
        rules_of(selector)
    for selector in selection.ignore:
        check_ignored(selector)
    run = run_of(options)
    plugins = usable(discovered(run.plugins), warn)
    return Reviewer(
        ReviewOptions(
            run.kubernetes_version,
            run.feature_gates,
            run.min_compatibility_version,
            read_allowed(options.allow_plugins or ()),
            selection,
            Severity(options.fail_on) if options.fail_on else None,
            options.isolated,
            looks_at_files=run.extenders,
        ),
        lambda release: in_release(plugins, release),
    )


def _fix(reviewer: Reviewer, sources: Sources, options: ValidateOptions) -> ExitCode:
    """Print the edits of all files, or write the files, and say what is left."""
    from ksched_cli.analysis.configuration_edits import EditedFile, edited
    from ksched_cli.live.snapshot_file import written_aside
    from ksched_cli.report.words import counted, grouped, verb

    if options.output is not Form.TABLE:
        raise UsageError(f"--fix has no effect with -o {options.output.value}")
    if options.write and any(source.path == STDIN_NAME for source in sources.texts):
        raise UsageError("-w requires files; standard input cannot be written")
    texts = [edited(source, reviewer) for source in sources.texts]
    by_path = grouped((text.before.source.path, text) for text in texts)
    # All edits are made before the first file is written.
    files = [EditedFile.of(path, own) for path, own in by_path.items()]
    changed = [file for file in files if file.count]
    if options.write:
        for each in changed:
            with written_aside(each.path) as file:
                file.write(each.after)
            note(f"{each.path}: wrote {counted(each.count, 'edit')}")
    elif changed:
        print_text("".join(each.diff for each in changed).rstrip("\n"))
    else:
        note("no finding has an edit")
    for text in texts:
        left = len(text.after.review.findings)
        if left:
            have = f"{counted(left, 'finding')} {verb(left, 'has', 'have')} no edit"
            command = f"{program_name()} validate {text.before.source.path}"
            note(f"{text.before.source.name}: {have}; `{command}` shows what is left")
    read_next = [text.after if options.write else text.before for text in texts]
    return ExitCode.of(not any(text.fails for text in read_next))


def _explain(name: str, configs: Sequence[str], form: Form) -> ExitCode:
    """Show a rule, a family, or all. Raises UsageError for an unknown rule, and for options without
    an effect here."""
    from ksched_cli.config.checks.rules import families, rules
    from ksched_cli.kube.near_names import did_you_mean
    from ksched_cli.report import validation as renderer
    from ksched_cli.report.terminal import as_text

    if configs:
        raise UsageError("--explain cannot be combined with CONFIG")
    if form is not Form.TABLE:
        raise UsageError(f"--explain has no effect with -o {form.value}")
    if name == ALL_RULES or name in families():
        names = rules() if name == ALL_RULES else families()[name]
        listed = renderer.rules_view([rules()[each] for each in names])
        show_text(as_text(listed, replace(limit(), rows=None)))
        return ExitCode.YES
    rule = rules().get(name)
    if rule is None:
        hint = (
            did_you_mean(name, (*rules(), *families()))
            or f"`{program_name()} validate --explain all` lists them"
        )
        raise UsageError(f'unknown rule "{name}"; {hint}')
    show_text(as_text(renderer.rule_view(rule), limit()))
    return ExitCode.YES
