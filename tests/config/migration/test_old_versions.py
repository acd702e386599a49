"""The defaults of old versions are those that upstream lists."""

import pytest

from ksched_cli.config.migration.old_versions import OLD_VERSIONS, old_effect
from tests.config.registries import FOREIGN, REGISTRY

LIMITS = {"EBSLimits", "GCEPDLimits", "AzureDiskLimits"}
ALL = {
    "NodeResourcesBalancedAllocation": 1,
    "ImageLocality": 1,
    "InterPodAffinity": 1,
    "NodeAffinity": 1,
    "TaintToleration": 1,
    "PodTopologySpread": 2,
}


@pytest.mark.parametrize(
    ("name", "weights"),
    [
        ("v1beta1", {**ALL, "NodeResourcesLeastAllocated": 1, "NodePreferAvoidPods": 10_000}),
        ("v1beta2", {**ALL, "NodeResourcesFit": 1}),
        (
            "v1beta3",
            {
                **ALL,
                "NodeResourcesFit": 1,
                "InterPodAffinity": 2,
                "NodeAffinity": 2,
                "TaintToleration": 3,
            },
        ),
    ],
)
def test_the_default_plugins_and_weights(name: str, weights: dict[str, int]) -> None:
    version = OLD_VERSIONS[name]
    effect = old_effect(version, None, version.plugins(REGISTRY))
    assert effect.weights == weights
    assert effect.plugins["queueSort"] == ("PrioritySort",)
    assert effect.plugins["bind"] == ("DefaultBinder",)
    assert effect.plugins["postFilter"] == ("DefaultPreemption",)
    assert effect.plugins["reserve"] == effect.plugins["preBind"] == ("VolumeBinding",)
    assert len(effect.plugins["filter"]) == 15
    assert set(effect.plugins["filter"]) >= LIMITS


def test_plugins_of_other_builds_are_there_beside_those_of_the_version() -> None:
    plugins = OLD_VERSIONS["v1beta1"].plugins(FOREIGN)
    assert plugins["Packing"].points == {"filter", "score"}
    assert "NodeLabel" in plugins
    assert "SchedulingGates" not in plugins
