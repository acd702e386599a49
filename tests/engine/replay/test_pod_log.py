"""Records of pods, and what is counted of them."""

from __future__ import annotations

from ksched_cli.cluster.objects import ObjectMeta, OwnerReference, Pod
from ksched_cli.cluster.pod_info import PodCatalog, PodInfo
from ksched_cli.engine.replay.records import PodLog, PodOutcome, owner_of


def info(name: str) -> PodInfo:
    owner = OwnerReference("apps/v1", "ReplicaSet", "web", "u", True)
    return PodCatalog().info(Pod(ObjectMeta(name, "default", name, owner_references=(owner,))))


def test_a_pod_that_leaves_is_let_go_with_its_times() -> None:
    log = PodLog(departed=[])
    pod = info("a")
    log.arrive(pod, 1)
    record = log.try_pod(pod, 2)
    log.try_pod(pod, 3)
    log.place(record, "n", 3)
    log.leave(record, PodOutcome.ENDED, 9)
    assert log.departed == log.records == [record]
    assert not log.live
    assert (record.queued, record.first_tried, record.placed, record.ended) == (1, 2, 3, 9)
    assert (record.attempts, record.outcome) == (2, PodOutcome.ENDED)
    assert (log.counts.attempts, log.counts.placed, log.counts.ended) == (2, 1, 1)
    assert log.waits.owner["default/ReplicaSet/web"].tolist() == [2]
    assert log.completions.tolist() == [8]


def test_a_pod_without_a_controller_is_its_own_owner() -> None:
    assert owner_of(PodCatalog().info(Pod(ObjectMeta("a", "b")))) == "b/a"
