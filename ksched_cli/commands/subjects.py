"""What the sides of a comparison are of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ksched_cli.cluster.state import ClusterState
    from ksched_cli.config.effective import Configuration
    from ksched_cli.framework.registry import Registry


@dataclass(frozen=True, slots=True)
class Subject:
    """What a side runs.

    name:     what tells it from the other sides
    registry: the plugins of its minor
    autoscaler: the path of a replay's autoscaler, "" for none
    """

    name: str
    registry: Registry
    configuration: Configuration
    state: ClusterState
    autoscaler: str = ""
