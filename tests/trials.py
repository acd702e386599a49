"""Asking one plugin about pods that come and go, with and without telling it step by step."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ksched_cli.engine.simulation import Simulation
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.nodes import NodeInfo, Nodes
from ksched_cli.testing import cluster, find, simulation


@dataclass
class PluginRun:
    """A plugin, and the pod `p` that it is asked about."""

    plugin: str
    manifests: list[dict[str, Any]]
    state: CycleState = field(default_factory=CycleState)
    run: Simulation = field(init=False)

    def __post_init__(self) -> None:
        self.run = simulation(cluster(*self.manifests))
        self.made = self.run.frameworks["default-scheduler"].plugin(self.plugin)
        self.pod = find(self.run, "p")

    @property
    def nodes(self) -> Nodes:
        return Nodes(self.run.snapshot)

    def pre_filter(self) -> PluginRun:
        status = self.made.pre_filter(self.state, self.pod, self.nodes)[1]
        assert status.is_success, status
        return self

    def verdicts(self, state: CycleState | None = None, rows: list[int] | None = None) -> list[str]:
        """Per node, the code's text."""
        asked = self.nodes if rows is None else Nodes(self.run.snapshot, np.array(rows))
        found = self.made.filter_nodes(state or self.state, self.pod, asked)
        return [found.statuses[i].code.text for i in found.ids]

    def follow(self, state: CycleState, name: str, node: str, *, added: bool) -> None:
        row = self.run.snapshot.row[node]
        other = find(self.run, name)
        tell = self.made.add_pod if added else self.made.remove_pod
        status = tell(state, self.pod, other, NodeInfo(self.run.snapshot, row))
        assert status.is_success, status


def moved(manifests: list[dict[str, Any]], name: str, node: str) -> list[dict[str, Any]]:
    """The same with one pod on a node, or pending where `node` is empty."""
    found = json.loads(json.dumps(manifests))
    for one in found:
        if one["metadata"]["name"] == name:
            one["spec"]["nodeName"] = node
    return found


class Forbidden:
    """Stands where the pods of all nodes are, to show that nobody looks at them."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"pods.{name} is looked at")

    def __iter__(self) -> Any:
        raise AssertionError("all pods are looked at")

    def __getitem__(self, row: int) -> Any:
        raise AssertionError("the pods of a node are looked at")
