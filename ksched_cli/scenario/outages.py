"""Nodes that fail, and nodes that come back: `fail nodes`, `recover nodes`.

Upstream: pkg/controller/nodelifecycle (the taints of a node whose kubelet does not answer) and
pkg/controller/tainteviction (which pods leave it, and when). In a state a failed node has been so
for longer than any pod tolerates; engine/replay/node_outages.py has the same over time.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import structs

from ksched_cli.cluster.change_record import Effect
from ksched_cli.cluster.objects import Node, Taint
from ksched_cli.cluster.state import ClusterState
from ksched_cli.scenario.arguments import Arguments
from ksched_cli.scenario.change import Change, Changed
from ksched_cli.scenario.node_evictions import (
    NOT_READY_TAINTS,
    UNREACHABLE,
    evict_untolerating,
    is_held,
    with_deletion,
)
from ksched_cli.scenario.nodes import (
    NodeChoice,
    edited_raw,
    node_arguments,
    replace_nodes,
    with_spec,
)
from ksched_cli.scenario.pod_passes import select_on_nodes
from ksched_cli.scenario.pods import moved, pending_again, without_pods

NO_SCHEDULE, NO_EXECUTE = "NoSchedule", "NoExecute"
_UNKNOWN: Mapping[str, Any] = {
    "status": "Unknown",
    "reason": "NodeStatusUnknown",
    "message": "Kubelet stopped posting node status.",
}
_READY: Mapping[str, Any] = {
    "status": "True",
    "reason": "KubeletReady",
    "message": "kubelet is posting ready status",
}


@dataclass(frozen=True, slots=True)
class FailNodes(Change):
    """fail nodes NODE... | -l SELECTOR"""

    nodes: NodeChoice

    @staticmethod
    def parse(arguments: Arguments) -> FailNodes:
        return FailNodes(arguments.text, _read_nodes(arguments, "fail"))

    def apply(self, state: ClusterState) -> Changed:
        names = self.nodes.of(self, state)
        for effect in (NO_SCHEDULE, NO_EXECUTE):
            state = with_failed(state, names, effect)
        state, evictions = evict_untolerating(state, frozenset(names))
        return state, [*(Effect(name, "failed") for name in names), *evictions]


@dataclass(frozen=True, slots=True)
class RecoverNodes(Change):
    """recover nodes NODE... | -l SELECTOR"""

    nodes: NodeChoice

    @staticmethod
    def parse(arguments: Arguments) -> RecoverNodes:
        return RecoverNodes(arguments.text, _read_nodes(arguments, "recover"))

    def apply(self, state: ClusterState) -> Changed:
        names = self.nodes.of(self, state)
        leaving = [pod for pod in select_on_nodes(state.pods, set(names)) if pod.deleting]
        again = [pod for pod in leaving if is_held(pod)]
        gone = [pod for pod in leaving if not is_held(pod)]
        state, again = with_deletion(without_pods(with_recovered(state, names), gone), again, "")
        return pending_again(state, again), [
            *(Effect(name, "recovered") for name in names),
            *moved(again),
            *moved(gone, "deleted"),
        ]


def _read_nodes(arguments: Arguments, verb: str) -> NodeChoice:
    usage = f'"{verb} nodes NODE..." or "{verb} nodes -l SELECTOR"'
    return NodeChoice.read(arguments, node_arguments(arguments, usage))


def is_not_ready(node: Node) -> bool:
    """Whether the node lifecycle controller has tainted it for its Ready condition."""
    return any(taint.key in NOT_READY_TAINTS for taint in node.spec.taints)


def with_failed(state: ClusterState, names: Collection[str], effect: str) -> ClusterState:
    """The state with the taint of nodes that do not answer, of this effect, on these nodes."""
    taint = Taint(UNREACHABLE, effect=effect)

    def edit(node: Node) -> Node:
        others = tuple(t for t in node.spec.taints if not _is_alike(t, (effect,)))
        return _with_condition(with_spec(node, (*others, taint), node.spec.unschedulable), _UNKNOWN)

    return replace_nodes(state, names, edit)


def with_recovered(state: ClusterState, names: Collection[str]) -> ClusterState:
    """The state with these nodes ready."""
    untainted = without_taints(state, names, (NO_SCHEDULE, NO_EXECUTE))
    return replace_nodes(untainted, names, lambda node: _with_condition(node, _READY))


def without_taints(
    state: ClusterState, names: Collection[str], effects: Sequence[str]
) -> ClusterState:
    """The state without the taints of these effects that nodes have for not being ready."""

    def edit(node: Node) -> Node:
        others = tuple(taint for taint in node.spec.taints if not _is_alike(taint, effects))
        return with_spec(node, others, node.spec.unschedulable)

    return replace_nodes(state, names, edit)


def _is_alike(taint: Taint, effects: Sequence[str]) -> bool:
    return taint.key in NOT_READY_TAINTS and taint.effect in effects


def _with_condition(node: Node, ready: Mapping[str, Any]) -> Node:
    """The node with this Ready condition in its JSON, which extenders are sent."""

    def edit(data: dict[str, Any]) -> None:
        status = data["status"] = data.get("status") or {}
        others = [c for c in status.get("conditions") or () if c.get("type") != "Ready"]
        status["conditions"] = [*others, {"type": "Ready", **ready}]

    return structs.replace(node, raw=edited_raw(node.raw, edit))
