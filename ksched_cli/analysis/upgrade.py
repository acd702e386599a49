"""In which waves the nodes of a pool can be drained and replaced under the budgets.

The nodes that are to be replaced are cordoned, so that each pod moves once. A wave begins with new
nodes, up to as many as the surge, each a copy of one that is still to be drained; then nodes are
drained one after the other, as in a shrink, until as many have gone as came. A node whose drain
does not finish is tried again in the next wave.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, ClassVar, Literal

from ksched_cli.analysis.drained_cluster import DrainedCluster, DrainOutcome, Hold
from ksched_cli.analysis.pending import PendingGroup
from ksched_cli.analysis.shrink import NodeToDrain, OnProgress, ShrinkLimits, held_at_once
from ksched_cli.answers import HIDDEN, Count, Part, Rank, StateAnswer
from ksched_cli.cluster.objects import Node
from ksched_cli.scenario.node_groups import NodeGroup


class Delay(Part, frozen=True):
    """A node that could not be drained at first.

    held_by: what held it; it goes once the nodes of earlier waves are replaced
    """

    node: str
    held_by: tuple[Hold, ...]


class Wave(Part, frozen=True):
    """Nodes that are replaced together.

    added: the new nodes that join before the drains
    drained: in order
    delayed: those of them whose drains failed in an earlier wave
    """

    added: tuple[str, ...]
    drained: tuple[NodeToDrain, ...]
    delayed: tuple[Delay, ...] = ()


class UpgradePlan(StateAnswer, frozen=True, kw_only=True):
    """In which waves the nodes of a pool can be drained and replaced.

    surge: how many new nodes a wave adds at most
    nodes: how many there are to replace
    replaced: how many of them can be
    waves: in order
    blocked: the nodes that cannot be drained, and what holds them for ever
    uncontrolled: pods that move and have no controller: somebody has to create them again
    pending: pods that were pending before any drain and stay so, by owner and cause; they are left
             aside
    """

    COMMAND: ClassVar = "shrink"

    kind: Literal["UpgradePlan"] = "UpgradePlan"
    surge: Rank
    nodes: Count
    replaced: Count
    waves: tuple[Wave, ...]
    blocked: tuple[NodeToDrain, ...]
    uncontrolled: tuple[str, ...] = ()
    pending: tuple[PendingGroup, ...] = ()
    undecided: Annotated[bool, HIDDEN] = False

    @property
    def succeeds(self) -> bool:
        """Whether all can be replaced."""
        return not self.blocked


def upgrade(
    base: DrainedCluster, limits: ShrinkLimits, surge: int, on_progress: OnProgress | None = None
) -> UpgradePlan:
    """base: after the run that places what waits. Raises InputError where the template of a
    DaemonSet is not valid"""
    pool = [node for node in base.state.nodes if limits.selects(node)]
    models = {node.name: node for node in pool}
    held = dict(held_at_once(base, pool, limits))
    cluster = base.cordoned(list(models))
    waiting = [name for name in models if name not in held]
    copied: list[str] = []
    waves: list[Wave] = []
    delays: dict[str, tuple[Hold, ...]] = {}
    while waiting:
        uncopied = [name for name in waiting if name not in copied]
        spare = len(copied) - sum(len(wave.drained) for wave in waves)
        new = uncopied[: surge - spare]
        copied += new
        cluster, names = _with_copies(cluster, [models[name] for name in new])
        cluster, drains, failed = _drained(cluster, waiting, surge)
        if not drains:
            held |= failed
            break
        drained = tuple(
            NodeToDrain.of(name, drain, order) for order, (name, drain) in enumerate(drains, 1)
        )
        late = tuple(Delay(name, delays[name]) for name, _ in drains if name in delays)
        waves.append(Wave(names, drained, late))
        delays = {**failed, **delays}
        gone = {name for name, _ in drains}
        waiting = [name for name in waiting if name not in gone]
        if on_progress is not None:
            on_progress(len(models) - len(waiting) - len(held), len(models))
    blocked = [NodeToDrain.staying(name, held) for name in sorted(held)]
    return UpgradePlan(
        surge=surge,
        nodes=len(pool),
        replaced=len(pool) - len(blocked),
        waves=tuple(waves),
        blocked=tuple(blocked),
        uncontrolled=base.uncontrolled(models.keys() - held.keys()),
        pending=base.pending,
        undecided=bool(base.simulation.caller.defects),
    )


def _drained(
    cluster: DrainedCluster, waiting: Sequence[str], most: int
) -> tuple[DrainedCluster, list[tuple[str, DrainOutcome]], dict[str, tuple[Hold, ...]]]:
    """Drain the first nodes that can be, up to this many; return what holds those before them that
    cannot. Where one went, those before it are tried again in the next wave."""
    drains: list[tuple[str, DrainOutcome]] = []
    failed: dict[str, tuple[Hold, ...]] = {}
    for name in waiting:
        if len(drains) == most:
            break
        drain = cluster.drain((name,))
        if drain.finishes:
            cluster = drain.cluster
            drains.append((name, drain))
        else:
            failed[name] = drain.why((name,))
            cluster = cluster.forked()
    return cluster, drains, failed


def _with_copies(
    cluster: DrainedCluster, nodes: Iterable[Node]
) -> tuple[DrainedCluster, tuple[str, ...]]:
    """The cluster with a copy of each node, and their names."""
    taken = {node.name for node in cluster.state.nodes}
    copies: dict[str, NodeGroup] = {}
    for node in nodes:
        name = f"{node.name}-new"
        while name in taken or name in copies:
            name += "-new"
        copies[name] = NodeGroup(node.name, node, cluster.state.csi_nodes.get(node.name))
    return cluster.with_nodes([(group, name) for name, group in copies.items()]), tuple(copies)
