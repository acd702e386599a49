"""What becomes of the pods that preemption evicts: their controllers create them again, and a
second run places them, or they wait."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from msgspec import structs

from ksched_cli.analysis.diagnosis import diagnose
from ksched_cli.answers import HIDDEN, Part
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.evaluation import Mode
from ksched_cli.engine.simulation import Simulation
from ksched_cli.scenario.pods import is_of_daemon_set, is_static, pending_again, without_pods
from ksched_cli.scenario.workloads import target_node


class RecreatedPod(Part, frozen=True):
    """An evicted pod after its eviction.

    recreated: whether its controller creates it again
    node: where it goes then; empty where it waits
    only_node: the node that its DaemonSet creates it for; empty for other pods
    evicted: the pods that it evicts in turn
    message: why it waits, as kube-scheduler says it; cause: in a sentence
    """

    pod: str
    recreated: bool
    node: str = ""
    only_node: str = ""
    evicted: tuple[str, ...] = ()
    message: str = ""
    cause: Annotated[str, HIDDEN] = ""


def recreated_pods(simulation: Simulation, only: PodInfo | None = None) -> tuple[RecreatedPod, ...]:
    """Return what becomes of the pods that a run has evicted, in the order of their evictions: the
    cluster is as the run leaves it, and they are the last in the queue. None are returned where a
    second run would call extenders that bind, or that are recorded.

    simulation: has run; only: the one pending pod that it tried, or None for all
    """
    extenders, evictions = simulation.options.extenders, simulation.scheduler.evicted
    if not evictions or extenders.bind or extenders.record or extenders.replay:
        return ()
    # 1. The pods on nodes, and those that wait; the victims once more where they were.
    current = simulation.current_state()
    if only is not None:
        running = tuple(pod for pod in current.pods if pod.node_name or pod.uid == only.uid)
        current = replace(current, pods=running)
    pods = {pod.key: pod for pod in (*simulation.state.pods, *simulation.newcomers)}
    victims = [structs.replace(pods[each.pod], node_name=each.node) for each in evictions]
    # 2. They leave; controllers create theirs again.
    anew = [pod for pod in victims if pod.metadata.controller and not is_static(pod)]
    keys = {pod.key for pod in anew}
    gone = [pod for pod in victims if pod.key not in keys]
    before = replace(current, pods=(*current.pods, *victims))
    options = replace(simulation.options, on_progress=None, detailed=False)
    after = simulation.renewed(pending_again(without_pods(before, gone), anew), options=options)
    # 3. The scheduler tries them.
    run = after.run() if anew else None
    recreated = []
    causes: dict[object, str] = {}
    for pod in victims:
        if run is None or pod.key not in keys:
            recreated.append(RecreatedPod(pod.key, recreated=False))
            continue
        attempt, gated = run.last.get(pod.key), run.gated.get(pod.key)
        message = gated.message if gated is not None else attempt.why_not if attempt else ""
        node = run.placements.get(pod.key, "")
        info = after.catalog.info(pod).unplaced()
        if attempt and not node and info.signature not in causes:
            evaluation = after.evaluate(info, Mode.REASONS)
            diagnosis = diagnose(evaluation, after.state, only_cause=True)
            causes[info.signature] = diagnosis.cause if diagnosis else ""
        recreated.append(
            RecreatedPod(
                pod.key,
                recreated=True,
                node=node,
                only_node=target_node(pod) if is_of_daemon_set(pod) else "",
                evicted=tuple(each.pod for each in run.evicted if each.preemptor == pod.key),
                message="" if node else message,
                cause="" if node else causes.get(info.signature, ""),
            )
        )
    return tuple(recreated)
