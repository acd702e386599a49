"""The args of NodeResourcesBalancedAllocation.

Upstream: apis/config/types_pluginargs.go, v1/defaults.go, validation/validation_pluginargs.go.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from ksched_cli.config.go_types import ListOf, StructOf, field
from ksched_cli.config.in_tree_args import InTreeArgs
from ksched_cli.config.types import TypeMeta
from ksched_cli.kube.field_errors import FieldError, child, distinct, duplicate, invalid
from ksched_cli.plugins.node_resources.resource_spec import ResourceSpec, with_default_weights


@dataclass(frozen=True, slots=True)
class NodeResourcesBalancedAllocationArgs(TypeMeta):
    GO: ClassVar[str] = "v1.NodeResourcesBalancedAllocationArgs"
    resources: tuple[ResourceSpec, ...] | None = field("resources", ListOf(StructOf(ResourceSpec)))


def validate(args: NodeResourcesBalancedAllocationArgs, path: str) -> list[FieldError]:
    """ValidateNodeResourcesBalancedAllocationArgs."""
    errors: list[FieldError] = []
    seen = set()
    for index, resource in enumerate(args.resources or ()):
        where = f"{child(path, 'resources')}[{index}]"
        if resource.name in seen:
            errors.append(duplicate(f"{where}.name", resource.name))
        seen.add(resource.name)
        if resource.weight != 1:
            errors.append(invalid(f"{where}.weight", resource.weight, "must be 1"))
    return distinct(errors)


def set_defaults(args: NodeResourcesBalancedAllocationArgs) -> NodeResourcesBalancedAllocationArgs:
    """SetDefaults_NodeResourcesBalancedAllocationArgs."""
    return replace(args, resources=with_default_weights(args.resources))


ARGS = InTreeArgs(NodeResourcesBalancedAllocationArgs, set_defaults, validate)
