"""The questions about a configuration that tools ask."""

from __future__ import annotations

from ksched_cli.analysis.configuration import EffectiveConfiguration, ValidationResult
from ksched_cli.analysis.question import Opened, Question
from ksched_cli.analysis.reviewer import Reviewer, ReviewOptions
from ksched_cli.errors import UsageError
from ksched_cli.run.open import Opener
from ksched_cli.run.plugins import in_release
from ksched_cli.run.run import Run


def reviewer_of(opener: Opener, run: Run) -> Reviewer:
    """Return a reviewer of configurations by the default rules and the Run's release and plugins,
    which looks at no file of this machine."""
    options = ReviewOptions(
        run.kubernetes_version,
        run.feature_gates,
        run.min_compatibility_version,
        isolated=True,
        looks_at_files=False,
    )
    plugins = opener.plugins(run)
    return Reviewer(options, lambda release: in_release(plugins, release))


class ShowConfiguration(Question[EffectiveConfiguration], frozen=True, kw_only=True):
    """Show the configuration that takes effect."""

    def answer(self, opened: Opened) -> EffectiveConfiguration:
        opener, run = opened.opener, opened.run
        opened.follow(opener.release(run))
        return EffectiveConfiguration.of(opener.configuration(run, ()))


class Validate(Question[ValidationResult], frozen=True, kw_only=True):
    """Check whether kube-scheduler accepts the Run's configuration, by the default rules: no file
    of this machine is looked at."""

    def answer(self, opened: Opened) -> ValidationResult:
        opener, run = opened.opener, opened.run
        if not run.configuration:
            raise UsageError("validate requires a configuration")
        reviewer = reviewer_of(opener, run)
        source = opener.inputs.configuration(run.configuration)
        opened.follow(reviewer.settings(source.path).release)
        return ValidationResult.of(reviewer.review(source))
