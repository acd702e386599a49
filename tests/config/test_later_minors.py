"""Refusals of later minors are warnings, and only those that are new."""

from __future__ import annotations

import pytest

from ksched_cli.analysis.reviewer import refusals_of_gates, with_later_findings
from ksched_cli.config.checks.findings import Severity
from ksched_cli.config.checks.rules import CHANGES_RULE, LATER_RULE
from ksched_cli.config.review import Review, review_bytes
from ksched_cli.kube.versions import MINORS, later_releases, release_of
from ksched_cli.plugins import registry_of

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
FORBIDDEN = (
    HEAD
    + """\
profiles:
- pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy:
        type: LeastAllocated
        resources: [{name: cpu, weight: 1}]
        requestedToCapacityRatio: {shape: [{utilization: 0, score: 0}]}
"""
)


def reviewed(text: str, minor: str) -> Review:
    raw, first, *later = text.encode(), *MINORS[MINORS.index(minor) :]
    registries = [registry_of(release_of(other)) for other in later]
    own = registry_of(release_of(first))
    return with_later_findings(review_bytes(raw, "f", own), raw, "f", own, registries)


@pytest.mark.parametrize("minor", ["1.34", "1.35"])
def test_what_the_next_minor_refuses_is_a_warning_at_its_place(minor: str) -> None:
    review = reviewed(FORBIDDEN, minor)
    assert review.valid
    (warning,) = [finding for finding in review.findings if finding.rule == LATER_RULE]
    assert warning.severity is Severity.WARNING
    assert warning.message.startswith("Kubernetes 1.36 refuses this: requestedToCapacityRatio")
    assert warning.line == 10


def test_what_is_refused_already_is_no_warning_besides() -> None:
    review = reviewed(f"{HEAD}parallelism: -1\n", "1.34")
    assert [finding.severity for finding in review.findings] == [Severity.ERROR]


def test_the_newest_minor_has_no_later_ones() -> None:
    review = reviewed(FORBIDDEN, "1.36")
    assert LATER_RULE not in [finding.rule for finding in review.findings]
    assert not review.valid


def test_a_comment_on_its_line_silences_what_a_later_minor_refuses() -> None:
    lines = FORBIDDEN.splitlines()
    silenced = "\n".join([*lines[:9], f"{lines[9]}  # ksched: ignore[{LATER_RULE}]", ""])
    review = reviewed(silenced, "1.35")
    assert LATER_RULE not in [finding.rule for finding in review.findings]
    assert [finding.rule for finding in review.ignored] == [LATER_RULE]


def test_such_a_comment_on_another_line_silences_nothing() -> None:
    elsewhere = FORBIDDEN.replace("profiles:", f"profiles:  # ksched: ignore[{LATER_RULE}]")
    assert LATER_RULE in [finding.rule for finding in reviewed(elsewhere, "1.35").findings]


def test_gates_that_a_later_minor_does_not_have_are_a_warning() -> None:
    later = later_releases(release_of("1.35"))
    (warning,) = refusals_of_gates("SchedulerQueueingHints=true", later)
    assert warning.severity is Severity.WARNING
    refusal = "--feature-gates: unrecognized feature gate: SchedulerQueueingHints"
    assert warning.message.startswith(f"Kubernetes 1.37 refuses this: {refusal}")
    assert refusals_of_gates("OpportunisticBatching=false", later) == ()


@pytest.mark.parametrize(
    "profiles",
    ["[null]", "[{plugins: null}]", "[{pluginConfig: [null]}]", "[{pluginConfig: [{}]}]"],
)
def test_what_is_empty_in_a_valid_file_is_no_defect(profiles: str) -> None:
    assert reviewed(f"{HEAD}profiles: {profiles}\n", "1.34").valid


GANGS = (
    HEAD
    + """\
profiles:
- plugins:
    multiPoint:
      enabled: [{name: GangScheduling}]
"""
)


def test_a_plugin_that_a_later_minor_runs_elsewhere_is_a_warning_at_its_place() -> None:
    (warning,) = [each for each in reviewed(GANGS, "1.37").findings if each.rule == CHANGES_RULE]
    assert (warning.severity, warning.line) == (Severity.WARNING, 6)
    assert warning.message == "Kubernetes 1.38 gives this another effect"
    assert "plugins.placementFeasible.GangScheduling: nothing → runs" in warning.hint


def test_what_changes_for_every_configuration_is_no_warning() -> None:
    plugins = "[{name: NodeName}, {name: VolumeBinding}]"
    text = f"{HEAD}profiles:\n- plugins: {{filter: {{enabled: {plugins}}}}}\n"
    assert CHANGES_RULE not in [finding.rule for finding in reviewed(text, "1.36").findings]


def test_a_comment_silences_a_change_too() -> None:
    silenced = GANGS.replace(
        "[{name: GangScheduling}]", f"[{{name: GangScheduling}}]  # ksched: ignore[{CHANGES_RULE}]"
    )
    review = reviewed(silenced, "1.37")
    assert CHANGES_RULE not in [finding.rule for finding in review.findings]
    assert CHANGES_RULE in [finding.rule for finding in review.ignored]
