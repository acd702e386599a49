"""Random small clusters for properties, of what the plugins look at."""

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from ksched_cli.cluster.state import ClusterState
from ksched_cli.testing import cluster, node, pod

KEYS = st.sampled_from(["k1", "k2", "dedicated"])
VALUES = st.sampled_from(["a", "b", "4", "16"])
EFFECTS = st.sampled_from(["NoSchedule", "PreferNoSchedule", "NoExecute"])
ZONES = st.sampled_from(["", "a", "b", "c"])
CPU = st.sampled_from(["0", "100m", "500m", "1", "2", "3500m", "4"])
MEMORY = st.sampled_from(["0", "64Mi", "1Gi", "2Gi", "8Gi"])
GPUS = st.sampled_from([None, 0, 1, 2])
IMAGES = st.sampled_from(["nginx:latest", "redis:7", "big:1"])
PORTS = st.sampled_from([80, 443, 8080])


def _present(**given: Any) -> dict[str, Any]:
    return {key: value for key, value in given.items() if value is not None}


@st.composite
def taints(draw: st.DrawFn) -> dict[str, str]:
    return {"key": draw(KEYS), "value": draw(VALUES), "effect": draw(EFFECTS)}


@st.composite
def tolerations(draw: st.DrawFn) -> dict[str, str]:
    exists = draw(st.booleans())
    toleration = {"key": draw(KEYS), "operator": "Exists" if exists else "Equal"}
    if not exists:
        toleration["value"] = draw(VALUES)
    effect = draw(st.one_of(st.none(), EFFECTS))
    return toleration | _present(effect=effect)


@st.composite
def nodes(draw: st.DrawFn, name: str) -> dict[str, Any]:
    labels = draw(st.dictionaries(KEYS, VALUES, max_size=2))
    zone = draw(ZONES)
    if zone:
        labels["topology.kubernetes.io/zone"] = zone
    return node(
        name,
        cpu=draw(CPU),
        memory=draw(MEMORY),
        pods=draw(st.sampled_from([1, 3, 110])),
        resources=_present(**{"example.com/gpu": draw(GPUS)}),
        labels=labels,
        taints=draw(st.lists(taints(), max_size=2)),
        unschedulable=draw(st.sampled_from([False, False, False, True])),
        images=draw(st.dictionaries(IMAGES, st.integers(0, 3 * 2**30), max_size=2)),
    )


@st.composite
def requirements(draw: st.DrawFn) -> dict[str, Any]:
    operator = draw(st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]))
    requirement: dict[str, Any] = {"key": draw(KEYS), "operator": operator}
    if operator in ("In", "NotIn"):
        requirement["values"] = draw(st.lists(VALUES, min_size=1, max_size=2))
    elif operator in ("Gt", "Lt"):
        requirement["values"] = [draw(st.sampled_from(["4", "5", "16"]))]
    return requirement


@st.composite
def affinities(draw: st.DrawFn) -> dict[str, Any]:
    terms = st.lists(
        st.lists(requirements(), min_size=1, max_size=2).map(lambda all: {"matchExpressions": all}),
        min_size=1,
        max_size=2,
    )
    required, preferred = draw(st.one_of(st.none(), terms)), draw(st.one_of(st.none(), terms))
    rules: dict[str, Any] = {}
    if required:
        rules["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": required}
    if preferred:
        weight = draw(st.integers(1, 100))
        rules["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": weight, "preference": term} for term in preferred
        ]
    return {"nodeAffinity": rules}


@st.composite
def pods(draw: st.DrawFn, name: str, on: list[str] | None = None) -> dict[str, Any]:
    """on: names of nodes that it may run on; a pending pod without."""
    return pod(
        name,
        cpu=draw(st.one_of(st.none(), CPU)),
        memory=draw(st.one_of(st.none(), MEMORY)),
        requests=_present(**{"example.com/gpu": draw(GPUS)}),
        image=draw(IMAGES),
        ports=draw(st.lists(PORTS, max_size=1)),
        node=draw(st.sampled_from(on)) if on else "",
        priority=draw(st.sampled_from([0, 0, 5])),
        tolerations=draw(st.lists(tolerations(), max_size=2)),
        affinity=draw(st.one_of(st.none(), affinities())),
    )


@st.composite
def states(
    draw: st.DrawFn, max_nodes: int = 6, max_running: int = 4, max_pending: int = 4
) -> ClusterState:
    """A cluster with at least one node; some of its pending pods look the same."""
    names = [f"n{i}" for i in range(draw(st.integers(1, max_nodes)))]
    running = [draw(pods(f"r{i}", names)) for i in range(draw(st.integers(0, max_running)))]
    pending = [draw(pods(f"p{i}")) for i in range(draw(st.integers(1, max_pending)))]
    twins = [
        {**twin, "metadata": {**twin["metadata"], "name": twin["metadata"]["name"] + "-twin"}}
        for twin in pending
        if draw(st.booleans())
    ]
    return cluster(*(draw(nodes(name)) for name in names), *running, *pending, *twins)


ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
NEIGHBOURS = {"labelSelector": {"matchLabels": {"app": "a"}}}


def _spread(key: str, when: str) -> dict[str, Any]:
    return {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": when, **NEIGHBOURS}


def _near(kind: str, key: str) -> dict[str, dict[str, Any]]:
    term = {"topologyKey": key, **NEIGHBOURS}
    return {
        kind: {
            "requiredDuringSchedulingIgnoredDuringExecution": [term],
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 7, "podAffinityTerm": {**term, "topologyKey": ZONE}}
            ],
        }
    }


# What a pod's spec has besides, as to where its like run.
COMPANY: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [
        {},
        {},
        {"topologySpreadConstraints": [_spread(ZONE, "DoNotSchedule")]},
        {"topologySpreadConstraints": [_spread(HOST, "ScheduleAnyway")]},
        {"affinity": _near("podAntiAffinity", HOST)},
        {"affinity": _near("podAffinity", ZONE)},
    ]
)


SOFT = [f"{key}:PreferNoSchedule" for key in ("soft=x", "slow", "old")]


@st.composite
def roomy_nodes(draw: st.DrawFn) -> dict[str, Any]:
    return node(
        "n",
        cpu=draw(st.sampled_from(["2", "4", "7"])),
        memory=draw(st.sampled_from(["4Gi", "16Gi"])),
        pods=draw(st.sampled_from([2, 110])),
        labels=draw(st.dictionaries(KEYS, VALUES, max_size=2)) | {ZONE: draw(ZONES)},
        taints=draw(st.sampled_from([SOFT[:0], SOFT[:1], SOFT[:2], SOFT])),
    )


@st.composite
def modest_pods(draw: st.DrawFn) -> dict[str, Any]:
    return pod(
        "p",
        cpu=draw(st.sampled_from([None, "100m", "700m"])),
        memory=draw(st.sampled_from([None, "64Mi", "1Gi"])),
        tolerations=draw(st.sampled_from([[], ["soft=x:PreferNoSchedule"]])),
        affinity=draw(st.one_of(st.none(), affinities())),
    )


@st.composite
def crowds(draw: st.DrawFn, pods_each: int = 12) -> ClusterState:
    """Enough nodes that not all are looked at, of a few shapes; pods of a few looks, in turn."""
    shape, look = st.one_of(roomy_nodes(), nodes("n")), st.one_of(modest_pods(), pods("p"))
    shapes = [draw(roomy_nodes()), *draw(st.lists(shape, max_size=4))]
    looks = draw(st.lists(st.tuples(look, COMPANY), min_size=1, max_size=4))
    count = draw(st.integers(100, 220))
    in_turn = [shapes[i % len(shapes)] for i in range(count)]
    in_blocks = [shapes[i * len(shapes) // count] for i in range(count)]
    chosen = draw(st.sampled_from([in_turn, in_blocks]))
    many = [_named(shape, f"n{i:03}", {HOST: f"n{i:03}"}) for i, shape in enumerate(chosen)]
    pending = []
    for i in range(pods_each * len(looks)):
        look, company = looks[i % len(looks)]
        pending.append(_named({**look, "spec": {**look["spec"], **company}}, f"p{i}", {"app": "a"}))
    return cluster(*many, *pending)


def _named(manifest: dict[str, Any], name: str, labels: dict[str, str]) -> dict[str, Any]:
    meta = manifest["metadata"]
    meta = {**meta, "name": name, "labels": {**meta.get("labels", {}), **labels}}
    return {**manifest, "metadata": meta}


@st.composite
def crowded_states(
    draw: st.DrawFn, profiles: Sequence[str] = ("default-scheduler",)
) -> ClusterState:
    """More nodes than an attempt looks at, or few; uneven, crowded by pods of low priority;
    pending pods that wait for one another, preempt, or fit nowhere."""
    count = draw(st.sampled_from([2, 4, 115, 130]))
    sizes = draw(st.lists(st.sampled_from([1, 1, 2, 4]), min_size=1, max_size=7))
    objects = [node(f"n{i:03}", cpu=sizes[i % len(sizes)]) for i in range(count)]
    usage = draw(st.lists(st.sampled_from([None, "500m", "1"]), min_size=1, max_size=5))
    for i in range(count):
        cpu = usage[i % len(usage)]
        if cpu is not None:
            labels = {"app": "a"} if i % 3 == 0 else None
            objects.append(pod(f"r{i:03}", node=f"n{i:03}", cpu=cpu, priority=1, labels=labels))
    pending = [
        pod(
            f"p{i}",
            cpu=draw(st.sampled_from(["100m", "1", "2", "4", "8"])),
            priority=draw(st.sampled_from([1, 1, 5, 9])),
            labels={"app": draw(st.sampled_from(["a", "b"]))},
            gates=draw(st.sampled_from([(), (), (), ("example.com/wait",)])),
            spec=draw(COMPANY),
            profile=draw(st.sampled_from(profiles)),
        )
        for i in range(draw(st.integers(1, 5)))
    ]
    return cluster(*objects, *pending)
