"""Obstacles of pods that find no node in a run, and changes that might help them.

The pods of a group are looked at in every topology domain that the group is tried in. Where it fits
in none, the domain in which most of its pods find a node is the one that the answer is about.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.analysis.diagnosis import diagnose
from ksched_cli.analysis.proposals import (
    Candidate,
    ConflictingReason,
    candidates,
    conflict,
    for_rejected_pod,
)
from ksched_cli.analysis.remedy_changes import Subject
from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.evaluation import Evaluation, Mode
from ksched_cli.engine.queue import HELD_WITH_GROUP
from ksched_cli.engine.records import RunRecord
from ksched_cli.engine.simulation import Simulation
from ksched_cli.framework.pod_groups import group_key

# As many domains in which equally many pods of a group find a node are looked at.
MAX_DOMAINS = 8


class Look(Struct, frozen=True):
    """A pod that finds no node, what is in its way, and what might help.

    subjects: what is changed so that the pod changes
    group, domain: of the pod, see Remedies
    """

    pod: PodInfo
    cause: str
    candidates: tuple[Candidate, ...]
    conflict: tuple[ConflictingReason, ...]
    subjects: tuple[Subject, ...]
    group: str = ""
    domain: str = ""


@dataclass(slots=True)
class Looks:
    """The looks of one run.

    pods:        those asked about
    subjects_of: what is changed so that a pod changes
    """

    simulation: Simulation
    pods: frozenset[str]
    subjects_of: Callable[[Pod], tuple[Subject, ...]]
    # By domain, then by pod.
    _looks: dict[str, dict[str, Look]] = field(default_factory=dict)
    _fitting: dict[str, set[str]] = field(default_factory=dict)

    def look(self, pod: PodInfo) -> None:
        """Before an attempt of one of the pods, with the cluster as it is then."""
        evaluation = self.simulation.evaluate(pod, Mode.REASONS)
        domain = self._domain(pod)
        looks = self._looks.setdefault(domain, {})
        fitting = self._fitting.setdefault(domain, set())
        fitting.discard(pod.key)
        # The first attempt finds the most room, a later one what others have left since.
        earlier = looks.pop(pod.key, None)
        if len(evaluation.feasible):
            fitting.add(pod.key)
        elif not evaluation.error and self._is_near(domain):
            looks[pod.key] = self._look(pod, evaluation, earlier, domain)

    def _look(
        self, pod: PodInfo, evaluation: Evaluation, earlier: Look | None, domain: str
    ) -> Look:
        diagnosis = diagnose(evaluation, self.simulation.state)
        subjects = self.subjects_of(pod.pod)
        before = earlier.candidates if earlier is not None else ()
        proposed = candidates(self.simulation, pod, evaluation, len(self.pods))
        return Look(
            pod,
            diagnosis.cause if diagnosis else evaluation.fit_error(),
            (*before, *(each.about(subjects) for each in proposed)),
            conflict(evaluation),
            subjects,
            self._group(pod),
            domain,
        )

    def _is_near(self, domain: str) -> bool:
        """Whether no fewer pods find a node there than in the domains looked at before."""
        counts = [len(self._fitting[each]) for each, looks in self._looks.items() if looks]
        own, most = len(self._fitting[domain]), max(counts, default=0)
        return own > most or (own == most and counts.count(most) < MAX_DOMAINS)

    def _group(self, pod: PodInfo) -> str:
        key = group_key(pod.pod) if self.simulation.pod_groups is not None else None
        return "/".join(key) if key is not None else ""

    def _domain(self, pod: PodInfo) -> str:
        """Return KEY=VALUE of the domain that the pod's group is being tried in; "" where it may
        use any node."""
        groups, rows = self.simulation.pod_groups, self.simulation.pipeline.placement
        group = groups.get(pod) if groups is not None else None
        if rows is None or group is None or not len(rows):
            return ""
        node = self.simulation.snapshot.nodes[rows[0]]
        return f"{group.topology_key}={node.metadata.labels.get(group.topology_key, '')}"

    def conclude(self, record: RunRecord) -> Look | None:
        """Return the look at the first pod that waits after the run, with what might help in any of
        the domains; None where no pod waits, or nothing is known of it."""
        gated = [key for key in record.gated if key in self.pods]
        if gated:
            return self._at_gate(gated, record)
        waiting = [key for key in record.pending if key in self.pods]
        firsts = [
            next(looks[key] for key in waiting if key in looks)
            for looks in self._looks.values()
            if not looks.keys().isdisjoint(waiting)
        ]
        if not firsts:
            return None
        nearest = max(firsts, key=lambda look: len(self._fitting[look.domain]))
        proposed = (candidate for look in firsts for candidate in look.candidates)
        return replace(nearest, candidates=tuple(proposed))

    def _at_gate(self, gated: list[str], record: RunRecord) -> Look:
        """Look at the first pod that a plugin holds back, rather than at one held back with it."""
        with_group = HELD_WITH_GROUP.split("{}")[1]
        own = [key for key in gated if with_group not in record.gated[key].message]
        key = (own or gated)[0]
        status = record.gated[key]
        pod = next(pod for pod in self.simulation.pending() if pod.key == key)
        subjects = self.subjects_of(pod.pod)
        reason = ConflictingReason(status.plugin, status.message, len(self.simulation.snapshot))
        framework = self.simulation.frameworks[pod.spec.scheduler_name]
        proposed = for_rejected_pod(framework, self.simulation.snapshot, pod, status)
        return Look(
            pod,
            f"it is {status.message}",
            tuple(each.about(subjects) for each in proposed),
            (reason,),
            subjects,
            self._group(pod),
        )
