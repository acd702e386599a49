"""A cluster as a scheduler leaves it that decided as a run did."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import structs

from ksched_cli.analysis.audit.decision_log import SchedulerEvent, scheduler_events, seconds
from ksched_cli.analysis.audit.decisions import LogEvent, LogLine
from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.objects.pod import PodCondition, PodStatus
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.records import Attempt, RunRecord
from ksched_cli.kube.int64 import parse_int64
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


def aftermath(before: ClusterState, config: dict[str, Any] | None = None) -> ClusterState:
    """The state after a run of it, with the events that the scheduler writes."""
    run = simulation(before, config)
    return after_run(before, run.run())


def after_run(before: ClusterState, record: RunRecord) -> ClusterState:
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
    return replace(before, pods=tuple(remaining.values()), others={"Event": tuple(written)})


def log_of(after: ClusterState) -> list[LogLine]:
    """The scheduler's log of what led to this state: by its events, and by the resource versions
    of pods that none of them tells of."""
    events = scheduler_events(after)
    names = {pod.uid: pod.key for pod in after.pods}
    turns: list[tuple[float, int, list[LogLine]]] = []
    for uid, each in events.bindings.items():
        names[uid] = each.pod
        attempt = [
            LogLine(LogEvent.ATTEMPT, each.pod),
            LogLine(LogEvent.BINDING, each.pod, each.node),
        ]
        turns.append((each.time, 2, attempt))
    # UID of a pod and a time → its refusal then.
    refusals: dict[tuple[str, float], list[LogLine]] = {}
    for written in after.others.get("Event", ()):
        if written["reason"] == "FailedScheduling":
            about = written["involvedObject"]
            key = names[about["uid"]] = f"{about['namespace']}/{about['name']}"
            refusal = LogLine(LogEvent.REFUSAL, key, message=written["message"])
            refusals[about["uid"], seconds(written["eventTime"])] = [refusal]
    rooms: dict[tuple[str, str], list[SchedulerEvent]] = {}
    for each in events.evictions.values():
        rooms.setdefault((each.preemptor, each.node), []).append(each)
    for (uid, node), evictions in rooms.items():
        time, victims = min(each.time for each in evictions), [each.pod for each in evictions]
        key = names.get(uid, uid)
        turn = [
            LogLine(LogEvent.ATTEMPT, key),
            LogLine(LogEvent.PREEMPTION, key, node),
            *refusals.pop((uid, time), ()),
            LogLine(LogEvent.EVICTION, key, node, victim_count=len(victims)),
            *(LogLine(LogEvent.VICTIM, victim, node, key) for victim in victims),
            *(LogLine(LogEvent.DEPARTURE, victim) for victim in victims),
        ]
        turns.append((time, 1, turn))
    for (_, time), (refusal,) in refusals.items():
        turns.append((time, 1, [LogLine(LogEvent.ATTEMPT, refusal.pod), refusal]))
    for pod in after.pods:
        if pod.node_name and pod.uid not in events.bindings:
            version = parse_int64(pod.metadata.resource_version) or 0
            turns.append(
                (seconds(moment(0)) + version / 1000, 2, [LogLine(LogEvent.ATTEMPT, pod.key)])
            )
    return [line for *_, turn in sorted(turns, key=lambda each: each[:2]) for line in turn]


def _evictions(attempt: Attempt) -> tuple[str, ...]:
    return attempt.post_filter.victims if attempt.post_filter is not None else ()
