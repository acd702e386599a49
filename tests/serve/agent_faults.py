"""Twenty faults of a cluster, what an agent is asked about each, and the first call that it makes.

python -m tests.serve.agent_faults asks over the protocol, and prints tokens and what was right.
With --write FOLDER, it writes each state and the questions.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ksched_cli.testing import node, pod
from tests import volumes

Objects = list[dict[str, Any]]
ZONE = "topology.kubernetes.io/zone"
READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
DEFAULT = {"metadata": {"name": "default"}, "kind": "Namespace", "apiVersion": "v1"}


@dataclass(frozen=True, slots=True)
class Trouble:
    """A fault of a cluster, and what an agent is asked.

    objects: besides those of `cluster`; tool, arguments: of the first call
    says: parts of the answer without which it is not right
    """

    name: str
    question: str
    objects: Objects
    says: Sequence[str]
    tool: str = "diagnose"
    arguments: dict[str, Any] = field(default_factory=dict)

    @property
    def state(self) -> str:
        return json.dumps([*cluster(), *self.objects])


def cluster() -> Objects:
    """Six nodes in three zones, each with a pod of a Deployment and one of a DaemonSet."""
    nodes = []
    for number in range(6):
        name = f"pool-a-{number}"
        labels = {ZONE: f"zone-{'abc'[number % 3]}", "kubernetes.io/hostname": name, "disk": "hdd"}
        nodes.append(node(name, cpu=8, memory="32Gi", labels=labels))
        nodes.append(owned(f"web-{number}", "web", node=name, cpu=2, status=READY))
        nodes.append(owned(f"agent-{number}", "DaemonSet/agent", node=name, cpu="100m"))
    return [*nodes, DEFAULT]


def owned(name: str, owner: str, **fields: Any) -> dict[str, Any]:
    """owner: of a ReplicaSet, or Kind/name"""
    kind, _, own = owner.rpartition("/")
    reference = {"apiVersion": "apps/v1", "kind": kind or "ReplicaSet", "name": own}
    metadata = {"ownerReferences": [{**reference, "controller": True}]}
    return pod(name, metadata=metadata, **{"labels": {"app": own}, **fields})


def waiting(name: str = "api", count: int = 1, **fields: Any) -> Objects:
    return [owned(f"{name}-{number}", name, **{"cpu": 1, **fields}) for number in range(count)]


def budget(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, **spec},
        "status": {
            "disruptionsAllowed": 0,
            "currentHealthy": 6,
            "desiredHealthy": 6,
            "expectedPods": 6,
        },
    }


def deployment(name: str, replicas: int, cpu: str) -> dict[str, Any]:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [container]},
            },
        },
    }


def quota_failure() -> dict[str, Any]:
    condition = {
        "type": "ReplicaFailure",
        "status": "True",
        "reason": "FailedCreate",
        "message": 'pods "api-x" is forbidden: exceeded quota: team',
    }
    replica_set = {**deployment("api", 3, "1"), "kind": "ReplicaSet"}
    replica_set["metadata"] = {"name": "api", "namespace": "default"}
    return {**replica_set, "status": {"replicas": 0, "conditions": [condition]}}


SPREAD = {
    "maxSkew": 1,
    "topologyKey": ZONE,
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"app": "api"}},
}
APART = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {
                "topologyKey": "kubernetes.io/hostname",
                "labelSelector": {"matchLabels": {"app": "api"}},
            }
        ]
    }
}
FULL = [owned(f"batch-{n}", "Job/batch", node=f"pool-a-{n}", cpu="5500m") for n in range(6)]
TROUBLES = [
    Trouble("too large", "Why does api not run?", waiting(cpu=12), ["requests cpu 12", "fix {"]),
    Trouble(
        "untolerated taint",
        "Why does api not run?",
        [
            node(
                "gpu-0",
                cpu=8,
                labels={"gpu": "a"},
                taints=[TAINT := {"key": "gpu", "value": "a", "effect": "NoSchedule"}],
            ),
            *waiting(spec={"nodeSelector": {"gpu": "a"}}),
        ],
        ["would take it but for the taint gpu=a:NoSchedule", "tolerate gpu=a:NoSchedule"],
    ),
    Trouble(
        "misspelt label value",
        "Why does api not run?",
        waiting(spec={"nodeSelector": {"disk": "hd"}}),
        ["no node has the label disk=hd", "6 nodes have disk=hdd"],
    ),
    Trouble(
        "label that no node has",
        "Why does api not run?",
        waiting(spec={"nodeSelector": {"disc": "hdd"}}),
        ["no node has the label disc=hdd", "6 nodes have disk=hdd"],
    ),
    Trouble(
        "a Kueue gate",
        "Why does api not run?",
        waiting(spec={"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]}),
        ["is gated", "Kueue"],
    ),
    Trouble(
        "another scheduler's",
        "Why does api not run?",
        waiting(spec={"schedulerName": "volcano"}),
        ["is left out", 'the scheduler "volcano"'],
    ),
    Trouble(
        "a claim that is not there",
        "Why does api not run?",
        waiting(spec={"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}),
        ["claim default/data is not known"],
    ),
    Trouble(
        "a volume in a full zone",
        "Why does api not run?",
        [
            *(owned(f"big-{n}", "Job/big", node=f"pool-a-{n}", cpu="5500m") for n in (0, 3)),
            volumes.claim("data", volume="v"),
            volumes.volume("v", zones=["zone-a"], claim="data", phase="Bound"),
            *waiting(
                spec={"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}
            ),
        ],
        [
            "the volume of claim default/data is in topology.kubernetes.io/zone=zone-a",
            "2 nodes",
        ],
    ),
    Trouble(
        "more replicas than nodes",
        "Why does api not run?",
        waiting(count=8, affinity=APART),
        ["2 pods stay pending", "but for its own anti-affinity"],
    ),
    Trouble(
        "spread over a zone that is full",
        "Why does api not run?",
        [
            *(owned(f"big-{n}", "Job/big", node=f"pool-a-{n}", cpu="5500m") for n in (0, 3)),
            *waiting(count=4, spec={"topologySpreadConstraints": [SPREAD]}),
        ],
        [
            "2 pods stay pending",
            "the 2 nodes it may use have at most 0.4 free",
            "max skew 1",
        ],
    ),
    Trouble(
        "a host port that is taken",
        "Why does api not run?",
        waiting(
            count=7,
            spec={"containers": [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 80}]}]},
        ),
        ["default/api-6 stays pending", "a host port that is taken"],
    ),
    Trouble(
        "cordoned nodes",
        "Why does api not run?",
        [
            {**node("ssd-0", cpu=8, labels={"disk": "ssd"}), "spec": {"unschedulable": True}},
            *waiting(spec={"nodeSelector": {"disk": "ssd"}}),
        ],
        ["ssd-0 would take it but for the cordon", "uncordon ssd-0"],
    ),
    Trouble("nothing", "Why does api not run?", waiting(), ["default/api-0 would get a node now"]),
    Trouble(
        "a quota",
        "Why does api have no pods?",
        [quota_failure()],
        ["controllers have not made 3 pods", "exceeded quota"],
    ),
    Trouble(
        "no GPU",
        "Why does api not run?",
        waiting(requests={"nvidia.com/gpu": "1"}),
        ["requests nvidia.com/gpu 1"],
    ),
    Trouble(
        "a claim without its template",
        "Why does api not run?",
        waiting(spec={"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpu"}]}),
        ["is gated", "the state has no ResourceClaimTemplates"],
    ),
    Trouble(
        "a strict budget",
        "Can I drain pool-a-0?",
        [budget(maxUnavailable=0)],
        ["no: budget default/web allows 0 disruptions", "patch poddisruptionbudget/web"],
        "drain",
        {"nodes": ["pool-a-0"]},
    ),
    Trouble(
        "a zone too many",
        "Which zone may fail?",
        [owned(f"big-{n}", "big", node=f"pool-a-{n}", cpu=5) for n in (0, 1, 3)],
        ["survives the loss of any zone but zone-a", "1 more node like"],
        "drain_each",
        {"each": "zone", "failed": True},
    ),
    Trouble(
        "a release that is too large",
        "Does this Deployment fit?",
        [],
        ["6 of the 12 wanted fit", "requests cpu 4"],
        "fits",
        {"manifests": [deployment("new", 12, "4")]},
    ),
    Trouble(
        "a pod that evicts",
        "Whom will api evict?",
        [*FULL, *waiting(cpu=2, priority=100)],
        ["would evict default/batch-0 from pool-a-0", "waits for a node"],
        "preempt",
        {"pod": "api-0"},
    ),
]


async def measured(report: Callable[[str], None] = print) -> None:
    """Ask about each fault over the protocol: one call each. Four characters count as a token."""
    from mcp import Client

    from ksched_cli.run.run import Run
    from ksched_cli.serve.mcp import Questions, server_of

    right = tokens = 0
    for trouble in TROUBLES:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "cluster.json")
            path.write_text(trouble.state)
            questions = Questions(Run(states=(str(path),), extenders=False), 60.0)
            async with Client(server_of(questions)) as client:
                answer = await client.call_tool(trouble.tool, trouble.arguments)
        contents: list[Any] = answer.content
        text = "\n".join(each.text for each in contents)
        shown = " ".join(text.split())  # without the ends of lines
        is_right = not answer.is_error and all(part in shown for part in trouble.says)
        right += is_right
        tokens += len(text) // 4
        report(f"{trouble.name}: {'right' if is_right else 'WRONG'}, {len(text) // 4} tokens")
    report(
        f"{right} of {len(TROUBLES)} by the first call; {tokens / len(TROUBLES):.0f} tokens each"
    )


def write(folder: Path) -> None:
    """Write the state of each fault, 01.json and so on, and questions.json."""
    folder.mkdir(parents=True, exist_ok=True)
    questions = []
    for number, trouble in enumerate(TROUBLES, 1):
        file = f"{number:02}.json"
        (folder / file).write_text(trouble.state)
        row = {"state": file, "fault": trouble.name, "question": trouble.question}
        first_call = {"tool": trouble.tool, "arguments": trouble.arguments}
        questions.append({**row, "says": list(trouble.says), "firstCall": first_call})
    (folder / "questions.json").write_text(json.dumps(questions, indent=1))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"]:
        write(Path(sys.argv[2]))
    else:
        asyncio.run(measured())
