"""The args of NodeResourcesBalancedAllocation: the resources that are to be balanced."""

from ksched_cli.plugins.args import BALANCED_ALLOCATION_ARGS as ARGS
from ksched_cli.plugins.args import (
    CPU_AND_MEMORY,
    NodeResourcesBalancedAllocationArgs,
    ResourceSpec,
)
from tests.plugins.args_checks import error_texts


def test_cpu_and_memory_by_default() -> None:
    args = ARGS.with_defaults(NodeResourcesBalancedAllocationArgs())
    assert args.resources == CPU_AND_MEMORY
    assert error_texts(ARGS, args) == []


def test_each_resource_once_and_with_weight_one() -> None:
    resources = (ResourceSpec("cpu", 1), ResourceSpec("memory", 2), ResourceSpec("cpu", 1))
    assert error_texts(ARGS, NodeResourcesBalancedAllocationArgs(resources=resources)) == [
        "resources[1].weight: Invalid value: 2: must be 1",
        'resources[2].name: Duplicate value: "cpu"',
    ]
