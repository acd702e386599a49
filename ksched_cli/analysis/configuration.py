"""The answers of `validate` and of `config`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from ksched_cli.analysis.reviewer import ReviewedText
from ksched_cli.answers import HIDDEN, Answer, Count, Part
from ksched_cli.config.checks.findings import Finding
from ksched_cli.config.differences import ConfigurationChange
from ksched_cli.config.effective import Configuration
from ksched_cli.config.go_types import to_wire
from ksched_cli.config.review import KubeSchedulerVerdict
from ksched_cli.config.sources import Sources
from ksched_cli.errors import ExitCode
from ksched_cli.masking import masked_data


class ReviewedFile(Part, frozen=True):
    """A configuration; a file may hold several.

    path: of the file, as given
    object: what in the file holds the configuration, as ConfigMap kube-system/scheduler:
            data.config.yaml; empty where the file is the configuration
    valid: nothing of severity error was found
    findings: every problem, errors first, then by place
    ignored: the findings that comments and the project file silence
    ignored_by_project: how many of these, the last, the project file silences
    fails: a finding is as severe as --fail-on says
    """

    path: str
    object: str
    valid: bool
    kube_scheduler: KubeSchedulerVerdict
    findings: tuple[Finding, ...]
    ignored: tuple[Finding, ...]
    ignored_by_project: Annotated[int, HIDDEN]
    fails: Annotated[bool, HIDDEN]

    @classmethod
    def of(cls, text: ReviewedText) -> ReviewedFile:
        source, review = text.source, text.review
        return cls(
            source.path,
            source.object,
            review.valid,
            review.verdict,
            review.findings,
            review.silenced,
            len(review.ignored_by_project),
            text.fails,
        )

    @property
    def name(self) -> str:
        """Return the file, and what in it holds the configuration."""
        return f"{self.path} ({self.object})" if self.object else self.path


class ValidationResult(Answer, frozen=True, kw_only=True):
    """Whether a configuration is right.

    valid: nothing of severity error was found
    findings: every problem, errors first, then by place
    ignored: the findings that comments and the project file silence
    """

    COMMAND: ClassVar = "validate"
    VIEW: ClassVar = "validation:view"
    ROWS: ClassVar = "findings"

    kind: Literal["ValidationResult"] = "ValidationResult"
    valid: bool
    kube_scheduler: KubeSchedulerVerdict
    findings: tuple[Finding, ...]
    ignored: tuple[Finding, ...]
    file: Annotated[ReviewedFile, HIDDEN]

    @classmethod
    def of(cls, text: ReviewedText) -> ValidationResult:
        file = ReviewedFile.of(text)
        return cls(
            valid=file.valid,
            kube_scheduler=file.kube_scheduler,
            findings=file.findings,
            ignored=file.ignored,
            file=file,
        )

    @property
    def exit_code(self) -> ExitCode:
        return ExitCode.of(not self.file.fails)


class ValidationResults(Answer, frozen=True, kw_only=True):
    """Whether several configurations are right.

    valid: all configurations are valid
    files: every configuration; a file may hold several
    passed_over: files without a configuration, and templates of charts
    templates: how many of these, the last, are templates
    """

    COMMAND: ClassVar = "validate"
    VIEW: ClassVar = "validation:view"
    ROWS: ClassVar = "files"

    kind: Literal["ValidationResults"] = "ValidationResults"
    valid: bool
    files: tuple[ReviewedFile, ...]
    passed_over: tuple[str, ...]
    templates: Annotated[int, HIDDEN]

    @classmethod
    def of(cls, texts: Sequence[ReviewedText], sources: Sources) -> ValidationResults:
        return cls(
            valid=all(text.review.valid for text in texts),
            files=tuple(map(ReviewedFile.of, texts)),
            passed_over=(*sources.passed_over, *sources.templates),
            templates=len(sources.templates),
        )

    @property
    def exit_code(self) -> ExitCode:
        return ExitCode.of(not any(file.fails for file in self.files))


class EffectiveConfiguration(Answer, frozen=True, kw_only=True):
    """A configuration as it takes effect.

    profiles: per scheduler name and extension point, the plugins in the order they run
    weights: per scheduler name, the weight of every score plugin
    args: per scheduler name and plugin, its args with the defaults filled in
    origin: per scheduler name, point and plugin: default, multiPoint (the file's), or the point
            that names it
    percentage_of_nodes_to_score: per scheduler name; 0 adapts to the size of the cluster
    """

    COMMAND: ClassVar = "config show"
    VIEW: ClassVar = "configuration:view"

    kind: Literal["EffectiveConfiguration"] = "EffectiveConfiguration"
    profiles: Mapping[str, Mapping[str, tuple[str, ...]]]
    weights: Mapping[str, Mapping[str, int]]
    args: Mapping[str, Mapping[str, Any]]
    origin: Mapping[str, Mapping[str, Mapping[str, str]]]
    percentage_of_nodes_to_score: Mapping[str, Count | None]
    parallelism: int
    pod_initial_backoff_seconds: int
    pod_max_backoff_seconds: int
    extenders: tuple[Mapping[str, Any], ...]

    @classmethod
    def of(cls, configuration: Configuration) -> EffectiveConfiguration:
        profiles = {profile.scheduler_name: profile for profile in configuration.profiles}
        return cls(
            profiles={
                name: {
                    point: tuple(ref.name for ref in refs) for point, refs in own.plugins.items()
                }
                for name, own in profiles.items()
            },
            weights={name: dict(own.weights) for name, own in profiles.items()},
            args={
                name: {plugin: masked_data(to_wire(args)) for plugin, args in own.args.items()}
                for name, own in profiles.items()
            },
            origin={
                name: {
                    point: {ref.name: ref.origin for ref in refs}
                    for point, refs in own.plugins.items()
                }
                for name, own in profiles.items()
            },
            percentage_of_nodes_to_score={
                name: own.percentage_of_nodes_to_score for name, own in profiles.items()
            },
            parallelism=configuration.parallelism,
            pod_initial_backoff_seconds=configuration.pod_initial_backoff_seconds,
            pod_max_backoff_seconds=configuration.pod_max_backoff_seconds,
            extenders=tuple(masked_data(to_wire(each)) for each in configuration.extenders),
        )


class ConfigurationDiff(Answer, frozen=True, kw_only=True):
    """What differs between two configurations.

    changes: what differs once both take effect: of all profiles first, then by profile
    names: of the two files
    """

    COMMAND: ClassVar = "config diff"
    VIEW: ClassVar = "configuration:diff_view"
    ROWS: ClassVar = "changes"

    kind: Literal["ConfigurationDiff"] = "ConfigurationDiff"
    changes: tuple[ConfigurationChange, ...]
    names: Annotated[tuple[str, str], HIDDEN]

    @property
    def exit_code(self) -> ExitCode:
        return ExitCode.of(not self.changes)
