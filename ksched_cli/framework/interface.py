"""The plugin contract: one class per extension point, in two depths.

The plain form answers for one node, as in kube-scheduler. The array form answers for many and is
what the runtime calls; its default loops over the plain form. A plugin overrides either.

Upstream: pkg/scheduler/framework/interface.go. Nothing here loads NumPy before it is needed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar

from ksched_cli.framework.status import SUCCESS, Status

if TYPE_CHECKING:
    from ksched_cli.cluster.pod_info import PodInfo
    from ksched_cli.framework.node_statuses import NodeStatuses
    from ksched_cli.framework.nodes import Node, Nodes
    from ksched_cli.framework.state import CycleState
    from ksched_cli.framework.verdicts import Scores, Verdicts

MIN_NODE_SCORE = 0
MAX_NODE_SCORE = 100


class Scope(Enum):
    """What a plugin's answer about a node depends on, besides the pod's own manifest.

    NODE:    the node's labels, taints, images, capacity; it never changes in a run
    ROW:     also the pods on that node
    CLUSTER: pods or objects anywhere; asked again in every attempt
    """

    NODE = 0
    ROW = 1
    CLUSTER = 2


class Plugin(ABC):
    """name: as in a configuration. scope: holds for every answer the plugin gives, see Scope."""

    name: ClassVar[str]
    scope: ClassVar[Scope] = Scope.CLUSTER

    def depends_on(self, pod: PodInfo) -> Scope:
        """The scope for this very pod, where it is narrower: a pod without volumes does not care
        about claims anywhere. It may depend on the pod's manifest only."""
        return self.scope


@dataclass(frozen=True, slots=True)
class QueuedPod:
    """A pod in the queue. timestamp: seconds; sequence: its place in the state."""

    pod: PodInfo
    timestamp: float
    sequence: int


class PreEnqueuePlugin(Plugin):
    """Holds pods back from the queue."""

    @abstractmethod
    def pre_enqueue(self, pod: PodInfo) -> Status:
        """Anything but success keeps the pod gated."""


class QueueSortPlugin(Plugin):
    """Orders the queue. Exactly one per scheduler."""

    @abstractmethod
    def less(self, first: QueuedPod, second: QueuedPod) -> bool:
        """Whether `first` goes before `second`."""


@dataclass(frozen=True, slots=True)
class PreFilterResult:
    """node_names: the only nodes worth asking about; None: all of them."""

    node_names: frozenset[str] | None = None


class PreFilterPlugin(Plugin):
    """Looks at the pod once, before any node."""

    @abstractmethod
    def pre_filter(
        self, state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> tuple[PreFilterResult | None, Status]:
        """Skip leaves the plugin's Filter out of this attempt."""


class PreFilterExtensions(Plugin):
    """Follows pods that come and go in a trial, without looking at everything again."""

    @abstractmethod
    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node: Node) -> Status:
        """`added` is now on `node`, and `node` shows it."""

    @abstractmethod
    def remove_pod(self, state: CycleState, pod: PodInfo, removed: PodInfo, node: Node) -> Status:
        """`removed` has left `node`, and `node` no longer shows it."""


class FilterPlugin(Plugin):
    """Says which nodes can run the pod."""

    def filter(self, state: CycleState, pod: PodInfo, node: Node) -> Status:
        """Plain form: success, a rejection, or an error."""
        raise NotImplementedError(f"{type(self).__name__} has neither filter nor filter_nodes")

    def filter_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Verdicts:
        """Array form: one verdict per node of `nodes`, in its order."""
        from ksched_cli.framework.verdicts import Verdicts

        return Verdicts.of([self.filter(state, pod, node) for node in nodes])


@dataclass(frozen=True, slots=True)
class PostFilterResult:
    """nominated_node: the node made room on; "" takes a nomination back; None leaves it."""

    nominated_node: str | None = None


class PostFilterPlugin(Plugin):
    """Looks for a way out when no node fits."""

    @abstractmethod
    def post_filter(
        self, state: CycleState, pod: PodInfo, filtered: NodeStatuses
    ) -> tuple[PostFilterResult | None, Status]:
        """filtered: every node's status, those that PreFilter left out included."""


class PreScorePlugin(Plugin):
    """Prepares Score, with all feasible nodes in view."""

    @abstractmethod
    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Status:
        """Skip leaves the plugin's Score out of this attempt."""


class ScorePlugin(Plugin):
    """Ranks the feasible nodes."""

    def score(self, state: CycleState, pod: PodInfo, node: Node) -> int:
        """Plain form: after normalising, 0 to 100."""
        raise NotImplementedError(f"{type(self).__name__} has neither score nor score_nodes")

    def score_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Scores:
        """Array form: one score per node of `nodes`, in its order."""
        import numpy as np

        scores = [self.score(state, pod, node) for node in nodes]
        return np.array(scores, dtype=np.int64)


class NormalizeScore(Plugin):
    """Brings a plugin's raw scores into 0 to 100, with all of them in view."""

    @abstractmethod
    def normalize_scores(
        self, state: CycleState, pod: PodInfo, nodes: Nodes, scores: Scores
    ) -> Scores:
        """A new array; `scores` is left as it is."""


class ReservePlugin(Plugin):
    """Takes what the pod needs besides its node, and gives it back."""

    @abstractmethod
    def reserve(self, state: CycleState, pod: PodInfo, node: Node) -> Status: ...

    @abstractmethod
    def unreserve(self, state: CycleState, pod: PodInfo, node: Node) -> None:
        """Also called where `reserve` was not; must not fail."""


class PermitPlugin(Plugin):
    """The last word before binding: yes, no, or wait."""

    @abstractmethod
    def permit(self, state: CycleState, pod: PodInfo, node: Node) -> tuple[Status, float]:
        """With Wait, for how many seconds at most."""


class PreBindPlugin(Plugin):
    """Does what must be done before the pod is bound."""

    @abstractmethod
    def pre_bind(self, state: CycleState, pod: PodInfo, node: Node) -> Status: ...


class BindPlugin(Plugin):
    """Binds the pod. Skip leaves it to the next one."""

    @abstractmethod
    def bind(self, state: CycleState, pod: PodInfo, node: Node) -> Status: ...


class PostBindPlugin(Plugin):
    """Is told that a pod was bound."""

    @abstractmethod
    def post_bind(self, state: CycleState, pod: PodInfo, node: Node) -> None: ...


class Explains(Plugin):
    """Says more than the status does, when `explain` asks. Called after the attempt's own calls."""

    def explain_filter(self, state: CycleState, pod: PodInfo, node: Node) -> Sequence[str]:
        """Why `node` was rejected: numbers, names. One line each."""
        return ()

    def explain_score(self, state: CycleState, pod: PodInfo, node: Node) -> Sequence[str]:
        """Where the raw score comes from."""
        return ()


# What a plugin implements says which extension points it extends.
CONTRACTS: Mapping[str, type[Plugin]] = {
    "preFilter": PreFilterPlugin,
    "filter": FilterPlugin,
    "postFilter": PostFilterPlugin,
    "reserve": ReservePlugin,
    "preScore": PreScorePlugin,
    "score": ScorePlugin,
    "preBind": PreBindPlugin,
    "bind": BindPlugin,
    "postBind": PostBindPlugin,
    "permit": PermitPlugin,
    "preEnqueue": PreEnqueuePlugin,
    "queueSort": QueueSortPlugin,
}


def points_of(plugin: type[Any]) -> frozenset[str]:
    """The extension points that a plugin class extends."""
    return frozenset(key for key, contract in CONTRACTS.items() if issubclass(plugin, contract))


__all__ = [
    "CONTRACTS",
    "MAX_NODE_SCORE",
    "MIN_NODE_SCORE",
    "SUCCESS",
    "BindPlugin",
    "Explains",
    "FilterPlugin",
    "NormalizeScore",
    "PermitPlugin",
    "Plugin",
    "PostBindPlugin",
    "PostFilterPlugin",
    "PostFilterResult",
    "PreBindPlugin",
    "PreEnqueuePlugin",
    "PreFilterExtensions",
    "PreFilterPlugin",
    "PreFilterResult",
    "PreScorePlugin",
    "QueueSortPlugin",
    "QueuedPod",
    "ReservePlugin",
    "Scope",
    "ScorePlugin",
    "points_of",
]
