"""The resources that a resource plugin scores, as its args name them.

Upstream: apis/config/v1/defaults.go (defaultResourceSpec).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from ksched_cli.config.go_types import INT64, STRING, field


@dataclass(frozen=True, slots=True)
class ResourceSpec:
    GO: ClassVar[str] = "v1.ResourceSpec"
    name: str = field("name", STRING, omit=False)
    weight: int = field("weight", INT64)


CPU_AND_MEMORY = (ResourceSpec("cpu", 1), ResourceSpec("memory", 1))


def with_default_weights(resources: tuple[ResourceSpec, ...] | None) -> tuple[ResourceSpec, ...]:
    """cpu and memory, unless some are named; a weight of 0 counts as not given."""
    return tuple(replace(item, weight=item.weight or 1) for item in resources or CPU_AND_MEMORY)
