"""Calls of plugins that may change nothing they are given.

Arrays are read-only views, the snapshot is sealed, and a pod must be the same after the call.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec
import numpy as np

from ksched_cli.cluster.objects import encode_hook
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.framework.call_limit import CallLimit
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.status import MutationError

T = TypeVar("T")


@dataclass(slots=True)
class ReadOnlyCalls:
    """Remembers which pods a plugin has changed. limit: of the time of a call, or None"""

    limit: CallLimit | None = None
    # (plugin, pod key)
    _mutated: set[tuple[str, str]] = field(default_factory=set)

    def call(self, plugin: str, snapshot: Snapshot, method: Callable[..., T], *arguments: Any) -> T:
        """Calls a plugin's method. Raises what it raises, and MutationError."""
        pods = [argument for argument in arguments if isinstance(argument, PodInfo)]
        for pod in pods:
            # A second call would find the pod changed already, and pass.
            if (plugin, pod.key) in self._mutated:
                raise _mutation(pod)
        before = [_fingerprint(pod) for pod in pods]
        outermost = not snapshot.sealed
        if outermost:
            snapshot.seal(True)
        try:
            frozen = map(_frozen, arguments)
            answer = method(*frozen) if self.limit is None else self.limit.call(method, *frozen)
        finally:
            if outermost:
                snapshot.seal(False)
        for pod, fingerprint in zip(pods, before, strict=True):
            if _fingerprint(pod) != fingerprint:
                self._mutated.add((plugin, pod.pod.key))
                raise _mutation(pod)
        return answer


def _mutation(pod: PodInfo) -> MutationError:
    return MutationError(f"it changed the pod {pod.pod.key}, which plugins may only read")


def _frozen(argument: Any) -> Any:
    """Arrays as read-only views."""
    if isinstance(argument, Nodes) and argument.rows is not None:
        return Nodes(argument.snapshot, _frozen(argument.rows))
    if isinstance(argument, np.ndarray):
        argument = argument.view()
        argument.flags.writeable = False
    return argument


def _fingerprint(pod: PodInfo) -> tuple[object, ...]:
    """Return a fingerprint of what no plugin may change about a pod."""
    return (
        pod.key,
        pod.priority,
        pod.signature,
        id(pod.pod),
        id(pod.template),
        tuple(pod.resources.requests.items()),
        msgspec.json.encode((pod.pod.metadata, pod.pod.spec), enc_hook=encode_hook),
    )
