"""A messy cluster of 40 nodes, as the API server would give it to kubectl.

Pools: 3 of a control plane (tainted, static pods), 22 general ones (one cordoned, one unreachable),
8 of large memory, 4 with GPUs (tainted), 3 spot ones (tainted). Every node has the pods of three
DaemonSets. Workloads come from Helm; there are finished and failed Jobs, pods that are being
deleted, pods of another scheduler, budgets, priorities and claims, and pods that wait for a dozen
different reasons (`PENDING`). Every object has a uid, managedFields and a status.
"""

import json
from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

Manifest = dict[str, Any]

ZONE, HOST, POOL = "topology.kubernetes.io/zone", "kubernetes.io/hostname", "pool"
CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
NAMESPACES = ("batch", "data", "kube-system", "logging", "ml", "monitoring", "shop")
CLUSTER_INFO_DUMP = (
    ("replication-controllers", "ReplicationController"),
    ("services", "Service"),
    ("daemonsets", "DaemonSet"),
    ("deployments", "Deployment"),
    ("replicasets", "ReplicaSet"),
    ("pods", "Pod"),
)
PRIORITIES = {"": 0, "batch-low": -100, "shop-critical": 1000, "system-node-critical": 2000001000}


def objects() -> list[Manifest]:
    """All of it, in the order in which kubectl lists kinds."""
    nodes = list(_nodes())
    return [
        *nodes,
        *(_object("Namespace", name, spec={"finalizers": ["kubernetes"]}) for name in NAMESPACES),
        *_priority_classes(),
        *_storage(),
        *_budgets(),
        *_daemon_sets(nodes),
        *_static_pods(),
        *_deployments(),
        *_stateful_sets(),
        *_jobs(),
        *_odd_pods(),
        *_pending(),
    ]


def of_kinds(*kinds: str) -> list[Manifest]:
    """What `kubectl get KINDS -A -o json` lists."""
    return [manifest for manifest in objects() if manifest["kind"] in kinds]


def in_namespaces(*namespaces: str) -> list[Manifest]:
    """Without -A: what has no namespace, and what these have."""
    return [
        manifest
        for manifest in objects()
        if manifest["metadata"].get("namespace", namespaces[0]) in namespaces
    ]


def write(path: Path, manifests: Iterable[Manifest] | None = None) -> Path:
    """As `kubectl get -o json` prints them."""
    items = objects() if manifests is None else list(manifests)
    metadata = {"resourceVersion": ""}
    text = json.dumps({"apiVersion": "v1", "items": items, "kind": "List", "metadata": metadata})
    path.write_text(text, encoding="utf-8")
    return path


def write_dump(folder: Path, namespaces: Iterable[str] = NAMESPACES) -> Path:
    """As `kubectl cluster-info dump --output-directory` does; without --all-namespaces of the
    current one and kube-system alone."""
    manifests = objects()
    _write_list(folder / "nodes.json", "Node", [m for m in manifests if m["kind"] == "Node"])
    for namespace in namespaces:
        for name, kind in CLUSTER_INFO_DUMP:
            chosen = [
                m
                for m in manifests
                if m["kind"] == kind and m["metadata"].get("namespace") == namespace
            ]
            _write_list(folder / namespace / f"{name}.json", kind, chosen)
    return folder


def _write_list(path: Path, kind: str, items: list[Manifest]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    version = "v1" if kind in ("Node", "Pod", "Service", "ReplicationController") else "apps/v1"
    listed = {"kind": f"{kind}List", "apiVersion": version, "metadata": {}, "items": items}
    path.write_text(json.dumps(listed, indent=4), encoding="utf-8")


# -- objects as the API server writes them -------------------------------------------------------

_VERSIONS = {
    "PriorityClass": "scheduling.k8s.io/v1",
    "StorageClass": "storage.k8s.io/v1",
    "CSINode": "storage.k8s.io/v1",
    "PodDisruptionBudget": "policy/v1",
    "Deployment": "apps/v1",
    "ReplicaSet": "apps/v1",
    "StatefulSet": "apps/v1",
    "DaemonSet": "apps/v1",
    "Job": "batch/v1",
}


def _uid(*parts: str) -> str:
    digest = sha256("/".join(parts).encode()).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-4{digest[12:15]}-a{digest[15:18]}-{digest[18:30]}"


def _object(
    kind: str,
    name: str,
    namespace: str = "",
    *,
    labels: dict[str, str] | None = None,
    owner: tuple[str, str] = ("", ""),
    created: str = "2026-03-02T08:00:00Z",
    **fields: Any,
) -> Manifest:
    """owner: kind and name of its controller. fields: beside the metadata"""
    metadata: Manifest = {
        "name": name,
        "uid": _uid(kind, namespace, name),
        "resourceVersion": str(int(_uid(kind, namespace, name)[:6], 16)),
        "creationTimestamp": created,
        "managedFields": [
            {
                "apiVersion": _VERSIONS.get(kind, "v1"),
                "fieldsType": "FieldsV1",
                "fieldsV1": {"f:metadata": {"f:labels": {".": {}}}, "f:spec": {}},
                "manager": "helm" if labels and "helm.sh/chart" in labels else "kubectl",
                "operation": "Update",
                "time": created,
            }
        ],
    }
    if namespace:
        metadata["namespace"] = namespace
    if labels:
        metadata["labels"] = labels
    owner_kind, owner_name = owner
    if owner_kind:
        metadata["ownerReferences"] = [
            {
                "apiVersion": _VERSIONS.get(owner_kind, "v1"),
                "kind": owner_kind,
                "name": owner_name,
                "uid": _uid(owner_kind, namespace, owner_name),
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]
    version = _VERSIONS.get(kind, "v1")
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **fields}


def _pod(  # noqa: PLR0913  # a field each
    name: str,
    namespace: str,
    node: str = "",
    *,
    cpu: str = "100m",
    memory: str = "128Mi",
    gpus: int = 0,
    image: str = "",
    labels: dict[str, str] | None = None,
    owner: tuple[str, str] = ("", ""),
    phase: str = "",
    created: str = "2026-03-02T08:05:00Z",
    priority: str = "",
    claims: Iterable[str] = (),
    **spec: Any,
) -> Manifest:
    amounts = {"cpu": cpu, "memory": memory} | ({"nvidia.com/gpu": str(gpus)} if gpus else {})
    volumes = [
        {"name": f"data-{i}", "persistentVolumeClaim": {"claimName": claim}}
        for i, claim in enumerate(claims)
    ]
    phase = phase or ("Running" if node else "Pending")
    conditions = [
        {"type": "PodScheduled", "status": "True" if node else "False"},
        {"type": "Ready", "status": "True" if phase == "Running" else "False"},
    ]
    requests = {"requests": amounts} | ({"limits": {"nvidia.com/gpu": str(gpus)}} if gpus else {})
    manifest = _object(
        "Pod",
        name,
        namespace,
        labels=labels,
        owner=owner,
        created=created,
        spec={
            "containers": [
                {
                    "name": name.split("-")[0],
                    "image": image or f"registry.example.com/{namespace}/{name.split('-')[0]}:1",
                    "imagePullPolicy": "IfNotPresent",
                    "resources": requests,
                    "terminationMessagePath": "/dev/termination-log",
                }
            ],
            "enableServiceLinks": True,
            "preemptionPolicy": "PreemptLowerPriority",
            "priority": PRIORITIES[priority],
            "restartPolicy": "Always",
            "schedulerName": "default-scheduler",
            "serviceAccountName": "default",
            "terminationGracePeriodSeconds": 30,
            "tolerations": [
                {"effect": "NoExecute", "key": f"node.kubernetes.io/{key}", "operator": "Exists"}
                | {"tolerationSeconds": 300}
                for key in ("not-ready", "unreachable")
            ],
        },
        status={"phase": phase, "qosClass": "Burstable", "conditions": conditions},
    )
    manifest["spec"] |= {"nodeName": node} if node else {}
    manifest["spec"] |= {"priorityClassName": priority} if priority else {}
    manifest["spec"] |= {"volumes": volumes} if volumes else {}
    manifest["spec"]["tolerations"] += spec.pop("tolerations", [])
    manifest["spec"] |= spec
    return manifest


# -- nodes ---------------------------------------------------------------------------------------


def _node(
    name: str, zone: int, pool: str, cores: int, gigabytes: int, gpus: int = 0, **spec: Any
) -> Manifest:
    amount = {"cpu": str(cores), "memory": f"{gigabytes * 1024**2}Ki", "pods": "58"}
    amount |= {"nvidia.com/gpu": str(gpus)} if gpus else {}
    reserved = {"cpu": f"{cores * 1000 - 110}m", "memory": f"{gigabytes * 1024**2 - 1048576}Ki"}
    is_ready = not any("unreachable" in taint["key"] for taint in spec.get("taints", ()))
    images = [f"registry.example.com/{image}:1" for image in _images(pool)]
    return _object(
        "Node",
        name,
        labels={
            HOST: name,
            ZONE: f"eu-west-1{'abc'[zone % 3]}",
            POOL: pool,
            "kubernetes.io/arch": "amd64",
            "kubernetes.io/os": "linux",
        }
        | ({CONTROL_PLANE: ""} if pool == "control-plane" else {}),
        spec={"providerID": f"aws:///eu-west-1/{_uid(name)[:8]}", **spec},
        status={
            "capacity": amount,
            "allocatable": amount | reserved,
            "conditions": [{"type": "Ready", "status": "True" if is_ready else "Unknown"}],
            "nodeInfo": {"kubeletVersion": "v1.34.2", "osImage": "Amazon Linux 2023"},
            "images": [{"names": [image], "sizeBytes": 90_000_000} for image in images],
        },
    )


def _images(pool: str) -> Iterator[str]:
    yield from ("kube-system/kube-proxy", "monitoring/node-exporter", "logging/fluent-bit")
    yield "pause"
    if pool == "general":
        yield from ("shop/web", "shop/checkout", "shop/cart", "shop/search", "batch/report")
    elif pool == "memory":
        yield from ("data/postgres", "data/kafka", "data/redis")
    elif pool == "gpu":
        yield from ("ml/train", "ml/serve", "ml/notebook")


def _taint(key: str, effect: str = "NoSchedule", value: str = "") -> Manifest:
    return {"key": key, "effect": effect} | ({"value": value} if value else {})


def general(index: int) -> str:
    return f"general-{index:02}"


CORDONED, UNREACHABLE = general(7), general(12)


def _nodes() -> Iterator[Manifest]:
    for i in range(3):
        yield _node(f"control-{i}", i, "control-plane", 4, 16, taints=[_taint(CONTROL_PLANE)])
    for i in range(22):
        name = general(i)
        spec: Manifest = {}
        if name == CORDONED:
            taint = _taint("node.kubernetes.io/unschedulable")
            spec = {"unschedulable": True, "taints": [taint]}
        elif name == UNREACHABLE:
            key = "node.kubernetes.io/unreachable"
            spec = {"taints": [_taint(key), _taint(key, "NoExecute")]}
        yield _node(name, i, "general", 8, 32, **spec)
    for i in range(8):
        yield _node(f"memory-{i}", i, "memory", 8, 64)
    for i in range(4):
        taint = _taint("nvidia.com/gpu", value="present")
        yield _node(f"gpu-{i}", i, "gpu", 32, 128, 4, taints=[taint])
    for i in range(3):
        yield _node(f"spot-{i}", i, "spot", 8, 32, taints=[_taint("spot", value="true")])


# -- what runs -----------------------------------------------------------------------------------


def _priority_classes() -> Iterator[Manifest]:
    for name in ("batch-low", "shop-critical"):
        value: Manifest = {"value": PRIORITIES[name], "preemptionPolicy": "PreemptLowerPriority"}
        yield _object("PriorityClass", name, description=f"{name} pods", **value)


def _daemon_sets(nodes: list[Manifest]) -> Iterator[Manifest]:
    for namespace, name, cpu, pools in (
        ("kube-system", "kube-proxy", "100m", ()),
        ("monitoring", "node-exporter", "100m", ()),
        ("logging", "fluent-bit", "200m", ()),
        ("kube-system", "nvidia-device-plugin", "50m", ("gpu",)),
    ):
        for i, node in enumerate(nodes):
            if not pools or node["metadata"]["labels"][POOL] in pools:
                yield _pod(
                    f"{name}-{_uid(name, str(i))[:5]}",
                    namespace,
                    node["metadata"]["name"],
                    cpu=cpu,
                    image=f"registry.example.com/{namespace}/{name}:1",
                    labels=_helm(name),
                    owner=("DaemonSet", name),
                    priority="system-node-critical",
                    tolerations=[{"operator": "Exists"}],
                )


def _static_pods() -> Iterator[Manifest]:
    for i in range(3):
        for name in ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"):
            pod = _pod(
                f"{name}-control-{i}",
                "kube-system",
                f"control-{i}",
                cpu="250m",
                owner=("Node", f"control-{i}"),
                priority="system-node-critical",
                tolerations=[{"operator": "Exists", "effect": "NoExecute"}],
            )
            pod["metadata"]["annotations"] = {"kubernetes.io/config.mirror": _uid(name)}
            yield pod


def _helm(name: str) -> dict[str, str]:
    return {
        "app.kubernetes.io/name": name,
        "app.kubernetes.io/instance": name,
        "app.kubernetes.io/managed-by": "Helm",
        "helm.sh/chart": f"{name}-1.4.2",
    }


def _selector(name: str) -> Manifest:
    return {"matchLabels": {"app.kubernetes.io/name": name}}


def _deployment(
    namespace: str, name: str, nodes: Iterable[str], missing: int = 0, **pod: Any
) -> Iterator[Manifest]:
    """nodes: of its replicas; missing: how many more wait"""
    placed = list(nodes)
    labels = _helm(name)
    replica_set = f"{name}-{_uid(name)[:10].replace('-', '')}"
    hash_label = {"pod-template-hash": replica_set.rpartition("-")[2]}
    pods = [
        _pod(
            f"{replica_set}-{_uid(replica_set, str(i))[:5]}",
            namespace,
            node,
            labels=labels | hash_label,
            owner=("ReplicaSet", replica_set),
            created="2026-03-02T08:05:00Z" if node else "2026-03-09T02:58:00Z",
            **pod,
        )
        for i, node in enumerate([*placed, *[""] * missing])
    ]
    model = pods[0]["spec"]
    template = {
        "metadata": {"labels": labels},
        "spec": {key: value for key, value in model.items() if key not in ("nodeName", "priority")},
    }
    spec = {"replicas": len(pods), "selector": _selector(name), "template": template}
    status = {"replicas": len(pods), "readyReplicas": len(placed)}
    yield _object("Deployment", name, namespace, labels=labels, spec=spec, status=status)
    selector = {"matchLabels": _selector(name)["matchLabels"] | hash_label}
    yield _object(
        "ReplicaSet",
        replica_set,
        namespace,
        labels=labels | hash_label,
        owner=("Deployment", name),
        spec=spec
        | {"selector": selector}
        | {"template": template | {"metadata": {"labels": labels | hash_label}}},
        status=status,
    )
    yield from pods


def _deployments() -> Iterator[Manifest]:
    shop = [general(i) for i in range(22)]
    yield from _deployment("shop", "web", shop, cpu="1500m", memory="3Gi")
    yield from _deployment("shop", "search", shop[1::2], cpu="2", memory="6Gi")
    yield from _deployment(
        "shop",
        "checkout",
        shop[:18],
        cpu="2",
        memory="4Gi",
        priority="shop-critical",
        missing=3,
        affinity=_anti_affinity("checkout"),
        nodeSelector={POOL: "general", ZONE: "eu-west-1a"},
    )
    yield from _deployment("shop", "cart", shop[::3], cpu="500m", memory="1Gi")
    yield from _deployment("kube-system", "coredns", shop[:2], memory="170Mi")
    yield from _deployment(
        "ml", "serve", ["gpu-0", "gpu-1"], gpus=1, cpu="4", memory="16Gi", tolerations=[GPU]
    )


GPU = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}


def _anti_affinity(name: str) -> Manifest:
    term = {"labelSelector": _selector(name), "topologyKey": HOST}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def _storage() -> Iterator[Manifest]:
    for name, mode in (("gp3", "WaitForFirstConsumer"), ("efs", "Immediate")):
        provisioner: Manifest = {"provisioner": f"{name}.csi.aws.com", "volumeBindingMode": mode}
        yield _object("StorageClass", name, reclaimPolicy="Delete", **provisioner)
    for i, claim in enumerate([*_bound_claims()]):
        zone = {"key": ZONE, "operator": "In", "values": [f"eu-west-1{'abc'[i % 3]}"]}
        yield _object(
            "PersistentVolume",
            f"pvc-{_uid(claim)}",
            spec={
                "accessModes": ["ReadWriteOnce"],
                "capacity": {"storage": "100Gi"},
                "claimRef": {"kind": "PersistentVolumeClaim", "namespace": "data", "name": claim},
                "csi": {"driver": "gp3.csi.aws.com", "volumeHandle": f"vol-{_uid(claim)[:8]}"},
                "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [zone]}]}},
                "storageClassName": "gp3",
            },
            status={"phase": "Bound"},
        )
        yield _claim(claim, "gp3", f"pvc-{_uid(claim)}")
    yield _claim("exports", "efs")
    yield _claim("archive", "fast-ssd")
    for i in range(8):
        driver = {"name": "gp3.csi.aws.com", "nodeID": f"i-{i}", "allocatable": {"count": 25}}
        yield _object("CSINode", f"memory-{i}", spec={"drivers": [driver]})


def _bound_claims() -> Iterator[str]:
    for i in range(3):
        yield f"data-postgres-{i}"
        yield f"data-kafka-{i}"


def _claim(name: str, storage_class: str, volume: str = "") -> Manifest:
    spec = {
        "accessModes": ["ReadWriteOnce" if volume else "ReadWriteMany"],
        "resources": {"requests": {"storage": "100Gi"}},
        "storageClassName": storage_class,
    } | ({"volumeName": volume} if volume else {})
    phase = {"phase": "Bound" if volume else "Pending"}
    claim = _object("PersistentVolumeClaim", name, "data", spec=spec, status=phase)
    if volume:
        claim["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    return claim


def _stateful_sets() -> Iterator[Manifest]:
    for index, name in enumerate(("postgres", "kafka")):
        for i in range(3):
            yield _pod(
                f"{name}-{i}",
                "data",
                f"memory-{(2 * i + index) % 3 + 3 * index}",
                cpu="3",
                memory="24Gi",
                labels=_helm(name),
                owner=("StatefulSet", name),
                claims=[f"data-{name}-{i}"],
            )


def _budgets() -> Iterator[Manifest]:
    for namespace, name, healthy, desired in (
        ("shop", "web", 22, 20),
        ("shop", "checkout", 18, 18),
        ("data", "kafka", 3, 3),
        ("data", "postgres", 3, 2),
    ):
        yield _object(
            "PodDisruptionBudget",
            name,
            namespace,
            labels=_helm(name),
            spec={"minAvailable": desired, "selector": _selector(name)},
            status={
                "currentHealthy": healthy,
                "desiredHealthy": desired,
                "disruptionsAllowed": healthy - desired,
                "expectedPods": healthy,
                "observedGeneration": 1,
            },
        )


def _jobs() -> Iterator[Manifest]:
    """Two that finished, one that failed, one that runs on GPUs."""
    for name, phase, nodes in (
        ("report-29384", "Succeeded", [general(3), general(5)]),
        ("report-29385", "Succeeded", [general(4)]),
        ("import-11", "Failed", [general(9), general(12)]),
        ("index-7", "Running", ["spot-0", "spot-1", general(15)]),
    ):
        for i, node in enumerate(nodes):
            yield _pod(
                f"{name}-{_uid(name, str(i))[:5]}",
                "batch",
                node,
                cpu="1",
                memory="4Gi",
                owner=("Job", name),
                phase=phase,
                priority="batch-low",
                labels={"batch.kubernetes.io/job-name": name},
                tolerations=[{"key": "spot", "operator": "Exists"}],
            )
    for i in range(3):
        name = f"train-{_uid('train', str(i))[:5]}"
        requests: Manifest = {"gpus": 3 if i < 2 else 4, "cpu": "12", "memory": "64Gi"}
        owner = ("Job", "train")
        yield _pod(name, "ml", f"gpu-{i}", owner=owner, tolerations=[GPU], **requests)


def _odd_pods() -> Iterator[Manifest]:
    """One that is being deleted, one of another scheduler, one that nobody manages."""
    going = _pod("debug-shell", "shop", general(6), cpu="500m")
    going["metadata"] |= {
        "deletionTimestamp": "2026-03-09T03:00:30Z",
        "deletionGracePeriodSeconds": 30,
    }
    yield going
    yield _pod("volcano-job-0", "batch", cpu="2", schedulerName="volcano")
    yield _pod("migration", "shop", general(18), cpu="500m", memory="2Gi")


# -- what waits ----------------------------------------------------------------------------------

PENDING = {
    "shop/indexer": "no node has the label that it selects",
    "ml/notebook": "all that is in the way is a taint",
    "batch/pinned": "all that is in the way is a cordon",
    "batch/huge": "more memory than any node has",
    "batch/backup": "room on no node",
    "ml/finetune": "fewer GPUs are free on every node",
    "data/exporter": "a claim of class efs that nobody has bound",
    "data/archiver": "a claim of a class that is not there",
    "data/restore": "no such claim",
    "data/postgres-repair": "a volume of a zone, and a node of another",
    "shop/surge": "evictions make room for it",
    "shop/gated": "a gate",
}


def _pending() -> Iterator[Manifest]:
    minutes = count(1)

    def wait(name: str, namespace: str, **fields: Any) -> Manifest:
        created = f"2026-03-09T02:{next(minutes):02}:00Z"
        return _pod(name, namespace, created=created, labels={"run": name}, **fields)

    yield from _deployment(
        "shop",
        "indexer",
        [],
        missing=4,
        cpu="500m",
        nodeSelector={"disktype": "ssd", POOL: "general"},
    )
    yield wait("notebook", "ml", cpu="2", gpus=1, nodeSelector={POOL: "gpu"})
    yield wait("pinned", "batch", cpu="200m", nodeSelector={HOST: CORDONED})
    yield wait("huge", "batch", cpu="2", memory="200Gi", priority="batch-low")
    yield wait("backup", "batch", cpu="6", memory="8Gi", nodeSelector={POOL: "general"})
    yield wait("finetune", "ml", cpu="8", gpus=8, tolerations=[GPU])
    yield wait("exporter", "data", claims=["exports"])
    yield wait("archiver", "data", claims=["archive"])
    yield wait("restore", "data", claims=["restored"])
    elsewhere = {ZONE: "eu-west-1c", POOL: "memory"}
    yield wait("postgres-repair", "data", claims=["data-postgres-0"], nodeSelector=elsewhere)
    yield wait(
        "surge", "shop", cpu="6500m", priority="shop-critical", nodeSelector={POOL: "general"}
    )
    yield wait("gated", "shop", schedulingGates=[{"name": "example.com/review"}])
