"""What Python programs import: Runs and their questions, and the plugin API.

These names, and what their docstrings promise, are stable; docs/library.md and docs/plugin-api.md
say what that means. Everything else may change from one release to the next.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from ksched_cli.cluster.affinity_terms import AffinityTerm, AffinityTerms, affinity_terms
from ksched_cli.cluster.objects.pod import Pod
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import PodWatcher, Snapshot
from ksched_cli.cluster.state import ClusterState
from ksched_cli.errors import (
    InputError,
    KschedError,
    MissingExtraError,
    PluginDefectError,
    UsageError,
)
from ksched_cli.framework.cluster_events import (
    Action,
    ClusterEvent,
    EnqueueExtensions,
    PreQueueingHints,
)
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import Clock, Handle, WaitingPod, WaitingPods
from ksched_cli.framework.hookspecs import hookimpl
from ksched_cli.framework.interface import (
    API_VERSION,
    MAX_NODE_SCORE,
    MIN_NODE_SCORE,
    BindPlugin,
    CountsUsage,
    Explains,
    FilterPlugin,
    GroupsPods,
    Measures,
    NormalizeScore,
    PermitPlugin,
    PlacementFeasiblePlugin,
    PlacementGeneratePlugin,
    PlacementProgress,
    PlacementScorePlugin,
    Plugin,
    PodGroupPostFilterPlugin,
    PostBindPlugin,
    PostFilterPlugin,
    PostFilterResult,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterExtensions,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    Proposal,
    Proposes,
    QueuedPod,
    QueueSortPlugin,
    ReservePlugin,
    Scope,
    ScorePlugin,
    SignPlugin,
    TimesRuns,
)
from ksched_cli.framework.node_statuses import NodeStatuses
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.pod_groups import (
    Assignment,
    GroupKey,
    GroupRoom,
    Placement,
    PodGroup,
    PodGroups,
    RejectedGroup,
)
from ksched_cli.framework.preemption_trial import PreemptionTrial
from ksched_cli.framework.results import Scores, Verdicts
from ksched_cli.framework.status import SKIP, SUCCESS, Code, PluginError, Status
from ksched_cli.kube.quantity import Quantity, QuantityError
from ksched_cli.kube.selectors import SelectorError, label_selector
from ksched_cli.library.run import Run, compare, replay, sweep

if TYPE_CHECKING:
    from ksched_cli.analysis.attempts import AttemptTrace
    from ksched_cli.analysis.capacity import CapacityResult
    from ksched_cli.analysis.compare import Comparison, DrawnComparison, ReplayComparison
    from ksched_cli.analysis.diagnosis import PendingReport
    from ksched_cli.analysis.drain import DrainResult
    from ksched_cli.analysis.drift import DriftResult
    from ksched_cli.analysis.explain import Explanation, GroupExplanation
    from ksched_cli.analysis.fits import FitResult
    from ksched_cli.analysis.fix import Remedies
    from ksched_cli.analysis.metrics import per_placement
    from ksched_cli.analysis.more_nodes import NodesNeeded
    from ksched_cli.analysis.preempt import PreemptionResult
    from ksched_cli.analysis.replay_result import ReplayResult
    from ksched_cli.analysis.schedule import ScheduleResult
    from ksched_cli.analysis.shrink import ShrinkResult, UpgradePlan
    from ksched_cli.analysis.status import ClusterStatus, Fullness
    from ksched_cli.library.environment import Environment
    from ksched_cli.library.steps import OpenRun
    from ksched_cli.sweep.answers import SweepResult

__all__ = [
    "API_VERSION",
    "MAX_NODE_SCORE",
    "MIN_NODE_SCORE",
    "SKIP",
    "SUCCESS",
    "Action",
    "AffinityTerm",
    "AffinityTerms",
    "Assignment",
    "AttemptTrace",
    "BindPlugin",
    "CapacityResult",
    "Clock",
    "ClusterEvent",
    "ClusterState",
    "ClusterStatus",
    "Code",
    "Comparison",
    "CountsUsage",
    "CycleState",
    "DrainResult",
    "DrawnComparison",
    "DriftResult",
    "EnqueueExtensions",
    "Environment",
    "Explains",
    "Explanation",
    "FilterPlugin",
    "FitResult",
    "Fullness",
    "GroupExplanation",
    "GroupKey",
    "GroupRoom",
    "GroupsPods",
    "Handle",
    "InputError",
    "KschedError",
    "Measures",
    "MissingExtraError",
    "NodeInfo",
    "NodeStatuses",
    "Nodes",
    "NodesNeeded",
    "NormalizeScore",
    "OpenRun",
    "PendingReport",
    "PermitPlugin",
    "Placement",
    "PlacementFeasiblePlugin",
    "PlacementGeneratePlugin",
    "PlacementProgress",
    "PlacementScorePlugin",
    "Plugin",
    "PluginDefectError",
    "PluginError",
    "Pod",
    "PodGroup",
    "PodGroupPostFilterPlugin",
    "PodGroups",
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
    "PreQueueingHints",
    "PreScorePlugin",
    "PreemptionResult",
    "PreemptionTrial",
    "Proposal",
    "Proposes",
    "Quantity",
    "QuantityError",
    "QueueSortPlugin",
    "QueuedPod",
    "RejectedGroup",
    "Remedies",
    "ReplayComparison",
    "ReplayResult",
    "ReservePlugin",
    "Run",
    "ScheduleResult",
    "Scope",
    "ScorePlugin",
    "Scores",
    "SelectorError",
    "ShrinkResult",
    "SignPlugin",
    "Snapshot",
    "Status",
    "SweepResult",
    "TimesRuns",
    "UpgradePlan",
    "UsageError",
    "Verdicts",
    "WaitingPod",
    "WaitingPods",
    "affinity_terms",
    "compare",
    "hookimpl",
    "label_selector",
    "per_placement",
    "replay",
    "sweep",
]

# What questions take and return, imported where it is asked for: plugins need none of it.
_ANSWERS = {
    "AttemptTrace": "ksched_cli.analysis.attempts",
    "ClusterStatus": "ksched_cli.analysis.status",
    "Fullness": "ksched_cli.analysis.status",
    "CapacityResult": "ksched_cli.analysis.capacity",
    "Comparison": "ksched_cli.analysis.compare",
    "DrawnComparison": "ksched_cli.analysis.compare",
    "DrainResult": "ksched_cli.analysis.drain",
    "DriftResult": "ksched_cli.analysis.drift",
    "Environment": "ksched_cli.library.environment",
    "Explanation": "ksched_cli.analysis.explain",
    "FitResult": "ksched_cli.analysis.fits",
    "GroupExplanation": "ksched_cli.analysis.explain",
    "NodesNeeded": "ksched_cli.analysis.more_nodes",
    "OpenRun": "ksched_cli.library.steps",
    "per_placement": "ksched_cli.analysis.metrics",
    "PendingReport": "ksched_cli.analysis.diagnosis",
    "PreemptionResult": "ksched_cli.analysis.preempt",
    "ReplayComparison": "ksched_cli.analysis.compare",
    "Remedies": "ksched_cli.analysis.fix",
    "ReplayResult": "ksched_cli.analysis.replay_result",
    "ScheduleResult": "ksched_cli.analysis.schedule",
    "ShrinkResult": "ksched_cli.analysis.shrink",
    "UpgradePlan": "ksched_cli.analysis.shrink",
    "SweepResult": "ksched_cli.sweep.answers",
}


def __getattr__(name: str) -> object:
    if name not in _ANSWERS:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return getattr(import_module(_ANSWERS[name]), name)
