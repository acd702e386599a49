"""The resources that a resource plugin scores."""

import pytest

from ksched_cli.plugins.args import (
    CPU_AND_MEMORY,
    ResourceSpec,
    with_default_weights,
)


@pytest.mark.parametrize("resources", [None, ()])
def test_none_named_means_cpu_and_memory(resources: tuple[ResourceSpec, ...] | None) -> None:
    assert with_default_weights(resources) == CPU_AND_MEMORY


def test_a_weight_that_is_not_given_is_one() -> None:
    resources = (ResourceSpec("cpu", 0), ResourceSpec("example.com/device", 5))
    assert [(spec.name, spec.weight) for spec in with_default_weights(resources)] == [
        ("cpu", 1),
        ("example.com/device", 5),
    ]
