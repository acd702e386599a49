"""Keeps a share of every node's memory free; fills the fullest node first."""

from collections.abc import Mapping
from dataclasses import dataclass

from ksched_cli.api import (
    SUCCESS,
    CycleState,
    FilterPlugin,
    Handle,
    NodeInfo,
    Plugin,
    PodInfo,
    Scope,
    ScorePlugin,
    Status,
    hookimpl,
)

KSCHED_API = 3
FULL = Status.unschedulable("node(s) had to keep memory free")


@dataclass(frozen=True)
class PackingArgs:
    keep_free_percent: int = 10


class Packing(FilterPlugin, ScorePlugin):
    name = "Packing"
    scope = Scope.ROW
    args = PackingArgs

    def __init__(self, args: PackingArgs, handle: Handle) -> None:
        self.usable = (100 - args.keep_free_percent) / 100

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        requested = node.requested("memory") + pod.resources.requests.get("memory", 0)
        return SUCCESS if requested <= node.allocatable("memory") * self.usable else FULL

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        allocatable = node.allocatable("memory") or 1  # a node may have no memory
        return min(100, 100 * node.requested("memory") // allocatable)


@hookimpl
def ksched_plugins() -> Mapping[str, type[Plugin]]:
    return {Packing.name: Packing}
