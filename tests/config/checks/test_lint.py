"""Extenders and disabled lists that do nothing; findings.yaml has the other rules' cases."""

import pytest

from ksched_cli.config.allowed_plugins import parse_allowed
from ksched_cli.config.review import review
from tests.config.registries import REGISTRY, configured


def rules(body: str) -> set[tuple[str, str]]:
    return {(finding.rule, finding.path) for finding in review(configured(body), REGISTRY).findings}


@pytest.mark.parametrize(
    ("extender", "rule", "field"),
    [
        ("{urlPrefix: nowhere, filterVerb: f}", "extender-url", ".urlPrefix"),
        (
            "{urlPrefix: 'http://a', enableHTTPS: true, filterVerb: f}",
            "extender-https",
            ".urlPrefix",
        ),
        ("{urlPrefix: 'http://a'}", "extender-idle", ""),
        ("{urlPrefix: 'http://a', filterVerb: f, weight: 2}", "extender-weight", ".weight"),
        (
            "{urlPrefix: 'http://a', filterVerb: f, httpTimeout: -1s}",
            "extender-timeout",
            ".httpTimeout",
        ),
    ],
)
def test_an_extender_that_cannot_do_its_work_is_warned_of(
    extender: str, rule: str, field: str
) -> None:
    assert rules(f"extenders: [{extender}]\n") == {(rule, f"extenders[0]{field}")}


@pytest.mark.parametrize("name", ["Nowhere", "ImageLocality"])
def test_disabling_what_is_not_on_is_warned_of(name: str) -> None:
    path = "profiles[0].plugins.filter.disabled[0]"
    body = f"profiles: [{{plugins: {{filter: {{disabled: [{{name: {name}}}]}}}}}}]\n"
    assert rules(body) == {("disables-nothing", path)}


def test_negative_weights_are_warned_of_and_accepted() -> None:
    body = "profiles: [{plugins: {multiPoint: {enabled: [{name: ImageLocality, weight: -1}]}}}]\n"
    path = "profiles[0].plugins.multiPoint.enabled[0].weight"
    assert rules(body) == {("weight-negative", path)}
    assert review(configured(body), REGISTRY).verdict.accepts


def test_a_star_that_disables_every_score_is_remarked_on_once() -> None:
    body = "profiles: [{plugins: {score: {disabled: [{name: '*'}]}}}]\n"
    findings = review(configured(body), REGISTRY).findings
    assert [finding.rule for finding in findings] == ["idle-prescore"]
    assert findings[0].message.startswith("InterPodAffinity, NodeAffinity, ")


def test_what_an_allowed_plugin_without_code_prepares_is_not_known() -> None:
    body = "profiles: [{plugins: {filter: {enabled: [{name: NodeResourceTopologyMatch}]}}}]\n"
    allowed = parse_allowed("NodeResourceTopologyMatch")
    assert not review(configured(body), REGISTRY, allowed).findings


def test_a_filter_that_another_entry_brings_back_is_on() -> None:
    fit = "{disabled: [{name: '*'}], enabled: [{name: NodeResourcesFit}]}"
    body = f"profiles: [{{plugins: {{filter: {fit}}}}}]\n"
    findings = review(configured(body), REGISTRY).findings
    (finding,) = [finding for finding in findings if finding.rule == "safety-off"]
    assert "without NodeResourcesFit" not in finding.message
    assert "without TaintToleration" in finding.message


def test_an_error_that_kube_scheduler_accepts_can_be_silenced() -> None:
    line = "      disabled: [{name: NodeResourcesFit}]  # ksched: ignore[safety-off]\n"
    result = review(configured(f"profiles:\n- plugins:\n    filter:\n{line}"), REGISTRY)
    assert result.valid
    assert not result.findings
    assert [finding.rule for finding in result.ignored] == ["safety-off"]
