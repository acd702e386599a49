"""Asking a plugin about pods that come and go, with and without AddPod and RemovePod."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Protocol, TypeVar, cast

import numpy as np

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.simulation import Simulation
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.interface import PreFilterResult
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.framework.results import Verdicts
from ksched_cli.framework.status import Status
from ksched_cli.testing import cluster, find, simulation

Manifest = dict[str, Any]


class TrialPlugin(Protocol):
    """What a plugin has that extends PreFilter, its extensions and Filter."""

    name: ClassVar[str]

    def pre_filter(
        self, state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> tuple[PreFilterResult | None, Status]: ...

    def filter_nodes(self, state: CycleState, pod: PodInfo, nodes: Nodes) -> Verdicts: ...

    def add_pod(
        self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo
    ) -> Status: ...

    def remove_pod(
        self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo
    ) -> Status: ...


P = TypeVar("P", bound=TrialPlugin)


@dataclass
class PluginRun(Generic[P]):
    """A plugin of the default profile, and the pod `p` that it is asked about."""

    kind: type[P]
    manifests: list[Manifest]
    state: CycleState = field(default_factory=CycleState)
    run: Simulation = field(init=False)
    plugin: P = field(init=False)
    pod: PodInfo = field(init=False)

    def __post_init__(self) -> None:
        self.run = simulation(cluster(*self.manifests))
        plugin = self.run.frameworks["default-scheduler"].plugin(self.kind.name)
        assert isinstance(plugin, self.kind)
        self.plugin = plugin
        self.pod = find(self.run, "p")

    @property
    def nodes(self) -> Nodes:
        return Nodes(self.run.snapshot)

    def pre_filter(self) -> PluginRun[P]:
        status = self.plugin.pre_filter(self.state, self.pod, self.nodes)[1]
        assert status.is_success, status
        return self

    def verdicts(self, state: CycleState | None = None, rows: list[int] | None = None) -> list[str]:
        """Per node, the code's text."""
        nodes = self.nodes if rows is None else Nodes(self.run.snapshot, np.array(rows))
        verdicts = self.plugin.filter_nodes(state or self.state, self.pod, nodes)
        return [verdicts.statuses[i].code.text for i in verdicts.ids]

    def follow(self, state: CycleState, name: str, node: str, *, added: bool) -> None:
        """Calls AddPod or RemovePod with the pod `name`."""
        row = self.run.snapshot.row[node]
        other = find(self.run, name)
        extension = self.plugin.add_pod if added else self.plugin.remove_pod
        status = extension(state, self.pod, other, NodeInfo(self.run.snapshot, row))
        assert status.is_success, status

    def forbid_pods(self) -> None:
        """From here on, whoever looks at the pods of the nodes fails the test."""
        self.run.snapshot.pods = cast(list[list[PodInfo]], Forbidden())


def check_following(kind: type[P], manifests: list[Manifest], node: str, *, leaves: bool) -> None:
    """AddPod and RemovePod with the pod `mover`, which is on `node`, give what PreFilter gives in
    a cluster with it there, or without; and the one undoes the other."""
    there = PluginRun(kind, manifests).pre_filter()
    gone = PluginRun(kind, moved(manifests, "mover", "")).pre_filter()
    before, after = (there, gone) if leaves else (gone, there)
    untouched = before.verdicts()
    trial = before.state.clone()
    before.follow(trial, "mover", node, added=not leaves)
    assert before.verdicts(trial) == after.verdicts()
    assert before.verdicts() == untouched
    before.follow(trial, "mover", node, added=leaves)
    assert before.verdicts(trial) == untouched
    assert before.verdicts(rows=[3, 1]) == [untouched[3], untouched[1]]


def moved(manifests: list[Manifest], name: str, node: str) -> list[Manifest]:
    """The same with one pod on a node, or pending where `node` is empty."""
    copies: list[Manifest] = json.loads(json.dumps(manifests))
    for manifest in copies:
        if manifest["metadata"]["name"] == name:
            manifest["spec"]["nodeName"] = node
    return copies


class Forbidden:
    """Replaces the pods of all nodes, to show that nothing reads them."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"pods.{name} is looked at")

    def __iter__(self) -> Any:
        raise AssertionError("all pods are looked at")

    def __getitem__(self, row: int) -> Any:
        raise AssertionError("the pods of a node are looked at")
