"""A cluster as a scheduler leaves it that decided as a run did."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import structs

from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.objects.pod import PodCondition, PodStatus
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.records import Attempt, RunRecord
from ksched_cli.testing import simulation

START = datetime(2026, 1, 1, tzinfo=UTC)


def moment(number: int) -> str:
    """The time of a decision, a millisecond after the one before."""
    return (START + timedelta(milliseconds=number)).isoformat(timespec="microseconds")


def event(reason: str, pod: Pod, note: str, number: int) -> dict[str, Any]:
    """As kube-scheduler writes it, and kubectl shows it."""
    subject = {"kind": "Pod", "namespace": pod.namespace, "name": pod.name, "uid": pod.uid}
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "reason": reason,
        "involvedObject": subject,
        "message": note,
        "eventTime": moment(number),
    }


def scheduled(pod: Pod, node: str, number: int) -> dict[str, Any]:
    return event("Scheduled", pod, f"Successfully assigned {pod.key} to {node}", number)


def preempted(victim: Pod, preemptor: Pod, node: str, number: int) -> dict[str, Any]:
    return event("Preempted", victim, f"Preempted by pod {preemptor.uid} on node {node}", number)


def bound(pod: Pod, node: str, version: int) -> Pod:
    """After its binding, and nothing since."""
    condition = PodCondition("PodScheduled", "True")
    return structs.replace(
        pod,
        node_name=node,
        status=PodStatus(conditions=(condition,)),
        metadata=structs.replace(pod.metadata, resource_version=str(version)),
    )


def aftermath(
    before: ClusterState, config: dict[str, Any] | None = None, *, events: bool = True
) -> ClusterState:
    """The state after a run of it. events: with those that the scheduler writes."""
    run = simulation(before, config)
    return after_run(before, run.run(), events=events)


def after_run(before: ClusterState, record: RunRecord, *, events: bool = True) -> ClusterState:
    pods = {pod.key: pod for pod in before.pods}
    written: list[dict[str, Any]] = []
    remaining = dict(pods)
    for number, attempt in enumerate(record.attempts):
        pod = pods[attempt.pod]
        if attempt.node:
            remaining[pod.key] = bound(pod, attempt.node, 1000 + number)
            written.append(scheduled(pod, attempt.node, number))
            continue
        for victim in _evictions(attempt):
            assert attempt.post_filter is not None
            written.append(preempted(pods[victim], pod, attempt.post_filter.node, number))
            remaining.pop(victim, None)
        written.append(event("FailedScheduling", pod, attempt.why_not, number))
        condition = PodCondition("PodScheduled", "False", "Unschedulable", attempt.why_not)
        status = structs.replace(pod.status, conditions=(condition,))
        remaining[pod.key] = structs.replace(pod, status=status)
    others: dict[str, tuple[Any, ...]] = {"Event": tuple(written)} if events else {}
    return replace(before, pods=tuple(remaining.values()), others=others)


def _evictions(attempt: Attempt) -> tuple[str, ...]:
    return attempt.post_filter.victims if attempt.post_filter is not None else ()
