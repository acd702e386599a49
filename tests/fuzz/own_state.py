"""A cluster with what no case has: events, workloads of every kind with pods, pods that ended."""

from __future__ import annotations

import json
from typing import Any


def own_state() -> list[Any]:
    """What no case has: events, workloads of every kind, pods that ended, what `snapshot` adds."""
    template: dict[str, Any] = {
        "metadata": {"labels": {"app": "w"}, "annotations": {"a": "b"}},
        "spec": {
            "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}],
            "tolerations": [{"key": "a", "operator": "Exists", "tolerationSeconds": 3}],
            "volumes": [{"name": "v", "emptyDir": {}}],
        },
    }
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "w"}}, "template": template}
    applied = {"kind": "Deployment", "metadata": {"name": "web"}, "spec": {**spec, "replicas": 3}}
    last = {"kubectl.kubernetes.io/last-applied-configuration": json.dumps(applied)}
    claims = [{"metadata": {"name": "data"}, "spec": {"storageClassName": "s"}}]

    def workload(kind: str, name: str, version: str = "apps/v1", **fields: Any) -> Any:
        metadata: dict[str, Any] = {"name": name, "namespace": "default", "uid": f"u-{name}"}
        metadata["annotations"] = last if name == "web" else {}
        own = {"apiVersion": version, "kind": kind, "metadata": metadata}
        return {**own, "spec": {**spec, **fields}, "status": {"succeeded": 0, "conditions": []}}

    def owned(name: str, kind: str, owner: str, node: str = "n0") -> Any:
        reference = {"apiVersion": "apps/v1", "kind": kind, "name": owner, "uid": f"u-{owner}"}
        status = {
            "phase": "Running",
            "startTime": "2026-01-01T00:00:05Z",
            "conditions": [
                {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:09Z"},
                {"type": "PodScheduled", "status": "True",
                 "lastTransitionTime": "2026-01-01T00:00:04Z"},
            ],
            "containerStatuses": [{"name": "c", "restartCount": 1, "state": {"terminated": {
                "finishedAt": "2026-01-01T00:01:00Z"}}}],
        }  # fmt: skip
        metadata = {
            "name": name, "namespace": "default", "uid": f"u-{name}", "labels": {"app": "w"},
            "creationTimestamp": "2026-01-01T00:00:00Z", "resourceVersion": "7",
            "annotations": {"controller.kubernetes.io/pod-deletion-cost": "5"},
            "ownerReferences": [{**reference, "controller": True}],
        }  # fmt: skip
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "status": status}
        return {**pod, "spec": {**template["spec"], "nodeName": node}}

    conditions = [{"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-01T00:10:00Z"}]
    allocatable = {"cpu": "4", "memory": "8Gi", "pods": "20"}
    nodes = [
        {
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"a": "b"}},
            "spec": {"taints": [], "unschedulable": False},
            "status": {"allocatable": allocatable, "conditions": conditions},
        }
        for name in ("n0", "n1")
    ]  # fmt: skip
    ended = owned("done", "Job", "job")
    ended["status"]["phase"] = "Succeeded"
    job = {"completions": 3, "parallelism": 2, "template": template}
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
              "metadata": {"name": "b", "namespace": "default"},
              "spec": {"selector": {"matchLabels": {"app": "w"}}, "minAvailable": 1},
              "status": {"disruptionsAllowed": 1, "currentHealthy": 2}}  # fmt: skip
    subject = {"kind": "Pod", "namespace": "default", "name": "web-1", "uid": "u-web-1"}
    events = [
        {
            "apiVersion": version, "kind": "Event", "metadata": {"name": "e",
            "namespace": "default"},
            key: subject, "reason": "Scheduled", note: "Successfully assigned default/web-1 to n0",
            "series": {"lastObservedTime": "2026-01-01T00:00:04.5Z"},
            "eventTime": "2026-01-01T00:00:04.5Z", "lastTimestamp": None,
        }
        for version, key, note in (
            ("v1", "involvedObject", "message"), ("events.k8s.io/v1", "regarding", "note"))
    ]  # fmt: skip
    return [
        *nodes,
        workload("Deployment", "web"),
        {**workload("ReplicaSet", "web-1"), "metadata": owned("web-1", "Deployment",
        "web")["metadata"]},
        workload("StatefulSet", "db", volumeClaimTemplates=claims, ordinals={"start": 1}),
        workload("DaemonSet", "agent"),
        workload("ReplicationController", "rc", "v1", selector={"app": "w"}),
        workload("Job", "job", "batch/v1", **job, suspend=False),
        workload("CronJob", "cron", "batch/v1", suspend=False,
                 jobTemplate={"metadata": {"labels": {"a": "b"}}, "spec": job}),
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
        "metadata": {"name": "high"},
         "value": 100, "preemptionPolicy": "Never"},
        budget, owned("web-1", "ReplicaSet", "web-1"), owned("db-1", "StatefulSet", "db", "n1"),
        owned("agent-1", "DaemonSet", "agent"), ended, *events,
    ]  # fmt: skip


def listed_state() -> list[Any]:
    snapshot = {"server": "", "serverVersion": "v1.34.1", "taken": "2026-01-31T12:00:00Z",
                "lists": [{"kind": "Node", "apiVersion": "v1", "namespace": "", "objects": 1,
                           "resourceVersion": "5"}], "warnings": ["w"]}  # fmt: skip
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n0"}}
    nodes = {"apiVersion": "v1", "kind": "NodeList", "items": [{"metadata": {"name": "n1"}}]}
    return [{"apiVersion": "v1", "kind": "List", "items": [node, nodes], "snapshot": snapshot}]
