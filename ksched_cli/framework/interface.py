"""The plugin contract: one abstract class per extension point.

A plugin is a class that extends one or more of them. Filter and Score have two forms: the plain
form (`filter`, `score`) answers for one node, as in kube-scheduler; the array form (`filter_nodes`,
`score_nodes`) answers for many nodes and is what the runtime calls. By default the array form calls
the plain form for each node, so a plugin overrides either. An in-tree plugin may override both: the
plain form is then called where there are only a few nodes.

An exception is a defect of the plugin and ends the pod's attempt with code Error; a plugin that
cannot answer raises PluginError, whose message is shown without a traceback.

Upstream: pkg/scheduler/framework/interface.go. Importing this module does not load NumPy.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from ksched_cli.framework.status import MalformedError, Status

if TYPE_CHECKING:
    from ksched_cli.cluster.pod_info import PodInfo
    from ksched_cli.framework.cycle_state import CycleState
    from ksched_cli.framework.handle import Handle
    from ksched_cli.framework.node_statuses import NodeStatuses
    from ksched_cli.framework.nodes import NodeInfo, Nodes
    from ksched_cli.framework.pod_groups import (
        GroupKey,
        GroupRoom,
        Placement,
        PodGroup,
        RejectedGroup,
    )
    from ksched_cli.framework.results import Scores, Verdicts


# Incremented when a plugin written for the previous version might no longer work.
API_VERSION = 3

# The range of normalized scores, both ends included.
MIN_NODE_SCORE = 0
MAX_NODE_SCORE = 100


class Scope(Enum):
    """What a plugin's answer about a node depends on, besides the pod's own manifest.

    The runtime reuses an answer for pods with the same manifest until something in its scope
    changes. A scope that is too narrow gives wrong results; a scope that is too wide costs time.

    NODE:    the node's labels, taints, images and capacity, which do not change in a run
    ROW:     the same, and the pods on that node
    CLUSTER: pods or objects anywhere; the answer is never reused
    """

    NODE = 0
    ROW = 1
    CLUSTER = 2


class Plugin(ABC):
    """The base of every extension point. One instance is created per profile that enables the
    plugin, by calling the class with (args, handle).

    name:  the plugin's name in a configuration
    scope: of every answer that the plugin gives, see Scope
    args:  how the plugin's args are checked. A JSON Schema: the plugin receives plain data. A
           msgspec.Struct or a dataclass: it receives an instance. None: they are not checked
    reads: kinds of custom objects that the plugin reads, as "PodGroup.scheduling.x-k8s.io"; they
           are loaded into handle.cluster.others
    """

    name: ClassVar[str]
    scope: ClassVar[Scope] = Scope.CLUSTER
    args: ClassVar[Mapping[str, Any] | type[Any] | None] = None
    reads: ClassVar[tuple[str, ...]] = ()

    def __init__(self, args: Any, handle: Handle) -> None:
        """Create the plugin for a profile.

        args: in the form that the class's `args` declares; None where it declares none and the
            configuration has none.

        Raises PluginError where the plugin refuses its args or the cluster.
        """
        self.handle = handle

    def scope_for(self, pod: PodInfo) -> Scope:
        """Return the scope of the answers about this pod, where it is narrower than `scope`: for a
        pod without volumes, no claim matters. It may depend on nothing but the pod's manifest."""
        return self.scope

    def cache_key(self, pod: PodInfo) -> Hashable | None:
        """Return the part of the pod's manifest that the plugin's NODE answers depend on: pods with
        equal keys share these answers. None: only pods with the same manifest do.

        Pods share ROW answers in the same way where the plugin is in-tree.
        """
        return None


class QueuedPod(NamedTuple):
    """A pod in the queue.

    timestamp: seconds since 1970. In `schedule` when the pod, or the first of its group, was
               created; in a replay when it came into the queue, or came back from its last attempt,
               as in kube-scheduler
    sequence:  orders pods of one timestamp
    attempts:  how often it was tried
    """

    pod: PodInfo
    timestamp: float
    sequence: int
    attempts: int = 0


class PreEnqueuePlugin(Plugin):
    """Decides whether a pod may enter the queue."""

    @abstractmethod
    def pre_enqueue(self, pod: PodInfo) -> Status:
        """Return whether the pod may enter the queue: Success lets it in; any other status keeps it
        gated."""


class QueueSortPlugin(Plugin):
    """Orders the queue. Every profile enables exactly one, the same in all profiles."""

    @abstractmethod
    def less(self, first: QueuedPod, second: QueuedPod) -> bool:
        """Return whether to try `first` before `second`."""


class SortsByKey(QueueSortPlugin):
    """One of ksched's own queue sorts; it orders pods by keys, which compare faster."""

    @abstractmethod
    def key(self, queued: QueuedPod) -> tuple[float, ...]:
        """Return the key that the pods are sorted by."""

    def less(self, first: QueuedPod, second: QueuedPod) -> bool:
        return self.key(first) < self.key(second)


@dataclass(frozen=True, slots=True)
class PreFilterResult:
    """node_names: the only nodes that Filter has to look at; None: all nodes."""

    node_names: frozenset[str] | None = None


class PreFilterPlugin(Plugin):
    """Runs once per attempt, before Filter: rejects the pod, narrows the nodes, or stores in the
    cycle state what Filter needs. idle_after_skip: Reserve and PreBind of an in-tree plugin need no
    call after Skip."""

    idle_after_skip: ClassVar[bool] = False

    @abstractmethod
    def pre_filter(
        self, state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> tuple[PreFilterResult | None, Status]:
        """Return the nodes that Filter should look at, or None for all, and a status: Success;
        Skip, and the plugin's Filter is not called in this attempt; or a rejection, which holds for
        every node.

        nodes: all nodes of the cluster.
        """


class PreFilterExtensions(Plugin):
    """Updates what PreFilter stored in the cycle state when a dry run adds a pod to a node or
    removes one, as the search for victims does. Extended together with PreFilterPlugin."""

    @abstractmethod
    def add_pod(self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo) -> Status:
        """Update `state` for `added`, which was added to `node`. `pod` is the pod being
        scheduled."""

    @abstractmethod
    def remove_pod(
        self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo
    ) -> Status:
        """Update `state` for `removed`, which was removed from `node`. `pod` is the pod being
        scheduled."""

    def concerns(self, state: CycleState, pod: PodInfo, other: PodInfo) -> bool:
        """Return whether adding or removing pods with the manifest of `other` can change the
        answers about `pod`. If not, `add_pod` and `remove_pod` are not called for them, which makes
        the search for victims faster."""
        return True


class FilterPlugin(Plugin):
    """Decides which nodes can run the pod."""

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        """Return success, a rejection, or an error: the plain form.

        A rejection is Status.unschedulable where evicting pods from the node might help, and
        Status.unresolvable where it cannot.
        """
        raise NotImplementedError(f"{type(self).__name__} has neither filter nor filter_nodes")

    def filter_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Verdicts:
        """Return one verdict per node of `nodes`, in the same order: the array form."""
        from ksched_cli.framework.results import Verdicts

        answers = [self.filter(state, pod, node) for node in nodes]
        try:
            return Verdicts.of(answers)
        except AttributeError:
            wrong = next(i for i, answer in enumerate(answers) if type(answer) is not Status)
            name, kind = nodes.names()[wrong], type(answers[wrong]).__name__
            raise MalformedError(
                f"filter returned {kind} for node {name}, expected Status"
            ) from None


@dataclass(frozen=True, slots=True)
class PostFilterResult:
    """nominated_node: the node that the pod is nominated to; "" clears its nomination; None leaves
    the nomination as it is.
    victims: pods on nodes, that one or others, to evict as DefaultPreemption's victims are; with
        Success only"""

    nominated_node: str | None = None
    victims: tuple[PodInfo, ...] = ()


class PostFilterPlugin(Plugin):
    """Runs when no node passed Filter, to make the pod schedulable, as preemption does."""

    @abstractmethod
    def post_filter(
        self, state: CycleState, pod: PodInfo, filtered: NodeStatuses
    ) -> tuple[PostFilterResult | None, Status]:
        """Try to make room for a pod that no node passed.

        filtered: the status of every node, including the nodes that PreFilter excluded.
        """


class PreScorePlugin(Plugin):
    """Runs once per attempt, before Score, with all feasible nodes."""

    @abstractmethod
    def pre_score(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Status:
        """Prepare the plugin's Score. With Skip, Score is not called in this attempt.

        nodes: the nodes that passed Filter.
        """


class ScorePlugin(Plugin):
    """Ranks the feasible nodes."""

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        """Return the node's score: the plain form. It is from 0 to 100, or with NormalizeScore any
        integer."""
        raise NotImplementedError(f"{type(self).__name__} has neither score nor score_nodes")

    def score_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Scores:
        """Return one score per node of `nodes`, in the same order: the array form."""
        import numpy as np

        scores = [self.score(state, pod, node) for node in nodes]
        if scores and type(scores[0]) is int:
            # Integers from 0 to 255, which most plugins return, are read fastest as bytes.
            try:
                return np.frombuffer(bytes(scores), np.uint8).astype(np.int64)
            except (TypeError, ValueError):
                pass
        array = np.array(scores) if scores else np.empty(0, dtype=np.int64)
        if array.dtype.kind not in "iu":
            from ksched_cli.framework.answer_checks import check_integers

            check_integers(scores, nodes)
        return array


class NormalizeScore(Plugin):
    """Converts a plugin's raw scores to scores from 0 to 100. Extended together with ScorePlugin.

    normalizes_by_min_max: each normalized score depends only on the raw score itself and on the
        lowest and highest raw score. The runtime then normalizes again only when these change
    """

    normalizes_by_min_max: ClassVar[bool] = False

    @abstractmethod
    def normalize_scores(
        self, state: CycleState, pod: PodInfo, nodes: Nodes, scores: Scores
    ) -> Scores:
        """Return the normalized scores in a new array of the same length.

        scores: the raw scores of `nodes`, in the same order, not to be modified.
        """


class ReservePlugin(Plugin):
    """Reserves what the pod needs besides the node's resources, and releases it where the pod is
    not bound after all."""

    @abstractmethod
    def reserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        """Reserve what the pod needs. Anything but success ends the attempt; every Reserve plugin's
        `unreserve` is called."""

    @abstractmethod
    def unreserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> None:
        """Release what `reserve` reserved. It is also called where `reserve` failed or was never
        called, and must not fail."""


class PermitPlugin(Plugin):
    """Allows the pod to be bound, rejects it, or has it wait."""

    @abstractmethod
    def permit(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> tuple[Status, float]:
        """Return success, a rejection, or Wait, and with Wait the timeout in seconds."""


class PreBindPlugin(Plugin):
    """Does what must be done before the pod is bound, such as binding its volumes."""

    def pre_bind_pre_flight(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        """Return success; or Skip, and `pre_bind` is not called for this pod. Anything else is an
        error. All plugins are asked before the first `pre_bind`, from 1.35 on."""
        return Status()

    @abstractmethod
    def pre_bind(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        """Prepare the binding. Anything but success ends the attempt, and the pod is not bound."""


class BindPlugin(Plugin):
    """Binds the pod to the node."""

    @abstractmethod
    def bind(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        """Skip: the next Bind plugin is called. Otherwise this plugin's status decides."""


class PostBindPlugin(Plugin):
    """Runs after a pod was bound, to update the plugin's own records."""

    @abstractmethod
    def post_bind(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> None:
        """React to the binding, whose outcome it cannot change."""


class PlacementGeneratePlugin(Plugin):
    """Says among which sets of nodes a pod group is placed: on one of them, as a whole."""

    @abstractmethod
    def generate_placements(
        self, key: GroupKey, parent: Placement
    ) -> tuple[Sequence[Placement], Status]:
        """Divide the nodes of `parent`. key: namespace and name of the group, see
        handle.pod_groups.

        Several plugins of one profile, which 1.38 allows, are combined: each placement of one
        with each of the other, as far as they have nodes in common. `parent` itself, as the only
        placement, divides nothing. Without any placement the group fits nowhere.
        """


class PlacementProgress(NamedTuple):
    """How many pods of a group, or groups in it, have a node, may yet get one, and got none."""

    scheduled: int
    remaining: int
    unschedulable: int = 0

    def after(self, is_scheduled: bool) -> PlacementProgress:
        """Return the progress after one more of those that remain."""
        return PlacementProgress(
            self.scheduled + is_scheduled,
            self.remaining - 1,
            self.unschedulable + (not is_scheduled),
        )


class PlacementFeasiblePlugin(Plugin):
    """Says whether enough pods of a group have a node. Called before the first pod of a group is
    tried on a placement, and after each. Before 1.38 only GangScheduling is asked."""

    @abstractmethod
    def placement_feasible(self, group: PodGroup, progress: PlacementProgress) -> Status:
        """Return success; Wait, while the remaining pods may yet make the placement feasible; or
        Unschedulable, where they cannot: then they are not tried there. Any other status is an
        error."""


class PlacementScorePlugin(Plugin):
    """Ranks the placements that a group fits on."""

    @abstractmethod
    def score_placement(self, key: GroupKey, placement: Placement, pods: Sequence[PodInfo]) -> int:
        """Return the score of a placement, from 0 to 100 without a normalization.

        pods: of the group, that have a node there.
        """

    def normalize_placement_scores(self, scores: list[int]) -> list[int]:
        """Normalize the scores of all placements, in their order, to 0 to 100. Raises
        PluginError."""
        return scores


class PodGroupPostFilterPlugin(Plugin):
    """Makes room for a group that fits on no placement."""

    @abstractmethod
    def pod_group_post_filter(self, rejected: RejectedGroup) -> tuple[Status, GroupRoom]:
        """Return success, with the pods to evict and the nodes that the group's pods are nominated
        to; Unschedulable, and the next plugin is asked; or UnschedulableAndUnresolvable, and no
        other is.

        The plugin tries evictions with `rejected`: what it removes and adds in a `with
        rejected.branch():` block is taken back in the end.
        """


class SignPlugin(Plugin):
    """Says what a plugin's answers depend on in a pod, for opportunistic batching: where the last
    pod filled its node, a pod of equal signature takes the next best of that pod's nodes, without
    Filter and Score on all of them. A profile batches pods only where each of its PreFilter,
    Filter, PreScore and Score plugins extends this class.

    signs_pods: False where the plugin, as it is configured, signs no pod
    """

    signs_pods: bool = True

    @abstractmethod
    def sign_pod(self, pod: PodInfo) -> Mapping[str, Hashable] | None:
        """Return name → the part of the manifest that PreFilter, Filter, PreScore and Score depend
        on; plugins that read the same part may give it the same name. Return {} where they depend
        on nothing in the pod, and None where they depend on other pods too: the pod is not
        batched."""


class Explains(Plugin):
    """Gives details of a plugin's answers to `ksched explain`. Called after the attempt, with its
    cycle state."""

    def explain_filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Sequence[str]:
        """Explain why `node` was rejected: the numbers and names behind the status, one line
        each."""
        return ()

    def explain_score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Sequence[str]:
        """Explain how the raw score was computed, one line each."""
        return ()


class GroupsPods(Plugin):
    """Holds pods back until others of their group have nodes too, so that `ksched explain` and
    `ksched fix` can be asked about the group. ksched knows the group's name, whatever kind
    defines it."""

    def group_of(self, pod: PodInfo) -> str:
        """Return the pod's group as namespace/name, or "" where it is in none."""
        return ""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change after which a plugin may no longer reject a pod. `ksched fix` does not rely on
    it: it makes the change and runs the scheduler.

    kind:     a row of the costs of `ksched fix`, as "toleration"; any other costs `DEFAULT_COST`
    text:     what to do, in the imperative: "tolerate dedicated=gpu:NoSchedule"
    changes:  lines as --change takes them, about nodes and objects other than the pod
    patch:    a strategic merge patch of the pod's `metadata` and `spec`; it applies to the
    template of the pod's workload, if there is one
    requests: container → resource → quantity, where the pod is to request less
    evicts:   keys of pods that leave their node
    amount: the size of the change; among proposals of a kind, the smallest is tried first
    """

    kind: str
    text: str
    changes: tuple[str, ...] = ()
    patch: Mapping[str, Any] = field(default_factory=dict)
    requests: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    evicts: tuple[str, ...] = ()
    amount: float = 0


class Proposes(Plugin):
    """Proposes changes to `ksched fix` after which the plugin would not reject a pod. Each
    proposal removes all of the plugin's reasons to reject the pod there. Called with the cycle
    state of an attempt."""

    def propose(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Iterable[Proposal]:
        """Propose changes that would make `node`, which the plugin rejects in Filter, fit."""
        return ()

    def propose_for_pod(self, pod: PodInfo) -> Iterable[Proposal]:
        """Propose changes that would let the pod pass PreEnqueue or PreFilter. All plugins are
        asked if one of them rejects the pod there; yield nothing if this plugin does not reject
        it."""
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
    "placementGenerate": PlacementGeneratePlugin,
    "placementScore": PlacementScorePlugin,
    "placementFeasible": PlacementFeasiblePlugin,
    "podGroupPostFilter": PodGroupPostFilterPlugin,
}


def points_of(plugin: type[Any]) -> frozenset[str]:
    """Return the keys of CONTRACTS whose classes a plugin class extends."""
    return frozenset(key for key, contract in CONTRACTS.items() if issubclass(plugin, contract))


class Measures(Plugin):
    """Adds figures to `schedule`, `compare`, `replay` and the rows of `sweep`."""

    @abstractmethod
    def metrics(self) -> Mapping[str, float]:
        """Return figures of the run by name; a row has them as NAME-OF-THE-PLUGIN.NAME. It is
        called once, after the run."""

    def measure(self, now: float) -> None:
        """Observe the cluster. A replay calls this after each instant at which something happened,
        and at its end: what the plugin sees is true from `now` on, in seconds since 1970, until the
        next call."""


class TimesRuns(Plugin):
    """Says how long pods run in a replay, as with interference between the pods of a node, or a
    model of throughput."""

    @abstractmethod
    def runtime(self, pod: PodInfo, node: NodeInfo, runs_for: float | None) -> float | None:
        """Return for how many seconds all the work of the pod takes on `node`, where it has just
        been placed, or None if it does not end there. Progress and the overhead of restarts are the
        replay's.

        runs_for: what the timeline says about this node, or the previous plugin
        """


class CountsUsage(Plugin):
    """Says what pods use of their nodes where it is not what they request, as with parts of GPUs
    that annotations ask for. Utilization, idle parts and costs, GPU-hours and shares of users are
    figures of it. No decision is.

    gpus: the resources of which one is a GPU, for GPU-hours; those whose names end in /gpu are
    """

    gpus: Collection[str] = ()

    @abstractmethod
    def usage(self, pod: PodInfo) -> Mapping[str, float]:
        """Return resource → how much of it the pod uses on its node, in the units of
        `pod.resources`, such as 0.5 of a GPU; it counts in place of the pod's request. Other
        resources count as requested. Pods that differ in nothing but their names use the same."""


# What a plugin may extend besides.
EXTENSIONS: tuple[type[Plugin], ...] = (
    PreFilterExtensions,
    NormalizeScore,
    SignPlugin,
    Explains,
    GroupsPods,
    Proposes,
    Measures,
    TimesRuns,
    CountsUsage,
)
