"""Rejects every node but the one that the pod names.

Upstream: plugins/nodename/node_name.go.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.cluster_events import NODE, Action, ClusterEvent, Registration
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.in_tree_interface import JudgesResizes
from ksched_cli.framework.interface import (
    FilterPlugin,
    PreFilterPlugin,
    PreFilterResult,
    Scope,
    SignPlugin,
)
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.results import Verdicts
from ksched_cli.framework.status import SUCCESS, Status
from ksched_cli.plugins.helper import Fragments, PreFiltered

REASON = Status.unresolvable("node(s) didn't match the requested node name")


class NodeName(FilterPlugin, SignPlugin, JudgesResizes):
    name = "NodeName"
    scope = Scope.NODE

    def __init__(self, args: Any, handle: Handle) -> None:
        pass

    def cache_key(self, pod: PodInfo) -> Hashable:
        return pod.pod.node_name

    def sign_pod(self, pod: PodInfo) -> Fragments:
        return {"nodeName": pod.pod.node_name}

    def events_to_register(self) -> Iterable[Registration]:
        yield ClusterEvent(NODE, Action.ADD), None

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        requested = pod.pod.node_name
        return SUCCESS if not requested or requested == node.name else REASON

    def filter_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Verdicts:
        requested = pod.pod.node_name
        if not requested:
            return Verdicts.passing(len(nodes))
        row = nodes.snapshot.row.get(requested, -1)
        return Verdicts.rejecting(np.asarray(nodes.indices() != row), REASON)


class PreFilteringNodeName(NodeName, PreFilterPlugin):
    """The plugin of later minors (Rules.pre_filters_node_name)."""

    def pre_filter(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> PreFiltered:
        requested = pod.pod.node_name
        return PreFilterResult(frozenset({requested})) if requested else None, SUCCESS
