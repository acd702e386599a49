"""Binds a pod to its node; a simulation calls no API, so the pod stays where it was assumed.

Upstream: plugins/defaultbinder/default_binder.go.
"""

from __future__ import annotations

from typing import Any

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interface import BindPlugin
from ksched_cli.framework.nodes import NodeInfo
from ksched_cli.framework.status import SUCCESS, Status


class DefaultBinder(BindPlugin):
    name = "DefaultBinder"

    def __init__(self, args: Any, handle: Handle) -> None:
        pass

    def bind(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        return SUCCESS
