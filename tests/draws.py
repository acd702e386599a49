"""Runs that draw among equally good nodes."""

from __future__ import annotations

from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.engine import Options
from ksched_cli.engine.scheduling_cycle import RandomChoice, TieBreak
from ksched_cli.engine.simulation import Simulation
from ksched_cli.testing import cluster, node, pod, simulation

# Pods that fit on twelve nodes alike.
ALIKE = cluster(
    *(node(f"n{i:02}", cpu=4) for i in range(12)),
    *(pod(f"p{i}", cpu=1, priority=9 - i) for i in range(6)),
)


def broken_by(tie_break: TieBreak, state: ClusterState = ALIKE) -> Simulation:
    """As commands make it: without the details of every attempt."""
    detailed = simulation(state)
    return Simulation(state, detailed.configuration, detailed.registry, Options(tie_break))


def drawn(seed: int, state: ClusterState = ALIKE) -> Simulation:
    return broken_by(RandomChoice(seed), state)
