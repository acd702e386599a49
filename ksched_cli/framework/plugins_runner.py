"""The service of a framework to plugins: it runs the Filter plugins against nodes as they would be.

Protocols, so that the handle that every plugin is made with need not import the framework.
Upstream: pkg/scheduler/framework/interface.go (PluginsRunner).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol, TypeVar

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.results import Verdicts
from ksched_cli.framework.status import Status


class RowResults(Protocol):
    """Results by row."""

    def forget(self, rows: Iterable[int]) -> None:
        """Drop the results on nodes that have changed."""
        ...


R = TypeVar("R", bound=RowResults)


class FilterOperations(Protocol):
    """The Filter plugins of a profile, and the PreFilter extensions. FilterRunner has the rest."""

    def run_filters(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Verdicts:
        """Return each node's first rejection."""
        ...

    def run_with_nominated_pods(
        self,
        state: CycleState,
        pod: PodInfo,
        nodes: Nodes,
        own_states: Mapping[int, CycleState] | None = None,
    ) -> Verdicts:
        """Filter as `run_filters` does; the pod must also fit beside pods nominated to the node.

        own_states: by row, the state for that node where it is not `state`
        """
        ...

    def is_node_local(self, state: CycleState, pod: PodInfo) -> bool:
        """Return whether every Filter plugin that runs answers from the node and its pods alone."""
        ...

    def compared_requests(self, state: CycleState, pod: PodInfo) -> Mapping[str, int] | None:
        """Return resource → amount, where pods that leave a node or come back to it change only the
        answer of the plugin that compares these amounts, as far as `concerns` is False for the
        pods. Return None where they may change another plugin's."""
        ...

    def run_with_requests_of(
        self, state: CycleState, pod: PodInfo, nodes: Nodes, fork: Snapshot
    ) -> Verdicts:
        """Filter as `run_filters`, except that the plugin that compares resources looks at the
        nodes of the fork, where pods have left. Where `compared_requests` is not None."""
        ...

    def run_on_node_with_nominated_pods(self, state: CycleState, pod: PodInfo, row: int) -> Status:
        """Filter one node as it is now, as `run_with_nominated_pods` does."""
        ...

    def has_extensions(self, state: CycleState) -> bool:
        """Return whether any plugin implements AddPod and RemovePod."""
        ...

    def concerns(self, state: CycleState, pod: PodInfo, other: PodInfo) -> bool:
        """Return whether AddPod and RemovePod have to be called for pods that look like `other`."""
        ...

    def run_add_pod(
        self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo
    ) -> Status:
        """Tell the plugins that `added` is now on `node`."""
        ...

    def run_remove_pod(
        self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo
    ) -> Status:
        """Tell the plugins that `removed` has left `node`."""
        ...


class PluginsRunner(Protocol):
    """A profile's framework, as its plugins see it."""

    @property
    def filtering(self) -> FilterOperations: ...

    def reserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        """Run Reserve for a pod that is assumed on the node."""
        ...

    def unreserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> None:
        """Undo `reserve`."""
        ...

    def dry_runs(self, pod: PodInfo, factory: Callable[[], R]) -> R | None:
        """Return the results of dry runs for pods that look the same, on nodes that have not
        changed since. The PostFilter plugin reads and fills them. Return None where nothing is
        cached.

        factory: makes empty results
        """
        ...

    def explain_rejection(
        self, plugin: str, state: CycleState, pod: PodInfo, node: NodeInfo
    ) -> tuple[str, ...]:
        """Return the lines that a plugin adds to its rejection of a node."""
        ...
