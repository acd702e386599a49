"""The handle that a plugin is created with: the nodes, the cluster's other objects, the
nominations.

Upstream: pkg/scheduler/framework/interface.go (Handle).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from msgspec import Struct, field

from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.cluster.state import ClusterState
from ksched_cli.framework.clock import Clock
from ksched_cli.framework.nominator import Nominator
from ksched_cli.framework.plugins_runner import PluginsRunner
from ksched_cli.framework.pod_groups import PodGroups
from ksched_cli.framework.waiting_pods import WaitingPods
from ksched_cli.kube.versions import Release, release_of

S = TypeVar("S")


class Handle(Struct):
    """framework and extenders are set once all plugins are made.

    services: what `service` has made so far; one dict for the handles of all profiles of a run
    waiting:  the pods that Permit told to wait, of every profile
    release:  whose rules are followed; a plugin asks it when it is made
    pod_groups: the groups that pods are scheduled in; None where the feature gate is off
    """

    snapshot: Snapshot
    cluster: ClusterState
    nominator: Nominator
    framework: PluginsRunner | None = None
    extenders: Sequence[Any] = ()
    services: dict[Callable[[Handle], Any], Any] = field(default_factory=dict)
    waiting: WaitingPods = field(default_factory=WaitingPods)
    release: Release = field(default_factory=release_of)
    pod_groups: PodGroups | None = None

    @property
    def clock(self) -> Clock:
        """Simulated time."""
        return self.waiting.clock

    def service(self, factory: Callable[[Handle], S]) -> S:
        """The run's one result of `factory(handle)`, for all plugins and profiles; made on first
        use. A class whose constructor takes a handle is a factory.
        """
        try:
            return cast(S, self.services[factory])
        except KeyError:
            service = self.services[factory] = factory(self)
            return service
