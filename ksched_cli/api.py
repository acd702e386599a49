"""What Python programs import: Runs and their questions, and the plugin API.

These names, and what their docstrings promise, are stable; docs/library.md and docs/plugin-api.md
say what that means. Everything else may change from one release to the next.
"""

from __future__ import annotations

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import PodWatcher, Snapshot
from ksched_cli.cluster.state import ClusterState
from ksched_cli.errors import InputError, KschedError, MissingExtraError, UsageError
from ksched_cli.framework.clock import Clock
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.hookspecs import hookimpl
from ksched_cli.framework.interface import (
    API_VERSION,
    MAX_NODE_SCORE,
    MIN_NODE_SCORE,
    BindPlugin,
    Explains,
    FilterPlugin,
    NormalizeScore,
    PermitPlugin,
    Plugin,
    PostBindPlugin,
    PostFilterPlugin,
    PostFilterResult,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterExtensions,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    QueuedPod,
    QueueSortPlugin,
    ReservePlugin,
    Scope,
    ScorePlugin,
    SignPlugin,
)
from ksched_cli.framework.measures import Measures
from ksched_cli.framework.node_statuses import NodeStatuses
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.results import Scores, Verdicts
from ksched_cli.framework.status import SKIP, SUCCESS, Code, PluginError, Status
from ksched_cli.framework.waiting_pods import WaitingPod, WaitingPods
from ksched_cli.kube.quantity import Quantity, QuantityError
from ksched_cli.library.run import Run
from ksched_cli.library.several import compare, replay, sweep

__all__ = [
    "API_VERSION",
    "MAX_NODE_SCORE",
    "MIN_NODE_SCORE",
    "SKIP",
    "SUCCESS",
    "BindPlugin",
    "Clock",
    "ClusterState",
    "Code",
    "CycleState",
    "Explains",
    "FilterPlugin",
    "Handle",
    "InputError",
    "KschedError",
    "Measures",
    "MissingExtraError",
    "NodeInfo",
    "NodeStatuses",
    "Nodes",
    "NormalizeScore",
    "PermitPlugin",
    "Plugin",
    "PluginError",
    "PodInfo",
    "PodWatcher",
    "PostBindPlugin",
    "PostFilterPlugin",
    "PostFilterResult",
    "PreBindPlugin",
    "PreEnqueuePlugin",
    "PreFilterExtensions",
    "PreFilterPlugin",
    "PreFilterResult",
    "PreScorePlugin",
    "Quantity",
    "QuantityError",
    "QueueSortPlugin",
    "QueuedPod",
    "ReservePlugin",
    "Run",
    "Scope",
    "ScorePlugin",
    "Scores",
    "SignPlugin",
    "Snapshot",
    "Status",
    "UsageError",
    "Verdicts",
    "WaitingPod",
    "WaitingPods",
    "compare",
    "hookimpl",
    "replay",
    "sweep",
]
