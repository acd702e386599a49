"""The answers of `validate` and of `config`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from msgspec import field

from ksched_cli.answers import HIDDEN, Answer, Count, Part
from ksched_cli.config.checks.findings import Finding
from ksched_cli.config.diff import ConfigurationChange
from ksched_cli.config.effective import Configuration
from ksched_cli.config.go_types import to_wire
from ksched_cli.config.migration.migrate import Migration
from ksched_cli.config.migration.remarks import Remark
from ksched_cli.config.review import Review, Stage
from ksched_cli.config.sources import ReviewedText, Sources
from ksched_cli.config.types import API_VERSION


class KubeSchedulerVerdict(Part, frozen=True):
    """What kube-scheduler itself would say.

    stage: where it stops; panic is where it crashes
    error: its own text; at the validate stage a line per error, sorted
    """

    version: str
    accepts: bool
    stage: Stage | None
    error: str | None


class ReviewedFile(Part, frozen=True):
    """A configuration; a file may hold several.

    path: of the file, as given
    object: what in the file holds the configuration, as ConfigMap kube-system/scheduler:
            data.config.yaml; empty where the file is the configuration
    valid: nothing of severity error was found
    findings: every problem, errors first, then by place
    ignored: the findings that comments and the project file silence
    """

    path: str
    object: str
    valid: bool
    kube_scheduler: KubeSchedulerVerdict
    findings: tuple[Finding, ...]
    ignored: tuple[Finding, ...]

    @classmethod
    def of(cls, text: ReviewedText) -> ReviewedFile:
        source, review = text.source, text.review
        return cls(
            source.path,
            source.object,
            review.valid,
            _verdict(review),
            review.findings,
            review.silenced,
        )


class ValidationResult(Answer, frozen=True, kw_only=True):
    """Whether a configuration is right.

    valid: nothing of severity error was found
    findings: every problem, errors first, then by place
    ignored: the findings that comments and the project file silence
    """

    COMMAND: ClassVar = "validate"

    kind: Literal["ValidationResult"] = "ValidationResult"
    valid: bool
    kube_scheduler: KubeSchedulerVerdict
    findings: tuple[Finding, ...]
    ignored: tuple[Finding, ...]
    headline: Annotated[str, HIDDEN]

    @classmethod
    def of(cls, review: Review, headline: str) -> ValidationResult:
        """headline: the file and the verdict"""
        return cls(
            valid=review.valid,
            kube_scheduler=_verdict(review),
            findings=review.findings,
            ignored=review.silenced,
            headline=headline,
        )


class ValidationResults(Answer, frozen=True, kw_only=True):
    """Whether several configurations are right.

    valid: all configurations are valid
    files: every configuration; a file may hold several
    passed_over: files without a configuration, and templates of charts
    """

    COMMAND: ClassVar = "validate"

    kind: Literal["ValidationResults"] = "ValidationResults"
    valid: bool
    files: tuple[ReviewedFile, ...]
    passed_over: tuple[str, ...]
    headlines: Annotated[tuple[str, ...], HIDDEN]

    @classmethod
    def of(
        cls, texts: Sequence[ReviewedText], sources: Sources, headlines: Sequence[str]
    ) -> ValidationResults:
        """headlines: the files and their verdicts"""
        return cls(
            headlines=tuple(headlines),
            valid=all(text.review.valid for text in texts),
            files=tuple(map(ReviewedFile.of, texts)),
            passed_over=(*sources.passed_over, *sources.templates),
        )


def _verdict(review: Review) -> KubeSchedulerVerdict:
    verdict = review.verdict
    return KubeSchedulerVerdict(review.version, verdict.accepts, verdict.stage, verdict.error)


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
                name: {plugin: to_wire(args) for plugin, args in own.args.items()}
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
            extenders=tuple(map(to_wire, configuration.extenders)),
        )


class ConfigurationDiff(Answer, frozen=True, kw_only=True):
    """What differs between two configurations.

    changes: what differs once both take effect: of all profiles first, then by profile
    names: of the two files
    """

    COMMAND: ClassVar = "config diff"

    kind: Literal["ConfigurationDiff"] = "ConfigurationDiff"
    changes: tuple[ConfigurationChange, ...]
    names: Annotated[tuple[str, str], HIDDEN]


class ConfigurationMigration(Answer, frozen=True, kw_only=True):
    """The same configuration in the newest apiVersion.

    origin: what the file was: kubescheduler.config.k8s.io/v1beta2, or Policy
    target: of the new file
    complete: whether the new file takes effect as the old one did, as far as is checked
    text: the new file
    remarks: what was written otherwise, and what could not be carried over
    """

    COMMAND: ClassVar = "config migrate"

    kind: Literal["ConfigurationMigration"] = "ConfigurationMigration"
    origin: str = field(name="from")
    target: str = field(name="to")
    complete: bool
    text: str
    remarks: tuple[Remark, ...]

    @classmethod
    def of(cls, migration: Migration) -> ConfigurationMigration:
        return cls(
            origin=migration.origin,
            target=API_VERSION,
            complete=migration.complete,
            text=migration.text,
            remarks=migration.remarks,
        )
