"""The causes that keep pods pending after a run, those of one owner and cause together.

The reasons are those of the cluster at the end of the run, for one pod of each group: pods that
look the same are evaluated once.
"""

from __future__ import annotations

from collections.abc import Container
from typing import ClassVar, Literal

from msgspec.structs import replace

from ksched_cli.analysis.diagnosis import Diagnosis, diagnose
from ksched_cli.analysis.reasons import Reason, reasons
from ksched_cli.answers import Count, Part, StateAnswer
from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.evaluation import Mode
from ksched_cli.engine.records import RunRecord
from ksched_cli.engine.simulation import Simulation
from ksched_cli.framework.device_classes import may_allocate_devices
from ksched_cli.scenario.owned_pods import deployment_of

# The kind of owner of a pod without a controller.
POD = "Pod"


class PendingGroup(Part, frozen=True):
    """Pods of one owner that stay pending for the same cause.

    owner: Kind/name of the controller, of a Deployment where its ReplicaSet is; Pod/name of a pod
           that has none
    pods: in queue order
    message: of the first of them, from kube-scheduler
    undecided: a plugin's failure ended an attempt of one of them
    diagnosis: why they fit nowhere and what to do about it; null where nodes fit
    reasons: of the first of them, that of the node nearest to fitting first; empty where nodes fit,
             or the attempt broke
    """

    owner: str
    namespace: str
    pods: tuple[str, ...]
    message: str
    undecided: bool = False
    diagnosis: Diagnosis | None = None
    reasons: tuple[Reason, ...] = ()


class PendingSummary(Part, frozen=True):
    """Counts of pods, and of the cluster's nodes.

    gated, ignored: no attempt was made for them
    """

    pending: Count
    gated: Count
    ignored: Count
    nodes: Count


class PendingReport(StateAnswer, frozen=True, kw_only=True):
    """Why pods stay pending.

    groups: pods of one owner that stay pending for the same cause; those of the most pods first
    """

    COMMAND: ClassVar = "explain --pending"
    ROWS: ClassVar = "groups"

    kind: Literal["PendingReport"] = "PendingReport"
    groups: tuple[PendingGroup, ...]
    summary: PendingSummary


def pending_report(simulation: Simulation, chosen: Container[str] | None = None) -> PendingReport:
    """Runs the simulation, which must not have run before. chosen: the pods to report; None: all"""
    run = simulation.run().about(chosen)
    summary = PendingSummary(
        len(run.pending), len(run.gated), len(run.ignored), len(simulation.snapshot)
    )
    return PendingReport(groups=pending_groups(simulation, run), summary=summary)


def pending_groups(simulation: Simulation, run: RunRecord) -> tuple[PendingGroup, ...]:
    """Return the pods that the run has left pending: those of one owner that wait for one cause, or
    with one message if that is unknown. run: of the simulation; groups of the most pods first"""
    pods = {pod.key: pod for pod in simulation.pending()}
    by_message: dict[tuple[str, str, str], list[PodInfo]] = {}
    for key in run.pending:
        pod = pods[key]
        group_key = (pod.namespace, owner_of(pod.pod), run.last[key].why_not)
        by_message.setdefault(group_key, []).append(pod)
    by_look: dict[object, tuple[tuple[Reason, ...], Diagnosis | None]] = {}
    groups: dict[tuple[str, str, str], PendingGroup] = {}
    for (namespace, name, message), members in by_message.items():
        first = members[0]
        # Pods of one look may have claims of their own.
        handle = simulation.frameworks[first.spec.scheduler_name].handle
        look = first.key if may_allocate_devices(first, handle) else first.signature
        if look not in by_look:
            by_look[look] = _look(simulation, first)
        why, diagnosis = by_look[look]
        keys = tuple(pod.key for pod in members)
        undecided = any(key in simulation.scheduler.failed for key in keys)
        if undecided:
            diagnosis = None
        group = PendingGroup(name, namespace, keys, message, undecided, diagnosis, why)
        cause = (namespace, name, diagnosis.family if diagnosis else message)
        same = groups.get(cause)
        groups[cause] = group if same is None else replace(same, pods=same.pods + keys)
    return tuple(sorted(groups.values(), key=lambda group: -len(group.pods)))


def owner_of(pod: Pod) -> str:
    """Return Kind/name of what manages the pod."""
    controller = pod.metadata.controller
    if controller is None:
        return f"{POD}/{pod.name}"
    deployment = deployment_of(pod)
    return f"Deployment/{deployment}" if deployment else f"{controller.kind}/{controller.name}"


def owner_path(pod: Pod) -> str:
    """Return namespace/Kind/name of what manages the pod."""
    return f"{pod.namespace}/{owner_of(pod)}"


def _look(simulation: Simulation, pod: PodInfo) -> tuple[tuple[Reason, ...], Diagnosis | None]:
    """Return how an attempt to place the pod now would end."""
    evaluation = simulation.evaluate(pod, Mode.REASONS)
    return (
        () if evaluation.error else reasons(evaluation),
        diagnose(evaluation, simulation.state),
    )
