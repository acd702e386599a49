"""The part of an extender that a plugin may call in preemption. An extender is another process.

Upstream: pkg/scheduler/framework/extender.go (Extender).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.framework.preemption import Victims
from ksched_cli.framework.status import PluginError


class ExtenderError(PluginError):
    """A call to an extender failed, or its response is invalid. The message is kube-scheduler's
    where it has one."""


class PreemptionExtender(Protocol):
    """name: the URL prefix. ignorable: a failed call is treated as if it had not been made."""

    @property
    def name(self) -> str: ...

    @property
    def ignorable(self) -> bool: ...

    @property
    def supports_preemption(self) -> bool: ...

    def is_interested(self, pod: PodInfo) -> bool:
        """Whether the pod requests a resource that the extender manages."""
        ...

    def process_preemption(
        self, pod: PodInfo, victims: Mapping[str, Victims], snapshot: Snapshot
    ) -> dict[str, Victims]:
        """victims: by node name. Returns those that the extender accepts, sorted by node name.

        Raises ExtenderError.
        """
        ...
