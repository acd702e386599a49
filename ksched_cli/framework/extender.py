"""What a plugin may ask of an extender: an external process that has its say in preemption too.

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
    """An extender could not be asked, or its answer is of no use; the words are kube-scheduler's
    where it has some."""


class PreemptionExtender(Protocol):
    """name: the URL prefix. ignorable: a failure is as if the extender had not been asked."""

    @property
    def name(self) -> str: ...

    @property
    def ignorable(self) -> bool: ...

    @property
    def supports_preemption(self) -> bool: ...

    def is_interested(self, pod: PodInfo) -> bool:
        """Whether the pod asks for what the extender manages."""
        ...

    def process_preemption(
        self, pod: PodInfo, victims: Mapping[str, Victims], snapshot: Snapshot
    ) -> dict[str, Victims]:
        """victims: by node name; so is the answer, in order of name. Raises ExtenderError."""
        ...
