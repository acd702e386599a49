"""What a plugin is given when it is made: the nodes, the cluster's other objects, the nominations.

Upstream: pkg/scheduler/framework/interface.go (Handle).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.cluster.state import ClusterState
from ksched_cli.framework.clock import Clock
from ksched_cli.framework.nominator import Nominator
from ksched_cli.framework.plugins_runner import PluginsRunner
from ksched_cli.framework.waiting_pods import WaitingPods


@dataclass(slots=True)
class Handle:
    """framework and extenders are set once all plugins are made.

    shared:  what several plugins or profiles keep together in a run, by name
    waiting: the pods that Permit told to wait, of every profile
    """

    snapshot: Snapshot
    cluster: ClusterState
    nominator: Nominator
    framework: PluginsRunner | None = None
    extenders: Sequence[Any] = ()
    shared: dict[str, Any] = field(default_factory=dict)
    waiting: WaitingPods = field(default_factory=WaitingPods)

    @property
    def clock(self) -> Clock:
        """Simulated time."""
        return self.waiting.clock
