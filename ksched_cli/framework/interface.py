"""The plugin contract: one class per extension point, in two depths.

The plain form answers for one node, as in kube-scheduler. The array form answers for many and is
what the runtime calls; its default loops over the plain form. A plugin overrides either. Those of
ksched itself may have both: then it is the plain form that is asked about a handful of nodes.

Upstream: pkg/scheduler/framework/interface.go. Nothing here loads NumPy before it is needed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from operator import index
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from ksched_cli.framework.deprecation import adopt_renamed
from ksched_cli.framework.status import SUCCESS, MalformedError, Status

if TYPE_CHECKING:
    from ksched_cli.cluster.pod_info import PodInfo
    from ksched_cli.framework.cycle_state import CycleState
    from ksched_cli.framework.handle import Handle
    from ksched_cli.framework.node_statuses import NodeStatuses
    from ksched_cli.framework.nodes import NodeInfo, Nodes
    from ksched_cli.framework.results import Scores, Verdicts

# Counts up when a plugin that was written for the version before might not work any more.
API_VERSION = 1

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
    """Made with (args, handle) when a profile enables it.

    name:  as in a configuration
    scope: holds for every answer the plugin gives, see Scope
    args:  what the plugin's args are checked by: a JSON Schema, and the plugin is given plain data;
           or a msgspec.Struct or a dataclass, and it is given an instance. None: not checked
    reads: kinds of objects that ksched does not know and the plugin wants to see, as
           "PodGroup.scheduling.x-k8s.io"; they are in handle.cluster.others
    """

    name: ClassVar[str]
    scope: ClassVar[Scope] = Scope.CLUSTER
    args: ClassVar[Mapping[str, Any] | type[Any] | None] = None
    reads: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        adopt_renamed(cls)

    def __init__(self, args: Any, handle: Handle) -> None:
        """args: as `args` above says, None where nothing checks them and there are none.

        Raises PluginError for what the plugin does not want to work with.
        """
        self.handle = handle

    def scope_for(self, pod: PodInfo) -> Scope:
        """The scope for this very pod, where it is narrower: a pod without volumes does not care
        about claims anywhere. It may depend on the pod's manifest only."""
        return self.scope

    def cache_key(self, pod: PodInfo) -> Hashable | None:
        """All of the pod's manifest that the plugin's NODE answers depend on, where that is little:
        pods that agree in it share them. None: only pods that look the same do."""
        return None


class QueuedPod(NamedTuple):
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
    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> Status:
        """`added` is now on `node`, and `node` shows it."""

    @abstractmethod
    def remove_pod(
        self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo
    ) -> Status:
        """`removed` has left `node`, and `node` no longer shows it."""

    def concerns(self, state: CycleState, pod: PodInfo, other: PodInfo) -> bool:
        """Whether pods that look like `other` can change the answers about `pod` by coming or
        going. Where not, `add_pod` and `remove_pod` are not called for them: a plugin that can tell
        makes the search for victims faster."""
        return True


class FilterPlugin(Plugin):
    """Says which nodes can run the pod."""

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        """Plain form: success, a rejection, or an error."""
        raise NotImplementedError(f"{type(self).__name__} has neither filter nor filter_nodes")

    def filter_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Verdicts:
        """Array form: one verdict per node of `nodes`, in its order."""
        from ksched_cli.framework.results import Verdicts

        answers = [self.filter(state, pod, node) for node in nodes]
        try:
            return Verdicts.of(answers)
        except AttributeError:
            wrong = next(i for i, answer in enumerate(answers) if type(answer) is not Status)
            said, kind = nodes.names()[wrong], type(answers[wrong]).__name__
            raise MalformedError(
                f"filter returned {kind} for node {said}, expected Status"
            ) from None


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

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        """Plain form: after normalising, 0 to 100."""
        raise NotImplementedError(f"{type(self).__name__} has neither score nor score_nodes")

    def score_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Scores:
        """Array form: one score per node of `nodes`, in its order."""
        import numpy as np

        scores = [self.score(state, pod, node) for node in nodes]
        found = np.array(scores) if scores else np.empty(0, dtype=np.int64)
        if found.dtype.kind not in "iu":
            _check_integers(scores, nodes)
        return found


class NormalizeScore(Plugin):
    """Brings a plugin's raw scores into 0 to 100, with all of them in view.

    normalizes_by_min_max: a normalised score depends only on the raw score itself and on the lowest
        and highest raw score. A plugin that says so is called less often, its raw scores cached
    """

    normalizes_by_min_max: ClassVar[bool] = False

    @abstractmethod
    def normalize_scores(
        self, state: CycleState, pod: PodInfo, nodes: Nodes, scores: Scores
    ) -> Scores:
        """A new array; `scores` is left as it is."""


class ReservePlugin(Plugin):
    """Takes what the pod needs besides its node, and gives it back."""

    @abstractmethod
    def reserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status: ...

    @abstractmethod
    def unreserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> None:
        """Also called where `reserve` was not; must not fail."""


class PermitPlugin(Plugin):
    """The last word before binding: yes, no, or wait."""

    @abstractmethod
    def permit(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> tuple[Status, float]:
        """With Wait, for how many seconds at most."""


class PreBindPlugin(Plugin):
    """Does what must be done before the pod is bound."""

    @abstractmethod
    def pre_bind(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status: ...


class BindPlugin(Plugin):
    """Binds the pod. Skip leaves it to the next one."""

    @abstractmethod
    def bind(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status: ...


class PostBindPlugin(Plugin):
    """Is told that a pod was bound."""

    @abstractmethod
    def post_bind(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> None: ...


class Explains(Plugin):
    """Says more than the status does, when `explain` asks. Called after the attempt's own calls."""

    def explain_filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Sequence[str]:
        """Why `node` was rejected: numbers, names. One line each."""
        return ()

    def explain_score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Sequence[str]:
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


def _check_integers(scores: Sequence[Any], nodes: Nodes) -> None:
    """Raises MalformedError, rather than have a float cut off."""
    for score, node in zip(scores, nodes, strict=True):
        try:
            index(score)
        except TypeError:
            said = f"score returned {type(score).__name__} for node {node.name}, expected int"
            raise MalformedError(said) from None


def points_of(plugin: type[Any]) -> frozenset[str]:
    """The extension points that a plugin class extends."""
    return frozenset(key for key, contract in CONTRACTS.items() if issubclass(plugin, contract))


__all__ = [
    "API_VERSION",
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
