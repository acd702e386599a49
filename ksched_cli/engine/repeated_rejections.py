"""Attempts that found no node, for pods that look the same while nothing has changed.

Upstream leaves such a pod in the queue until an event concerns it (queueing hints); here it is
tried, and its attempt is recorded, but nothing is computed twice.
"""

from __future__ import annotations

from msgspec import Struct, structs

from ksched_cli.cluster.pod_info import PodInfo, has_volume_claims
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.engine.binding_cycle import Outcome
from ksched_cli.engine.evaluation import Evaluation
from ksched_cli.framework.device_classes import may_allocate_devices
from ksched_cli.framework.nominator import Nominator


class RepeatableRejection(Struct, frozen=True):
    """An outcome without a node, and what it depends on.

    log_length:  of the snapshot, which grows with every pod that comes or goes
    nominations: Nominator.version
    visited:     by how many nodes the search's start moves on
    """

    outcome: Outcome
    log_length: int
    nominations: int
    visited: int


class RepeatedRejections:
    """By pod signature, the last attempt that found no node."""

    def __init__(self, snapshot: Snapshot, nominator: Nominator) -> None:
        self._snapshot = snapshot
        self._nominator = nominator
        self._by_signature: dict[int, RepeatableRejection] = {}

    def find(self, pod: PodInfo) -> RepeatableRejection | None:
        """The attempt that `pod` would make now, where one like it has just been made."""
        rejection = self.find_alike(pod)
        if rejection is None:
            return None
        attempt = structs.replace(rejection.outcome.attempt, pod=pod.key)
        return structs.replace(
            rejection, outcome=structs.replace(rejection.outcome, attempt=attempt)
        )

    def find_alike(self, pod: PodInfo) -> RepeatableRejection | None:
        """The same, of the pod that was tried."""
        rejection = self._by_signature.get(pod.signature)
        if (
            rejection is None
            or rejection.log_length != len(self._snapshot.log)
            or rejection.nominations != self._nominator.version
            or self._nominator.node_of(pod)
        ):
            return None
        return rejection

    def store(self, evaluation: Evaluation, outcome: Outcome) -> None:
        """Where the outcome depends on nothing but what `find` compares.

        Claims of volumes and devices change without a pod that comes or goes, and are named after
        their pod.
        """
        pod, spec = evaluation.pod, evaluation.pod.spec
        post_filter = outcome.attempt.post_filter
        if (
            evaluation.framework.answer_cache.entry_for(pod) is not None
            and evaluation.framework.rejects_in_tree
            and not has_volume_claims(spec)
            and not may_allocate_devices(pod, evaluation.framework.handle)
            and not (outcome.preemption or outcome.nomination or outcome.afterwards)
            and (post_filter is None or post_filter.status.is_rejected)
            and not self._nominator.node_of(pod)
        ):
            self._by_signature[pod.signature] = RepeatableRejection(
                outcome, len(self._snapshot.log), self._nominator.version, evaluation.visited
            )
