"""kube-scheduler's refusals as findings; findings.yaml has cases of whole files."""

from typing import Any

import pytest

from ksched_cli.config.checks.findings import Findings
from ksched_cli.config.checks.refusals import add_field_error, check_kind, unknown_plugin
from ksched_cli.config.review import review
from ksched_cli.kube.field_errors import FieldError, duplicate, invalid, required, unsupported
from ksched_cli.kube.versions import release_of
from ksched_cli.plugins import registry_of
from tests.config.registries import REGISTRY, configured

V1 = "kubescheduler.config.k8s.io/v1"


@pytest.mark.parametrize(
    ("data", "rules", "is_configuration"),
    [
        ({"apiVersion": V1, "kind": "KubeSchedulerConfiguration"}, set(), True),
        ({"kind": "KubeSchedulerConfiguration"}, {"no-version"}, True),
        ({"apiVersion": V1}, {"no-kind"}, True),
        ({"apiVersion": "v1", "kind": "Pod"}, {"wrong-kind"}, False),
        ({"apiVersion": "v2", "kind": "KubeSchedulerConfiguration"}, {"wrong-version"}, True),
        ([], {"not-an-object"}, False),
        (None, {"not-an-object"}, False),
    ],
)
def test_what_is_no_configuration_is_said_once(
    data: dict[str, str] | list[Any] | None, rules: set[str], is_configuration: bool
) -> None:
    findings = Findings("")
    assert check_kind(data, "v1.34.1", findings) is is_configuration
    assert {finding.rule for finding in findings.sorted()} == rules


@pytest.mark.parametrize(
    ("error", "rule", "path", "message"),
    [
        (invalid("a.b", 0, "not in range"), "invalid-value", "x.a.b", "b: 0 is not in range"),
        (
            invalid("", {"aTime": -1}, "aTime must be greater than 0"),
            "invalid-value",
            "x",
            'x: {"aTime":-1} is not valid: aTime must be greater than 0',
        ),
        (required("a", ""), "missing-value", "x.a", "a is missing"),
        (duplicate("a", "n"), "duplicate-value", "x.a", '"n" appears twice'),
        (unsupported("a", "ab", ["abc"]), "unsupported-value", "x.a", 'a cannot be "ab"'),
        (
            invalid("scoringStrategy.shape[0].score", 11, "high"),
            "invalid-value",
            "x.scoringStrategy.requestedToCapacityRatio.shape[0].score",
            "score: 11 is not valid: high",
        ),
    ],
)
def test_a_field_error_becomes_a_finding_at_its_path_in_the_file(
    error: FieldError, rule: str, path: str, message: str
) -> None:
    findings = Findings("")
    add_field_error(error, ("x",), findings)
    (finding,) = findings.sorted()
    assert (finding.rule, finding.path, finding.message) == (rule, path, message)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("EBSLimits", "NodeVolumeLimits counts CSI volumes"),
        ("LeastRequestedPriority", "use NodeResourcesFit"),
        ("Coscheduling", "pip install ./plugins/ksched-coscheduling"),
        ("NodeAfinity", 'did you mean "NodeAffinity"?'),
        ("Zebra", "`ksched plugins` lists the known ones"),
        ("*", "in a disabled list"),
    ],
)
def test_a_plugin_that_is_not_there_has_a_hint(name: str, hint: str) -> None:
    assert hint in unknown_plugin(name, REGISTRY)[1]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "placementGenerate: {enabled: [{name: TopologyPlacementGenerator}, {name: Other}]}",
            "the profile has 2 placementGenerate plugins; only one may be",
        ),
        ("bind: {disabled: [{name: '*'}]}", "no plugin binds pods"),
        ("queueSort: {disabled: [{name: '*'}]}", "the profile has 0 queueSort plugins"),
    ],
)
def test_a_profile_with_too_few_or_many_plugins_at_a_point_says_of_which(
    body: str, message: str
) -> None:
    allow = "# ksched: allow-plugins Other=placementGenerate\n"
    gates = "GenericWorkload=true,TopologyAwareWorkloadScheduling=true"
    registry = registry_of(release_of("1.37", gates))
    text = allow + configured(f"profiles: [{{plugins: {{{body}}}}}]\n")
    refused = [each for each in review(text, registry).findings if each.refused]
    assert [each.message for each in refused if message in each.message]
