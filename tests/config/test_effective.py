"""What a configuration knows of plugins."""

from ksched_cli.config.effective import in_tree_args
from tests.config.known import FOREIGN, KNOWN


def test_only_in_tree_plugins_with_args_have_them() -> None:
    assert sorted(in_tree_args(KNOWN)) == [
        "DefaultPreemption",
        "DynamicResources",
        "InterPodAffinity",
        "NodeAffinity",
        "NodeResourcesBalancedAllocation",
        "NodeResourcesFit",
        "PodTopologySpread",
        "VolumeBinding",
    ]
    assert in_tree_args(FOREIGN) == in_tree_args(KNOWN)


def test_args_are_of_the_kind_that_the_plugin_names() -> None:
    assert all(args.kind == f"{name}Args" for name, args in in_tree_args(KNOWN).items())
