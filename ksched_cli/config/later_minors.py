"""What later Kubernetes minors refuse of a configuration, said before the upgrade."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ksched_cli.config.allowed_plugins import AllowedPlugin
from ksched_cli.config.checks.findings import Finding, Severity, in_order
from ksched_cli.config.checks.ignores import LATER_RULE, ignores
from ksched_cli.config.effective import KnownPlugins
from ksched_cli.config.review import Review, review_bytes

RULE = LATER_RULE


def with_later_refusals(
    review: Review,
    raw: bytes,
    source_name: str,
    later: Iterable[KnownPlugins],
    allowed: Sequence[AllowedPlugin] = (),
) -> Review:
    """The review with a warning for each error that only a later minor finds in the same file.

    later: the plugins of the later minors, oldest first; the first that refuses is named
    """
    errors = {(f.rule, f.path) for f in review.findings if f.refused}
    warnings: list[Finding] = []
    for registry in later:
        for finding in review_bytes(raw, source_name, registry, allowed).findings:
            if finding.refused and (finding.rule, finding.path) not in errors:
                errors.add((finding.rule, finding.path))
                message = f"Kubernetes {registry.release.minor} refuses this: {finding.message}"
                warning = replace(finding, severity=Severity.WARNING, rule=RULE, refused=False)
                warnings.append(replace(warning, message=message))
    if not warnings:
        return review
    lines = {item.line for item in ignores(raw.decode("utf-8", "replace")) if item.rule == RULE}
    ignored = [finding for finding in warnings if finding.line in lines]
    remaining = [finding for finding in warnings if finding.line not in lines]
    return replace(
        review,
        findings=in_order((*review.findings, *remaining)),
        ignored=(*review.ignored, *ignored),
    )
