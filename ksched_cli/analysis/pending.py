"""Why the pods that a run leaves pending stay pending, those of one owner and message together.

The reasons are those of the cluster at the end of the run, for one pod of each group: pods that
look the same are evaluated once.
"""

from __future__ import annotations

from dataclasses import dataclass

from ksched_cli.analysis.reasons import Reason, reasons
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.evaluation import Mode
from ksched_cli.engine.simulation import Simulation
from ksched_cli.framework.device_classes import may_allocate_devices

HASH_LABEL = "pod-template-hash"
# The kind of owner of a pod without a controller.
POD = "Pod"


@dataclass(frozen=True, slots=True)
class PendingGroup:
    """Pods of one owner that stay pending with the same message.

    owner:     Kind/name of the controller, of a Deployment where its ReplicaSet is; Pod/name of a
               pod that has none
    pods:      their keys, in queue order
    reasons:   of the first of them; empty where nodes fit, or the attempt broke
    undecided: a plugin's defect ended the last attempt of one of them
    """

    owner: str
    namespace: str
    pods: tuple[str, ...]
    message: str
    reasons: tuple[Reason, ...] = ()
    undecided: bool = False


@dataclass(frozen=True, slots=True)
class PendingReport:
    """groups: those of the most pods first. nodes: how many the cluster has; gated, ignored: how
    many pods no attempt was made for, see RunRecord."""

    groups: tuple[PendingGroup, ...]
    nodes: int
    gated: int = 0
    ignored: int = 0

    @property
    def pending(self) -> int:
        """How many pods stay pending."""
        return sum(len(group.pods) for group in self.groups)


def pending_report(simulation: Simulation) -> PendingReport:
    """Runs the simulation, which must not have run before."""
    pods = {pod.key: pod for pod in simulation.pending()}
    run = simulation.run()
    groups: dict[tuple[str, str, str], list[PodInfo]] = {}
    for key in run.pending:
        pod = pods[key]
        groups.setdefault((pod.namespace, owner(pod), run.last[key].why_not), []).append(pod)
    by_look: dict[object, tuple[Reason, ...]] = {}
    report = []
    for (namespace, name, message), members in groups.items():
        first = members[0]
        # Pods of one look may have claims of their own.
        handle = simulation.frameworks[first.spec.scheduler_name].handle
        look = first.key if may_allocate_devices(first, handle) else first.signature
        if look not in by_look:
            by_look[look] = _reasons(simulation, first)
        keys = tuple(pod.key for pod in members)
        undecided = any(key in simulation.failed for key in keys)
        report.append(PendingGroup(name, namespace, keys, message, by_look[look], undecided))
    report.sort(key=lambda group: -len(group.pods))
    return PendingReport(tuple(report), len(simulation.snapshot), len(run.gated), len(run.ignored))


def owner(pod: PodInfo) -> str:
    """Kind/name of what manages the pod."""
    controller = pod.pod.metadata.controller
    if controller is None:
        return f"{POD}/{pod.name}"
    template_hash = pod.pod.metadata.labels.get(HASH_LABEL)
    if controller.kind == "ReplicaSet" and template_hash:
        deployment = controller.name.removesuffix(f"-{template_hash}")
        if deployment != controller.name:
            return f"Deployment/{deployment}"
    return f"{controller.kind}/{controller.name}"


def _reasons(simulation: Simulation, pod: PodInfo) -> tuple[Reason, ...]:
    framework = simulation.frameworks[pod.spec.scheduler_name]
    evaluation = simulation.pipeline.evaluate(framework, pod, Mode.REASONS)
    return () if evaluation.error else reasons(evaluation)
