"""Extenders and disabled lists that do nothing; findings.yaml has the other rules' cases."""

import pytest

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
    body = "profiles: [{plugins: {score: {enabled: [{name: ImageLocality, weight: -1}]}}}]\n"
    path = "profiles[0].plugins.score.enabled[0].weight"
    assert ("weight-negative", path) in rules(body)
