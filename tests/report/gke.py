"""A cluster of 64 nodes like one of GKE: node pools, a spot pool, zonal disks, static kube-proxy
pods, and what people ask about on a usual evening.

    python -m tests.report.gke FOLDER

writes cluster.json and shop.yaml there, asks the ten questions by their commands, and prints a row
for each: seconds of processor time, words up to the end of the answer, and whether the first line
has it.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ksched_cli.testing import node, pod
from tests import volumes
from tests.report.eks import budget

Object = dict[str, Any]

POOL, SPOT, ZONE = (
    "cloud.google.com/gke-nodepool",
    "cloud.google.com/gke-spot",
    "topology.kubernetes.io/zone",
)
ZONES = ("europe-west4-a", "europe-west4-b", "europe-west4-c")
# Pool → nodes, cpu, memory, taint. The machines are n2-standard-8, n2-highmem-8,
# c3-standard-22 and g2-standard-8.
POOLS: dict[str, tuple[int, str, str, str]] = {
    "default": (30, "7910m", "28658424Ki", ""),
    "highmem": (12, "7910m", "60489012Ki", ""),
    "spot": (16, "21780m", "81234560Ki", f"{SPOT}=true:NoSchedule"),
    "l4": (6, "7910m", "28658424Ki", "nvidia.com/gpu=present:NoSchedule"),
}
HASHES = {"default": "3f2a91b4", "highmem": "77c0de15", "spot": "a81b2c3d", "l4": "5d0e9f60"}
LETTERS = "0123456789bcdfghjklmnpqrstvwxz"
READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
STARTED = "2026-06-01T08:00:00Z"


def _suffix(number: int) -> str:
    """Four characters as a managed instance group draws them."""
    value = (number + 1) * 7_919_117
    return "".join(LETTERS[value // 30**digit % 30] for digit in range(4))


PLACES = [(pool, place) for pool, (count, *_) in POOLS.items() for place in range(count)]
NODES = {
    f"gke-prod-eu-{pool}-pool-{HASHES[pool]}-{_suffix(number)}": (pool, place)
    for number, (pool, place) in enumerate(PLACES)
}


def of_pool(pool: str) -> list[str]:
    return [name for name, (own, _) in NODES.items() if own == pool]


def cluster_objects() -> list[Object]:
    return [*_nodes(), *_agents(), *_shop(), *_data(), *_batch(), *_pending()]


def _nodes() -> Iterator[Object]:
    for name, (pool, place) in NODES.items():
        _, cpu, memory, taint = POOLS[pool]
        labels = {
            POOL: pool,
            "kubernetes.io/hostname": name,
            ZONE: ZONES[place % 3],
            **({SPOT: "true"} if pool == "spot" else {}),
        }
        going = "cloud.google.com/impending-node-termination=:NoSchedule"
        taints = [taint, going if (pool, place) == ("spot", 4) else ""]
        yield node(
            name,
            cpu=cpu,
            memory=memory,
            labels=labels,
            taints=[each for each in taints if each],
            resources={"nvidia.com/gpu": 1} if pool == "l4" else {},
            unschedulable=(pool, place) in {("default", 11), ("highmem", 7)},
        )


def _owned(name: str, owner: str, where: str, cpu: str, memory: str, **fields: Any) -> Object:
    """owner: namespace/Kind/name; a pod that is ready where it runs"""
    namespace, kind, controller = owner.split("/")
    version = {"Job": "batch/v1", "Node": "v1"}.get(kind, "apps/v1")
    reference = {"apiVersion": version, "kind": kind, "name": controller, "controller": True}
    labels = {"app": controller}
    if kind == "ReplicaSet":
        app, _, template_hash = controller.rpartition("-")
        labels = {"app": app, "pod-template-hash": template_hash}
    created = STARTED if where else "2026-06-05T18:10:00Z"
    return pod(
        name,
        namespace,
        cpu=cpu,
        memory=memory,
        node=where,
        labels=labels,
        metadata={"ownerReferences": [reference], "creationTimestamp": created},
        status={**READY, "startTime": STARTED} if where else None,
        **fields,
    )


def _agents() -> Iterator[Object]:
    anywhere = {"tolerations": [{"operator": "Exists"}]}
    for agent, cpu, memory in (
        ("fluentbit-gke", "100m", "200Mi"),
        ("gke-metrics-agent", "8m", "110Mi"),
        ("pdcsi-node", "10m", "20Mi"),
    ):
        for name in NODES:
            owner = f"kube-system/DaemonSet/{agent}"
            yield _owned(f"{agent}-{name[-4:]}", owner, name, cpu, memory, spec=anywhere)
    for name in NODES:
        yield _owned(f"kube-proxy-{name}", f"kube-system/Node/{name}", name, "100m", "0")


def deployment(
    namespace: str, name: str, replicas: int, cpu: str, memory: str, **fields: Any
) -> Object:
    template = pod(cpu=cpu, memory=memory, **fields)["spec"]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": template},
        },
    }


def _replicas(
    namespace: str, name: str, cpu: str, memory: str, nodes: list[str], **fields: Any
) -> Iterator[Object]:
    """A Deployment, its ReplicaSet and its pods, one for each of the nodes; "" for none."""
    workload = deployment(namespace, name, len(nodes), cpu, memory, **fields)
    yield workload
    replica_set = f"{name}-{HASHES['default'][:5]}{len(name):05}"
    yield {
        **workload,
        "kind": "ReplicaSet",
        "metadata": {
            "name": replica_set,
            "namespace": namespace,
            "labels": {"app": name, "pod-template-hash": replica_set.rpartition("-")[2]},
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "controller": True}
            ],
        },
    }
    owner = f"{namespace}/ReplicaSet/{replica_set}"
    for place, where in enumerate(nodes):
        yield _owned(f"{replica_set}-{_suffix(place * 31 + len(name))}{place % 10}", owner, where,
                     cpu, memory, **fields)  # fmt: skip


def _shop() -> Iterator[Object]:
    default = of_pool("default")
    usable = [name for name in default if NODES[name][1] != 11]
    over_zones = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
    }

    def spread(app: str) -> Object:
        selector = {"matchLabels": {"app": app}}
        return {"topologySpreadConstraints": [{**over_zones, "labelSelector": selector}]}

    yield from _replicas(
        "shop", "storefront", "1200m", "1536Mi", usable * 2, spec=spread("storefront")
    )
    yield budget("shop", "storefront", 58, 53, maxUnavailable="10%")
    yield from _replicas("shop", "cart", "700m", "1Gi", usable[:18], spec=spread("cart"))
    yield budget("shop", "cart", 18, 17, maxUnavailable=1)
    yield from _replicas("shop", "recommender", "2500m", "6Gi", usable[4:24])
    yield budget("shop", "recommender", 20, 20, minAvailable="100%")
    yield from _replicas("web", "edge", "300m", "256Mi", usable)


def _data() -> Iterator[Object]:
    """Databases with a disk each, which is in one zone."""
    yield volumes.storage_class("premium-rwo", "pd.csi.storage.gke.io")
    template = deployment("data", "postgres", 10, "6", "40Gi")
    yield {**template, "kind": "StatefulSet"}
    # The last one's zone is full, but for a cordoned node.
    hosts = [of_pool("highmem")[place] for place in (1, 4, 10, 0, 2, 3, 5, 6, 8)]
    for place in range(10):
        name, where = f"postgres-{place}", hosts[place] if place < 9 else ""
        disk = volumes.volume(
            f"pvc-{HASHES['highmem']}-{place}",
            "200Gi",
            "premium-rwo",
            zones=[ZONES[1] if place == 9 else ZONES[NODES[where][1] % 3]],
            phase="Bound",
        )
        claim = volumes.claim(
            f"data-{name}", "200Gi", "premium-rwo", volume=disk["metadata"]["name"]
        )
        claim["metadata"]["namespace"] = "data"
        disk["spec"]["claimRef"] = {
            "namespace": "data", "name": f"data-{name}", "uid": claim["metadata"].get("uid", ""),
        }  # fmt: skip
        yield disk
        yield claim
        spec = {
            "nodeSelector": {POOL: "highmem"},
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": f"data-{name}"}}],
        }
        yield _owned(name, "data/StatefulSet/postgres", where, "6", "40Gi", spec=spec)
    yield budget("data", "postgres", 9, 8, maxUnavailable=1)


def _batch() -> Iterator[Object]:
    tolerates = {"tolerations": [{"key": SPOT, "operator": "Equal", "value": "true"}]}
    spot = [name for name in of_pool("spot") if NODES[name][1] != 4]
    for place in range(30):
        where = spot[place % 15]
        yield _owned(
            f"render-{place:02}-{_suffix(place)}", f"batch/Job/render-{place:02}", where, "9",
            "24Gi", spec=tolerates,
        )  # fmt: skip
    yield pod(
        "toolbox", "ops", cpu="250m", memory="512Mi", node=of_pool("default")[3],
        status={**READY, "startTime": STARTED},
    )  # fmt: skip


def _pending() -> Iterator[Object]:
    """What waits, besides a database whose disk is in a full zone: a release that requests too
    much, and an inference server whose label is misspelt."""
    yield from _replicas("shop", "search", "12", "16Gi", [""] * 4)
    yield from _replicas(
        "ml", "inference", "4", "8Gi", [""] * 2, requests={"nvidia.com/gpu": 1},
        spec={"nodeSelector": {POOL: "l40"}},
    )  # fmt: skip
    gates = {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]}
    for place in range(4):
        name = f"train-{place}"
        yield _owned(name, f"ml/Job/{name}", "", "6", "20Gi", spec=gates)
    yield {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "urgent"},
        "value": 100_000,
    }
    hotfix = {
        "priorityClassName": "urgent",
        "tolerations": [{"key": SPOT, "operator": "Exists"}],
        "nodeSelector": {POOL: "spot"},
    }
    yield pod("hotfix", "batch", cpu="20", memory="32Gi", priority=100_000, spec=hotfix,
              metadata={"creationTimestamp": "2026-06-05T18:20:00Z"})  # fmt: skip


RELEASE = deployment("shop", "checkout", 12, "1500m", "2Gi")
DRAINED = of_pool("default")[29]


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, by which command, and the words of its answer that settle it."""

    text: str
    command: str
    answer: str


TEN = {
    "status": Question("What is going on?", "status", "7 of 433 pods stay pending"),
    "explain": Question(
        "Does search start, and why not?",
        "explain deployment/search -n shop",
        "fits on no node",
    ),
    "explain-volume": Question(
        "Does the tenth postgres start?", "explain postgres-9 -n data", "fits on no node"
    ),
    "fix": Question(
        "Can the inference servers be helped?", "fix deployment/inference -n ml", "2 remedies help"
    ),
    "drain": Question(
        "Can I drain this node tonight?", f"drain {DRAINED}", "yes, all 3 pods find a node"
    ),
    "drain-pool": Question(
        "And the whole spot pool?", f"drain -l {POOL}=spot", "no: 28 of 28 pods find no other node"
    ),
    "capacity-file": Question("Does the next release fit?", "capacity -f shop.yaml", "all 12 fit"),
    "capacity-more": Question(
        "How many more of the storefront fit?",
        "capacity deployment/storefront -n shop",
        "73 more replicas of Deployment shop/storefront fit",
    ),
    "drain-zones": Question(
        "Which zone may fail?", "drain --each zone --failed", "survives the loss of none"
    ),
    "preempt": Question(
        "Whom does the hotfix evict?",
        "preempt hotfix -n batch",
        "would evict batch/render-09-n50r and batch/render-24-5ghd",
    ),
}


def write(folder: Path) -> None:
    """Write the files that the commands read."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cluster.json").write_text(json.dumps(cluster_objects()))
    (folder / "shop.yaml").write_text(json.dumps(RELEASE))


def ask(question: Question, folder: Path) -> str:
    """Return a row of the table: the question, the command, seconds, words, the first line."""
    started = os.times()
    line = [sys.executable, "-m", "ksched_cli", *shlex.split(question.command), "--quiet"]
    environment = {**os.environ, "COLUMNS": "500"}
    done = subprocess.run(
        line, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    ended = os.times()
    seconds = ended.children_user + ended.children_system
    seconds -= started.children_user + started.children_system
    first, _, _ = done.stdout.partition("\n")
    before, there, _ = done.stdout.partition(question.answer)
    count = len(before.split()) + len(question.answer.split())
    is_first = "yes" if there and question.answer in first else "no"
    return f"| {question.text} | `{question.command}` | {seconds:.1f} | {count} | {is_first} |"


if __name__ == "__main__":
    write(Path(sys.argv[1]))
    for each in TEN.values():
        print(ask(each, Path(sys.argv[1])))
