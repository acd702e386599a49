"""What a configuration leaves out."""

import pytest

from ksched_cli.config import default_configuration
from ksched_cli.config.defaults import default_plugins, profile_with_plugins, with_defaults
from ksched_cli.config.effective import Profile
from ksched_cli.config.types import PluginSetEntry, SchedulerConfiguration, SchedulerProfile
from tests.config.registries import FOREIGN, REGISTRY


def origins(profile: Profile, point: str) -> dict[str, str]:
    return {ref.name: ref.origin for ref in profile.plugins[point]}


def test_without_a_file_everything_is_default() -> None:
    profile = default_configuration(REGISTRY).profiles[0]
    assert profile.scheduler_name == "default-scheduler"
    assert set(origins(profile, "score").values()) == {"default"}
    assert profile.weights["TaintToleration"] == 3


@pytest.mark.parametrize("name", ["NodeResourcesFit", "PodTopologySpread", "DynamicResources"])
def test_in_tree_args_are_typed_and_filled_in(name: str) -> None:
    args = default_configuration(REGISTRY).profiles[0].args[name]
    assert type(args).__name__ == f"{name}Args"


def test_the_default_plugins_are_upstreams_in_its_order_with_its_weights() -> None:
    enabled = default_plugins(FOREIGN).multi_point.enabled or ()
    assert "Packing" not in {plugin.name for plugin in enabled}
    assert enabled[0] == PluginSetEntry("SchedulingGates", None)
    assert enabled[-1] == PluginSetEntry("DefaultBinder", None)
    assert {plugin.name: plugin.weight for plugin in enabled if plugin.weight} == {
        "TaintToleration": 3,
        "NodeAffinity": 2,
        "NodeResourcesFit": 1,
        "PodTopologySpread": 2,
        "InterPodAffinity": 2,
        "NodeResourcesBalancedAllocation": 1,
        "ImageLocality": 1,
    }


def test_only_a_single_profile_is_named_by_default() -> None:
    profiles = (SchedulerProfile(), SchedulerProfile())
    names = [
        [profile.scheduler_name for profile in with_defaults(given, REGISTRY).profiles or ()]
        for given in (SchedulerConfiguration(), SchedulerConfiguration(profiles=profiles))
    ]
    assert names == [["default-scheduler"], [None, None]]


@pytest.mark.parametrize(("profiling", "contention"), [(None, True), (True, True), (False, None)])
def test_contention_profiling_follows_profiling(
    profiling: bool | None, contention: bool | None
) -> None:
    given = SchedulerConfiguration(enable_profiling=profiling)
    assert with_defaults(given, REGISTRY).enable_contention_profiling is contention


def test_a_queue_sort_plugin_takes_the_place_of_the_default_one() -> None:
    plugins = profile_with_plugins([REGISTRY["PrioritySort"], FOREIGN["Packing"]])["profiles"][0]
    assert plugins["plugins"] == {
        "multiPoint": {"enabled": [{"name": "PrioritySort"}, {"name": "Packing"}]},
        "queueSort": {"enabled": [{"name": "PrioritySort"}], "disabled": [{"name": "*"}]},
    }
    assert "queueSort" not in profile_with_plugins([FOREIGN["Packing"]])["profiles"][0]["plugins"]
