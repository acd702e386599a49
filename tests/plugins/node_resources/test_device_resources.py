"""Resources that device classes back, in the filters and scores of the resource plugins."""

from typing import Any

import pytest

from ksched_cli.config.load import load_configuration
from ksched_cli.engine.engine import Options
from ksched_cli.engine.simulation import Simulation
from ksched_cli.kube.versions import release_of
from ksched_cli.plugins import registry_of
from ksched_cli.testing import cluster, node
from tests.devices import thing
from tests.plugins.dynamic_resources.test_extended import BACKING, GPU, requesting
from tests.plugins.dynamic_resources.test_shared_and_tainted_devices import claim, resource_slice

CONFIG = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    score:
      disabled: [{name: "*"}]
      enabled: [{name: %s, weight: 1}]
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy: {type: MostAllocated, resources: [{name: example.com/gpu, weight: 1}]}
  - name: NodeResourcesBalancedAllocation
    args: {resources: [{name: example.com/gpu, weight: 1}, {name: cpu, weight: 1}]}
"""


def scores_of(plugin: str, backing: dict[str, Any]) -> dict[str, int]:
    devices = [{"name": name} for name in "abcd"]
    slices = [
        resource_slice(number, {"nodeName": name, "pool": {"name": name}, "devices": devices})
        for number, name in enumerate("mn")
    ]
    taken = claim("one", {"allocated": [{"pool": "n", "device": "b"}]})
    state = cluster(node("m"), node("n"), backing, *slices, taken, requesting("p", {GPU: "1"}))
    registry = registry_of(release_of("1.36"))
    configuration = load_configuration(CONFIG % plugin, "", registry)
    run = Simulation(state, configuration, registry, Options(detailed=True)).run()
    (attempt,) = run.attempts
    assert attempt.node, attempt.error
    return {name: by_plugin[plugin].weighted for name, by_plugin in attempt.detail.scores.items()}


def test_devices_count_as_the_resource() -> None:
    assert scores_of("NodeResourcesFit", BACKING) == {"m": 25, "n": 50}
    assert scores_of("NodeResourcesBalancedAllocation", BACKING) != {}


def test_balanced_allocation_fails_over_a_class_with_selectors_as_upstream_does() -> None:
    selectors = [{"cel": {"expression": "true"}}]
    selective = thing("DeviceClass", "any", {"extendedResourceName": GPU, "selectors": selectors})
    assert scores_of("NodeResourcesFit", selective) == {"m": 25, "n": 50}
    with pytest.raises(AssertionError, match="no CEL cache"):
        scores_of("NodeResourcesBalancedAllocation", selective)
