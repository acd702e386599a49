"""Reviews of files, each under the settings of its project file and of the command line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from msgspec import structs

from ksched_cli.config.allowed_plugins import AllowedPlugin
from ksched_cli.config.checks.findings import Finding, Findings, Severity, in_order
from ksched_cli.config.checks.rules import (
    CHANGES_RULE,
    LATER_RULE,
    FileIgnore,
    Selection,
    file_ignores,
    ignores,
    matching,
    selected_rules,
)
from ksched_cli.config.differences import differences
from ksched_cli.config.effective import Configuration, KnownPlugins
from ksched_cli.config.load import load_configuration
from ksched_cli.config.review import Review, review_bytes
from ksched_cli.config.sources import ConfigurationText
from ksched_cli.config.types import DEFAULT_SCHEDULER_NAME
from ksched_cli.errors import InputError
from ksched_cli.kube.documents import Path, decode_text, load_documents
from ksched_cli.kube.formatting import json_text
from ksched_cli.kube.versions import (
    Release,
    inferred_release,
    later_releases,
    refused_gates,
    release_of,
)
from ksched_cli.masking import without_secrets
from ksched_cli.run.project import Project, Projects

_LINE_END = re.compile("\r\n|[\r\n\x85\u2028\u2029]")  # in their YAML form
_LONGEST_LINE = 1_000  # characters of a line that is shown


@dataclass(frozen=True, slots=True)
class ReviewedText:
    """source: what was reviewed; review: of it, with positions in the file; fail_on: the least
    severe finding for which it fails."""

    source: ConfigurationText
    review: Review
    fail_on: Severity = Severity.ERROR

    @property
    def fails(self) -> bool:
        return self.review.fails(self.fail_on)


@dataclass(frozen=True, slots=True)
class ReviewOptions:
    """What the command line says of all files. fail_on: None where it leaves that open; isolated:
    project files are not read; looks_at_files: see review"""

    kubernetes_version: str = ""
    feature_gates: str = ""
    min_compatibility_version: str = ""
    allowed: Sequence[AllowedPlugin] = ()
    selection: Selection = field(default_factory=Selection)
    fail_on: Severity | None = None
    isolated: bool = False
    looks_at_files: bool = True


@dataclass(frozen=True, slots=True)
class FileSettings:
    """The settings of a file.

    project: its project file; chosen: the rules that are on; ignores: those of the project file
    that are for this file
    """

    project: Project
    release: Release
    feature_gates: str
    min_compatibility_version: str
    allowed: tuple[AllowedPlugin, ...]
    chosen: frozenset[str]
    ignores: tuple[FileIgnore, ...]
    fail_on: Severity


class Reviewer:
    """Reviews configurations. plugins: those of a release"""

    def __init__(self, options: ReviewOptions, plugins: Callable[[Release], KnownPlugins]) -> None:
        self._options, self._plugins = options, plugins
        self._projects = Projects()
        self._registries: dict[tuple[str, str], KnownPlugins] = {}

    def settings(self, path: str) -> FileSettings:
        """Return those of a file, or of a reference to a configuration in one. Raises InputError
        for a project file that is not valid, and UsageError for options that are not."""
        options = self._options
        project = Project() if options.isolated else self._projects.of(path)
        stated = project.settings
        minor = options.kubernetes_version or stated.kubernetes_version
        gates = options.feature_gates or stated.feature_gates
        compatibility = options.min_compatibility_version or stated.min_compatibility_version
        own = Selection(stated.select, stated.extend_select, stated.ignore)
        ignores = file_ignores(stated.per_file_ignores)
        return FileSettings(
            project,
            release_of(minor, gates, compatibility=compatibility)
            if minor
            else inferred_release((), gates, compatibility),
            gates,
            compatibility,
            (*project.allowed, *options.allowed),
            selected_rules((own, options.selection)),
            matching(ignores, path, project.folder),
            options.fail_on or Severity(stated.fail_on),
        )

    def review(self, source: ConfigurationText) -> ReviewedText:
        """Review a configuration. Raises KschedError as `settings` does, and for a comment that
        allows no plugin."""
        settings = self.settings(source.path)
        release, gates = settings.release, settings.feature_gates
        registry = self._registry(release, gates)
        later = [self._registry(each, "") for each in later_releases(release)]
        looks_at_files = self._options.looks_at_files
        reviewed = review_text(
            source, registry, settings.allowed, later, looks_at_files=looks_at_files
        )
        gate_warnings = refusals_of_gates(gates, later_releases(release))
        review = replace(reviewed.review, findings=(*gate_warnings, *reviewed.review.findings))
        review = selected(review, settings.chosen, settings.ignores)
        return replace(reviewed, review=review, fail_on=settings.fail_on)

    def _registry(self, release: Release, gates: str) -> KnownPlugins:
        key = release.version, gates
        if key not in self._registries:
            self._registries[key] = self._plugins(release)
        return self._registries[key]


def selected(review: Review, chosen: frozenset[str], ignores: Sequence[FileIgnore] = ()) -> Review:
    """Return the review without findings of rules that are off, and with those that the project
    file silences apart."""
    findings = [finding for finding in review.findings if finding.rule in chosen]
    silenced = tuple(
        finding
        for finding in findings
        if not finding.refused and any(ignore.silences(finding) for ignore in ignores)
    )
    return replace(
        review,
        findings=tuple(finding for finding in findings if finding not in silenced),
        ignored=tuple(finding for finding in review.ignored if finding.rule in chosen),
        ignored_by_project=silenced,
    )


def review_text(
    source: ConfigurationText,
    registry: KnownPlugins,
    allowed: Sequence[AllowedPlugin] = (),
    later: Sequence[KnownPlugins] = (),
    *,
    looks_at_files: bool = True,
) -> ReviewedText:
    """Return the review, with positions in the file.

    later: the plugins of the later minors, whose refusals are warned of; looks_at_files: see review
    Raises UsageError for a comment that allows no plugin.
    """
    review = review_bytes(source.raw, source.path, registry, allowed, looks_at_files=looks_at_files)
    review = with_later_findings(review, source.raw, source.path, registry, later, allowed)
    # The lines are shown without secrets, and empty where they are too long.
    lines: Sequence[str] = ()
    if review.findings:
        with suppress(InputError):
            shown = without_secrets(_LINE_END.split(decode_text(source.raw, "")))
            lines = [line if len(line) <= _LONGEST_LINE else "" for line in shown]

    def placed(finding: Finding) -> Finding:
        at = finding.line or 0
        line = lines[at - 1] if 0 < at <= len(lines) else ""
        return source.place.of(structs.replace(finding, source=line))

    return ReviewedText(
        source,
        replace(
            review,
            findings=tuple(map(placed, review.findings)),
            ignored=tuple(map(source.place.of, review.ignored)),
        ),
    )


def refusals_of_gates(feature_gates: str, releases: Iterable[Release]) -> tuple[Finding, ...]:
    """Return a warning where a later release refuses a value of --feature-gates: the first that
    does."""
    for release in releases:
        reason = refused_gates(release, feature_gates)
        if reason:
            message = f"Kubernetes {release.minor} refuses this: {reason}"
            return (Finding(Severity.WARNING, "", None, None, message, "", LATER_RULE),)
    return ()


def with_later_findings(
    review: Review,
    raw: bytes,
    source_name: str,
    own: KnownPlugins,
    later: Sequence[KnownPlugins],
    allowed: Sequence[AllowedPlugin] = (),
) -> Review:
    """Return the review with a warning for each error that only a later minor finds in the same
    file, and for each plugin in it that a later minor has do something else.

    own, later: the plugins of the file's minor and of the later ones, oldest first; the first that
                refuses or changes something is named
    """
    errors = {(f.rule, f.path) for f in review.findings if f.refused}
    warnings: list[Finding] = []
    for registry in later:
        for finding in review_bytes(raw, source_name, registry, allowed).findings:
            if finding.refused and (finding.rule, finding.path) not in errors:
                errors.add((finding.rule, finding.path))
                message = f"Kubernetes {registry.release.minor} refuses this: {finding.message}"
                changes = {"severity": Severity.WARNING, "rule": LATER_RULE, "message": message}
                warnings.append(structs.replace(finding, refused=False, **changes))
    text = raw.decode("utf-8", "replace")
    if later and review.valid:
        refused = {finding.path for finding in warnings}
        effects = _changes(text, source_name, own, later, allowed)
        warnings += [finding for finding in effects if finding.path not in refused]
    if not warnings:
        return review
    silent = {(item.rule, item.line) for item in ignores(text)}
    ignored = [finding for finding in warnings if (finding.rule, finding.line) in silent]
    remaining = [finding for finding in warnings if finding not in ignored]
    return replace(
        review,
        findings=in_order((*review.findings, *remaining)),
        ignored=(*review.ignored, *ignored),
    )


def _changes(
    text: str,
    source_name: str,
    own: KnownPlugins,
    later: Sequence[KnownPlugins],
    allowed: Sequence[AllowedPlugin],
) -> list[Finding]:
    """Return a warning for each plugin of a valid file that the first later minor to do so has do
    something else, beyond what changes for every configuration."""

    def effect(text: str | None, registry: KnownPlugins) -> Configuration:
        return load_configuration(text, source_name, registry, allowed, calls_extenders=False)

    places = _plugin_places(next(iter(load_documents(text, source_name)), None))
    findings = Findings(text)
    if not places:
        return []
    changed: set[tuple[str, str]] = set()
    for registry in later:
        try:
            changes = differences(effect(text, own), effect(text, registry), registry)
        except InputError:
            continue  # it refuses the file
        usual = differences(effect(None, own), effect(None, registry), registry)
        everywhere = {(each.path, repr((each.before, each.after))) for each in usual}
        by_plugin: dict[tuple[str, str], list[str]] = {}
        for change in changes:
            kind, _, rest = change.path.partition(".")
            name = rest.rpartition(".")[2] if kind == "plugins" else rest.partition(".")[0]
            key, sides = (change.profile, name), (change.before, change.after)
            if key not in places or (change.path, repr(sides)) in everywhere:
                continue
            before, after = map(_shown, sides)
            by_plugin.setdefault(key, []).append(f"{change.path}: {before} → {after}")
        for key in by_plugin.keys() - changed:
            message = f"Kubernetes {registry.release.minor} gives this another effect"
            findings.warn(CHANGES_RULE, places[key], message, "; ".join(by_plugin[key]))
        changed |= by_plugin.keys()
    return list(findings.sorted())


def _plugin_places(data: Any) -> dict[tuple[str, str], Path]:
    """Return where a valid file first names each plugin, by profile and name."""
    places: dict[tuple[str, str], Path] = {}
    profiles = data.get("profiles") if isinstance(data, dict) else None
    for index, item in enumerate(profiles or ()):
        profile = item or {}  # null is an empty profile, as in Go
        name = profile.get("schedulerName") or DEFAULT_SCHEDULER_NAME
        for point, plugin_set in (profile.get("plugins") or {}).items():
            for at, plugin in enumerate((plugin_set or {}).get("enabled") or ()):
                path: Path = ("profiles", index, "plugins", point, "enabled", at)
                places.setdefault((name, plugin["name"]), path)
        for at, args in enumerate(profile.get("pluginConfig") or ()):
            path = ("profiles", index, "pluginConfig", at)
            places.setdefault((name, (args or {}).get("name", "")), path)
    return places


def _shown(value: object) -> str:
    return "nothing" if value is None else "runs" if value is True else json_text(value)
