"""How few nodes would do, were every pod placed afresh, whatever keeps it where it is: nodes that
the cluster has, or new ones."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np
from msgspec import UNSET, UnsetType

from ksched_cli.analysis.diagnosis import PendingGroup
from ksched_cli.analysis.drained_cluster import DrainedCluster
from ksched_cli.analysis.more_nodes import (
    OF_PLACE,
    Mix,
    look_of,
    nodes_needed,
    prices_of,
    with_copies,
    zone_of,
)
from ksched_cli.analysis.placement_model import (
    MAX_PAIRS,
    PROOF_SECONDS,
    PlacementModel,
    has_solver,
)
from ksched_cli.analysis.search import Search
from ksched_cli.answers import Count, Part
from ksched_cli.cluster.objects import ZONE_LABEL, Node
from ksched_cli.cluster.objects.node import HOSTNAME_LABEL
from ksched_cli.cluster.resources import PODS
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.simulation import Simulation
from ksched_cli.scenario.change import apply_changes
from ksched_cli.scenario.drain import goes_with_node
from ksched_cli.scenario.nodes import AddNodes
from ksched_cli.scenario.pods import unbound
from ksched_cli.scenario.prices import Prices


class Repack(Part, frozen=True):
    """How few of the cluster's nodes would do.

    nodes: on how many a run places as many pods as on all
    at_least: no placement of all pods needs fewer: by what they request together; with the extra
              `optimum`, by what each requests and where it may be
    unplaced: how many pods a run that places them afresh leaves pending, on all nodes too
    """

    nodes: Count
    at_least: Count
    unplaced: Count


class NewNodes(Part, frozen=True):
    """The fewest new nodes, with prices the cheapest, that could take the place of nodes.

    mix: node → how many copies of it; empty where no run places a pod
    zones: zone → how many of the new nodes; each has one at least
    replaced: how many nodes they take the place of
    at_least: fewer do not hold the pods with one in each zone; as in Repack
    why_not_fewer: of the runs with fewer new nodes, what the one with the most left pending
    per_hour: what the new nodes cost an hour; with prices only
    replaced_per_hour: what those cost whose place they take
    not_helped: the pods that no number of new nodes that was run holds, by owner and cause
    stopped: why the search ended early; the answer is then the best run until then
    """

    mix: Mapping[str, Count]
    zones: Mapping[str, Count]
    replaced: Count
    at_least: Count
    why_not_fewer: str
    per_hour: float | UnsetType
    replaced_per_hour: float | UnsetType
    not_helped: tuple[PendingGroup, ...]
    stopped: str


def repack(base: DrainedCluster, free: Sequence[str]) -> Repack:
    """Search for the most nodes that can be left empty. free: those that may be, those to be left
    first in front"""
    all_nodes, unplaced = len(base.state.nodes), base.unplaced_without(())
    fits, misfits = 0, len(free) + 1
    while misfits - fits > 1:
        middle = (fits + misfits) // 2
        if base.unplaced_without(free[:middle]) <= unplaced:
            fits = middle
        else:
            misfits = middle
    nodes = all_nodes - fits
    # The fewest are at least the largest nodes that have, together, what pods request of each
    # resource.
    least = all_nodes - len(free)
    snapshot, catalog = base.simulation.snapshot, base.simulation.catalog
    fixed = [
        (pod.pod, row)
        for row, pods in enumerate(snapshot.pods)
        for pod in pods
        if goes_with_node(pod.pod)
    ]
    for resource, allocatable in snapshot.node_columns.allocatable.items():
        is_count = resource == PODS
        requests = snapshot.pod_count if is_count else snapshot.requested(resource)
        room, total = allocatable.copy(), int(requests.sum())
        for pod, row in fixed:
            amount = 1 if is_count else catalog.info(pod).resources.requests.get(resource, 0)
            room[row] -= amount
            total -= amount
        if total > 0:
            sums = np.cumsum(np.sort(np.maximum(room, 0))[::-1])
            least = max(least, int(np.searchsorted(sums, total)) + 1)
    if unplaced:
        # The unplaced pods' requests count, too.
        least = min(least, nodes)
    elif least < nodes and has_solver():
        # A solver proves more: by what each pod requests, and by its constraints but spread. Not
        # where that is too large a model.
        moving = base.movable_pods()
        looks = {catalog.info(pod).signature for pod in moving}
        if len(looks) * all_nodes <= MAX_PAIRS:
            simulation = base.simulation.renewed(unbound(base.state, moving), before=None)
            keys = {pod.key for pod in moving}
            waiting = [pod for pod in simulation.pending() if pod.key in keys]
            groups = [[simulation.snapshot.row[name]] for name in free]
            used = PlacementModel.of(simulation, waiting, ()).fewest(PROOF_SECONDS, groups)
            simulation.close()
            least = max(least, all_nodes - len(free) + used)
    return Repack(nodes, least, unplaced)


def repack_onto(
    base: DrainedCluster,
    free: Sequence[Node],
    likes: Sequence[Node],
    prices: Prices,
    open_state: Callable[[ClusterState], Simulation],
    progress: Search,
    shapes: Collection[str] = (),
) -> NewNodes:
    """Search for the copies of `likes` that could take the place of nodes, with one in each zone.
    What is answered is a whole run of such a cluster.

    free: the nodes that go
    open_state: opens a simulation of a state
    shapes: names of those of `likes` whose copies may come to any zone that the nodes are in; those
            of the others are in the zones of their models
    Raises UsageError where the prices lack that of one of `likes`.
    """
    state, gone = unbound(base.state, base.movable_pods()), {node.name for node in free}
    # 1. A shape has a model in each zone, which is like the named node but for its place.
    places: dict[str, dict[str, str]] = {}
    for node in sorted(free, key=lambda node: node.name):
        labels = {key: value for key, value in node.metadata.labels.items() if key in OF_PLACE}
        labels.pop(HOSTNAME_LABEL, None)
        if ZONE_LABEL in labels:
            places.setdefault(labels[ZONE_LABEL], labels)
    models = [node for node in likes if zone_of(node) or not places or node.name not in shapes]
    like_of = {node.name: node.name for node in models}
    taken = {(look_of(node), zone_of(node)) for node in models}
    for like in likes:
        for zone, labels in sorted(places.items()) if like.name in shapes else ():
            if (look_of(like), zone) in taken:
                continue
            taken.add((look_of(like), zone))
            change = AddNodes(f"--like {like.name}", f"{like.name}-{zone}", like.name, 1, labels)
            state = apply_changes(state, [change])[0]
            model = state.nodes[-1]
            models.append(model)
            like_of[model.name] = like.name
            gone.add(model.name)

    def open_with(mix: Mix) -> Simulation:
        larger = with_copies(state, models, mix)
        return open_state(
            replace(
                larger,
                nodes=tuple(node for node in larger.nodes if node.name not in gone),
                csi_nodes={
                    name: each for name, each in larger.csi_nodes.items() if name not in gone
                },
                pods=tuple(pod for pod in larger.pods if pod.node_name not in gone),
            )
        )

    # 2. The search, and how many of its nodes are of each shape and in each zone.
    listed, zones = prices_of(models, prices, like_of), set(map(zone_of, models))
    simulation = open_with((0,) * len(models))
    running = base.live.snapshot
    needed = nodes_needed(simulation, models, open_with, listed, progress, running, zones)
    simulation.close()
    mix, by_zone = dict.fromkeys(like_of.values(), 0), dict.fromkeys(sorted(zones - {""}), 0)
    for model in models if needed.mix else ():
        mix[like_of[model.name]] += needed.mix[model.name]
        if zone_of(model):
            by_zone[zone_of(model)] += needed.mix[model.name]
    is_priced = needed.per_hour is not UNSET
    return NewNodes(
        mix=mix if needed.mix else {},
        zones=by_zone,
        replaced=len(free),
        at_least=needed.at_least,
        why_not_fewer=needed.why_not_fewer,
        per_hour=needed.per_hour,
        replaced_per_hour=round(prices.total(free), 6) if is_priced else UNSET,
        not_helped=needed.not_helped,
        stopped=needed.stopped,
    )
