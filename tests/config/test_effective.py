"""What a configuration knows of plugins."""

from ksched_cli.config.effective import in_tree_args
from tests.config.registries import FOREIGN, REGISTRY


def test_only_in_tree_plugins_with_args_have_them() -> None:
    assert sorted(in_tree_args(REGISTRY)) == [
        "DefaultPreemption",
        "DynamicResources",
        "InterPodAffinity",
        "NodeAffinity",
        "NodeResourcesBalancedAllocation",
        "NodeResourcesFit",
        "PodTopologySpread",
        "VolumeBinding",
    ]
    assert list(in_tree_args(FOREIGN)) == list(in_tree_args(REGISTRY))


def test_args_are_of_the_kind_that_the_plugin_names() -> None:
    assert all(args.kind == f"{name}Args" for name, args in in_tree_args(REGISTRY).items())
