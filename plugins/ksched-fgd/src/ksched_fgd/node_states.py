"""What scorers read of nodes: what is left of their cpu and GPUs."""

from __future__ import annotations

from dataclasses import dataclass

from ksched_cli.api import Nodes
from ksched_fgd.gpu_columns import Amounts, GpuColumns


@dataclass(frozen=True, slots=True)
class NodeStates:
    """cpu: left, in thousandths; left: of each GPU, shape (nodes, GPUs); counts: of GPUs."""

    cpu: Amounts
    left: Amounts
    counts: Amounts
    model_ids: Amounts

    @classmethod
    def of(cls, columns: GpuColumns, nodes: Nodes) -> NodeStates:
        snapshot, gather = nodes.snapshot, nodes.gather
        return cls(
            gather(snapshot.allocatable("cpu")) - gather(snapshot.requested("cpu")),
            gather(columns.left),
            gather(columns.counts),
            gather(columns.model_ids),
        )
