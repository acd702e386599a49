"""State that plugins carry over when the cluster's nodes or objects change and plugins are
rebuilt."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from ksched_cli.cluster.objects import Pod


@runtime_checkable
class CarriesOver(Protocol):
    """A plugin, or a service of plugins, that assumes something about running pods: volumes,
    devices. `ksched replay` recreates plugins when nodes change; one without this method starts
    afresh."""

    def carry_over(self, previous: Any) -> None:
        """Take over what `previous`, its predecessor, assumed, as far as it still holds."""
        ...


@runtime_checkable
class FollowsPods(Protocol):
    """A service of plugins that looks at pods without a node, too. When it is made,
    `handle.cluster.pods` are all pods; in `ksched replay` they come and go after that."""

    def pod_came(self, pod: Pod) -> None:
        """Note a pod that was created or has changed; it may be one that was listed."""
        ...

    def pod_left(self, pod: Pod) -> None:
        """Note a pod that has ended or was deleted."""
        ...
