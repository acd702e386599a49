"""Changes that are made one after the other, with the scheduler between them: as commands are.

What controllers make comes in the order that is worst for the pods that wait. These are tried
before the pod that is made for the first evicted one. Then each change is a reason for an attempt,
after which they have to back off, so that pods made for further evicted ones are tried before them.
Pods of DaemonSets come to a new node last: their controller hears of the node when the scheduler
does. Nodes of equal scores are drawn, as kube-scheduler does: what depends on the first of them by
name is no promise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from msgspec import structs

from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.live_cluster import LiveCluster
from ksched_cli.engine.scheduling_cycle import RandomChoice
from ksched_cli.engine.simulation import Simulation
from ksched_cli.scenario.change import Change, Roll, apply_changes
from ksched_cli.scenario.file import parse_change
from ksched_cli.scenario.pods import newest_timestamp, recreated

_SEED = 2
_EARLIEST = "1970-01-01T00:00:00Z"
# Pods may evict each other in turn.
_MOST_RUNS = 4


def states_in_turns(
    open_simulation: Callable[[ClusterState], Simulation],
    state: ClusterState,
    lines: Sequence[str],
    *,
    roll: Roll,
    workloads: bool = True,
    is_plain: bool = False,
    come_first: bool = False,
) -> Iterator[ClusterState]:
    """Yield the state after the scheduler had its turn before the first line, and after each.

    roll, workloads: see apply_changes
    is_plain: pods that wait never back off, and of nodes of equal scores the first by name is taken
    come_first: the pod made for the first evicted one, too, is tried before those that wait
    Raises UsageError, also where a pod is to be deleted that has another name by then, and
    InputError
    """
    simulation = open_simulation(state)
    if not is_plain:
        simulation.options = replace(simulation.options, tie_break=RandomChoice(_SEED))
    live = LiveCluster(simulation, state)
    preempts = live.engine.options.preempt
    renamed = _schedule(live, preempts)
    is_first = not come_first
    try:
        yield live.state()
        for line in lines:
            for change in _in_turn(line, live):
                if renamed.intersection(change.text.split()):
                    why = "the pod was evicted before, and came again under another name"
                    raise change.error(why)
                before = live.state()
                after, _ = apply_changes(before, [change], workloads=workloads, roll=roll)
                successors, agents, others = _by_arrival(before, after)
                early, late = ([], successors) if is_first or is_plain else (successors, [])
                live.renew(replace(after, pods=(*early, *others)))
                renamed |= _schedule(live, preempts)
                if late or agents:
                    live.arrive([*late, *agents])
                    renamed |= _schedule(live, preempts)
                is_first = False
            yield live.state()
    finally:
        live.close()


def _in_turn(line: str, live: LiveCluster) -> list[Change]:
    """Return the changes of a line: running pods are deleted one after the other."""
    running = {pod.pod.name for pods in live.snapshot.pods for pod in pods}
    if line.startswith("delete pods "):
        names, _, namespace = line.removeprefix("delete pods ").partition(" -n ")
        if not running.isdisjoint(names.split()):
            return [parse_change(f"delete pods {each} -n {namespace}") for each in names.split()]
    return [parse_change(line)]


def _by_arrival(before: ClusterState, after: ClusterState) -> tuple[list[Pod], ...]:
    """Return the pods after a change: those that come for pods that have left their nodes, first in
    the queue; those of DaemonSets for new nodes; the others."""
    nodes = {pod.key: pod.node_name for pod in before.pods}
    is_larger = len(after.nodes) > len(before.nodes)
    successors, agents, others = list[Pod](), list[Pod](), list[Pod]()
    for pod in after.pods:
        if nodes.get(pod.key) and not pod.node_name:
            metadata = structs.replace(pod.metadata, creation_timestamp=_EARLIEST)
            successors.append(structs.replace(pod, metadata=metadata))
        elif is_larger and pod.owner[0] == "DaemonSet" and pod.key not in nodes:
            agents.append(pod)
        else:
            others.append(pod)
    return successors, agents, others


def _schedule(live: LiveCluster, preempts: bool) -> set[str]:
    """Run the scheduler until it evicts nobody any more. Victims are made anew. Return the names of
    those that come again under others."""
    renamed = set[str]()
    for _ in range(_MOST_RUNS):
        running = {pod.key: pod.pod for pods in live.snapshot.pods for pod in pods}
        running |= live.waiting
        newest = newest_timestamp(tuple(running.values()))
        live.run(preempts=preempts)
        victims = dict.fromkeys(each.pod for each in live.engine.scheduler.evicted)
        again = [running[key] for key in victims if running[key].metadata.controller is not None]
        if not again:
            break
        live.arrive([recreated(pod, newest) for pod in again])
        renamed.update(pod.name for pod in again if pod.owner[0] != "StatefulSet")
    return renamed
