"""`ksched validate CONFIG...`: are these KubeSchedulerConfigurations right?"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from ksched_cli.commands.command import ExitCode
from ksched_cli.commands.options import AllowPlugins, CommonOptions
from ksched_cli.errors import UsageError
from ksched_cli.kube.file_paths import split_reference
from ksched_cli.report.forms import Form

if TYPE_CHECKING:
    from ksched_cli.config.sources import ReviewedText, Sources
    from ksched_cli.report.forms import Report

ALL_RULES = "all"


@dataclass(frozen=True, slots=True)
class ValidateOptions(CommonOptions):
    """Of `validate`: a field per option."""

    allow_plugins: AllowPlugins = None
    skip_others: Annotated[
        bool,
        typer.Option(
            "--skip-others", help="Pass over files that hold no configuration, as in folders."
        ),
    ] = False
    explain: Annotated[
        str,
        typer.Option(
            "--explain",
            metavar="RULE",
            help="What a rule finds, why it matters, and an example; all lists the rules.",
            show_default=False,
        ),
    ] = ""


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

    Says what kube-scheduler itself would say, and every problem with its line; warns of what later
    Kubernetes minors refuse. A configuration in a ConfigMap, a chart's values or a list is looked
    at in its place. -o sarif, github or junit is for CI. Exit code 0 when all are valid, 1 when one
    is not, 2 when a file cannot be read.
    """
    from ksched_cli.commands import runs
    from ksched_cli.commands.output import show, warn
    from ksched_cli.config.allowed_plugins import read_allowed
    from ksched_cli.config.sources import find_configurations, review_text
    from ksched_cli.kube.versions import later_releases
    from ksched_cli.run.plugins import in_release

    if options.explain:
        return _explain(options.explain, configs or (), options.output)
    if not configs:
        raise UsageError("CONFIG... is missing: ksched validate CONFIG...")
    allowed = read_allowed(options.allow_plugins or ())
    sources = find_configurations(configs, skip_others=options.skip_others)
    for path in sources.templates:
        warn(f"{path} is a template: render it first, `helm template CHART | ksched validate -`")
    if not sources.texts and not options.skip_others:
        count = len(sources.passed_over)
        raise UsageError(f"no configuration in {' '.join(configs)} ({count} YAML and JSON files)")
    registry = runs.registry(options)
    later = [in_release(registry, release) for release in later_releases(registry.release)]
    texts = [review_text(source, registry, allowed, later) for source in sources.texts]
    show(_report(texts, sources, configs), options.output)
    return ExitCode.YES if all(text.review.valid for text in texts) else ExitCode.NO


def _report(texts: Sequence[ReviewedText], sources: Sources, configs: Sequence[str]) -> Report:
    """A single file with a single configuration has a document of its own kind."""
    from ksched_cli.commands.output import limit
    from ksched_cli.report import validation as renderer
    from ksched_cli.report.forms import Report
    from ksched_cli.report.github import github_annotations
    from ksched_cli.report.junit import junit
    from ksched_cli.report.sarif import sarif

    is_single = len(configs) == len(texts) == 1 and (
        configs[0] == "-" or os.path.isfile(split_reference(configs[0])[0])
    )
    return Report(
        document=lambda: (
            renderer.document(texts[0].review) if is_single else renderer.documents(texts, sources)
        ),
        table=lambda: renderer.tables(texts, sources, limit()),
        headline=lambda: renderer.headlines(texts),
        texts={
            Form.SARIF: lambda: sarif(texts),
            Form.GITHUB: lambda: github_annotations(texts),
            Form.JUNIT: lambda: junit(renderer.suites(texts)),
        },
    )


def _explain(name: str, configs: Sequence[str], form: Form) -> ExitCode:
    """Raises UsageError for a rule that there is not, and for what does nothing here."""
    from ksched_cli.commands.output import limit, show
    from ksched_cli.config.checks.rules import rules
    from ksched_cli.kube.near_names import did_you_mean
    from ksched_cli.report import rules as renderer
    from ksched_cli.report.forms import Report

    if configs:
        raise UsageError("--explain takes no CONFIG beside it")
    if form is not Form.TABLE:
        raise UsageError(f"--explain does nothing with -o {form.value}")
    if name == ALL_RULES:
        show(Report(dict, lambda: renderer.listing(rules(), limit())), form)
        return ExitCode.YES
    rule = rules().get(name)
    if rule is None:
        hint = did_you_mean(name, rules()) or "`ksched validate --explain all` lists them"
        raise UsageError(f'there is no rule "{name}"; {hint}')
    show(Report(dict, lambda: renderer.page(rule, limit())), form)
    return ExitCode.YES
