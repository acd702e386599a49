"""State that plugins carry over when the cluster's nodes or objects change and plugins are rebuilt,
and when a replay is written to a file."""

from __future__ import annotations

import traceback
from collections.abc import Iterable
from typing import Any, Protocol, runtime_checkable

from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.objects.message_pack import pack, unpack
from ksched_cli.errors import PluginDefectError
from ksched_cli.framework.failures import FAILURES, described, raise_users_interrupt


@runtime_checkable
class CarriesOver(Protocol):
    """A plugin, or a service of plugins, that assumes something about running pods: volumes,
    devices. `ksched replay` recreates plugins when nodes change; one without this method starts
    afresh."""

    def carry_over(self, previous: Any) -> None:
        """Takes over what `previous`, its predecessor, assumed, as far as it still holds."""
        ...


@runtime_checkable
class FollowsPods(Protocol):
    """A service of plugins that looks at pods without a node, too. When it is made,
    `handle.cluster.pods` are all pods; in `ksched replay` they come and go after that."""

    def list_pods(self, pods: Iterable[Pod]) -> None:
        """These are all pods, whatever was there before."""
        ...

    def pod_came(self, pod: Pod) -> None:
        """The pod is there, or has changed; it may be one that was listed."""
        ...

    def pod_left(self, pod: Pod) -> None:
        """The pod has ended, or was deleted."""
        ...


@runtime_checkable
class Checkpointed(Protocol):
    """A plugin, or a service, that remembers something from one attempt to the next, and whose
    memory a checkpoint of a replay holds. It answers for the services that it alone uses, too.

    assumed_type: of what `assumed` returns: plain data, msgspec's structs, dataclasses, objects of
                  the API but for pods, nodes and workloads
    """

    assumed_type: Any

    def assumed(self) -> Any:
        """Return what it remembers."""
        ...

    def assume(self, assumed: Any) -> None:
        """Takes it up, over the objects that the cluster had then and the pods that run now."""
        ...


def packed_memory(plugin: Checkpointed, name: str) -> bytes:
    """What it remembers, as MessagePack. Raises PluginDefectError where it fails to tell, or could
    not be given it back."""
    try:
        data = pack(plugin.assumed())
        unpack(data, plugin.assumed_type)
    except FAILURES as error:
        raise_users_interrupt(error)
        problem = f"{name} failed in assumed: {described(error)}"
        raise PluginDefectError(problem, traceback.format_exc()) from error
    return data


def restore_memory(plugin: Checkpointed, data: bytes) -> None:
    """Raises DecodeError for data of another type, and what `assume` raises."""
    plugin.assume(unpack(data, plugin.assumed_type))
