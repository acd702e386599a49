"""Clusters, and what the real scheduler is to decide in them. Each is the same every time."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.live.control_plane.api import Api, wait
from tests.live.control_plane.device_kinds import device_kinds, more_claims
from tests.live.control_plane.manifests import (
    GPU,
    HOST,
    IMAGES,
    ZONE,
    ZONES,
    Manifest,
    amounts,
    near,
    nodes,
    pod,
    prefers,
    priority_classes,
    spread,
)
from tests.live.control_plane.storage import devices, equal_volumes, more_claimants, volumes

SEED = 7
WAVES = 4
# How many of an app's pods may be missing.
GUARDED = {"guarded": 0, "some": 3, "more": 8}
# Decisions just after a node has changed may have been made before it was noticed.
SPACED_SECONDS = 6.0


def _nothing(_: Api) -> None:
    """Nothing happens while the scheduler runs."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """objects: there before the scheduler starts. config: fields of its configuration.
    meanwhile: what happens while it runs. extender: whether that of the conformance cases runs, at
    the address that takes the place of EXTENDER in the configuration. kwok: whether pods run.
    verbosity: of the scheduler's log; at 4 it tells when nominations are noticed. is_followed:
    whether the states and the log suffice to judge every decision; a recording always has to.
    since: the first minor that it is of"""

    objects: Callable[[], list[Manifest]]
    config: dict[str, Any] = field(default_factory=dict)
    meanwhile: Callable[[Api], None] = _nothing
    controllers: bool = False
    extender: bool = False
    kwok: bool = False
    verbosity: int = 3
    is_followed: bool = True
    since: str = "1.34"


def _mixed_pods(draw: random.Random, count: int) -> list[Manifest]:
    pods = []
    for number in range(count):
        fields: dict[str, Any] = {
            "image": draw.choice(IMAGES),
            "labels": {"app": f"app-{number % 7}"},
            "priorityClassName": draw.choice(["low", "middle", "middle", "high"]),
        }
        requests = amounts(draw)
        if draw.random() < 0.3:
            fields["tolerations"] = [{"key": "dedicated", "operator": "Exists"}]
        if draw.random() < 0.2:
            fields["nodeSelector"] = {"disk": draw.choice(["ssd", "hdd"])}
        if draw.random() < 0.3:
            fields["affinity"] = prefers(ZONE, draw.sample(ZONES, 2), draw.randrange(1, 100))
        if draw.random() < 0.05:
            requests[GPU] = "1"
        if draw.random() < 0.05:
            fields["ports"] = [8000 + draw.randrange(3)]
        pods.append(pod(f"pod-{number:04}", requests, **fields))
    return pods


def mixed(node_count: int, pod_count: int) -> list[Manifest]:
    draw = random.Random(SEED)
    return [*priority_classes(), *nodes(draw, node_count), *_mixed_pods(draw, pod_count)]


def spread_out() -> list[Manifest]:
    draw = random.Random(SEED)
    pods = []
    for number in range(300):
        app = f"app-{number % 6}"
        kinds: list[dict[str, Any]] = [
            {"topologySpreadConstraints": [spread(ZONE, app, hard=True)]},
            {"topologySpreadConstraints": [spread(HOST, app, hard=False, skew=2)]},
            {
                "topologySpreadConstraints": [
                    spread(ZONE, app, hard=True, skew=2),
                    spread(HOST, app, hard=False),
                ]
            },
            {"affinity": {"podAntiAffinity": near(app, HOST)}},
            {"affinity": {"podAntiAffinity": near(app, ZONE, weight=40)}},
            {"affinity": {"podAffinity": near(app, ZONE, weight=60)}},
        ]
        fields = kinds[number % 6]
        pods.append(pod(f"{app}-{number:03}", amounts(draw), labels={"app": app}, **fields))
    draw.shuffle(pods)
    return [*nodes(draw, 60, plain=True), *pods]


def full_cluster() -> list[Manifest]:
    """Nodes full of pods of low priority, some under a budget, and pods that may evict them."""
    draw = random.Random(SEED)
    machines = nodes(draw, 40, plain=True)
    pods = []
    for machine in machines:
        name = machine["metadata"]["name"]
        for number in range(int(machine["status"]["allocatable"]["cpu"])):
            fields: dict[str, Any] = {
                "nodeName": name,
                "priorityClassName": draw.choice(["low", "low", "middle"]),
                "labels": {"app": draw.choice(["guarded", "free", "free"])},
            }
            pods.append(pod(f"{name}-{number:02}", {"cpu": "950m"}, **fields))
    for number in range(60):
        requests = {"cpu": draw.choice(["500m", "900m", "1800m"])}
        priority = draw.choice(["high", "high", "middle"])
        pods.append(pod(f"urgent-{number:02}", requests, priorityClassName=priority))
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "guarded", "namespace": "default"},
        "spec": {"minAvailable": 1000, "selector": {"matchLabels": {"app": "guarded"}}},
    }
    return [*priority_classes(), budget, *machines, *pods]


def guarded_cluster() -> list[Manifest]:
    """Nodes full of pods of low priority, most of them under budgets that allow a few evictions."""
    draw = random.Random(SEED + 5)
    machines = nodes(draw, 24, plain=True)
    pods = []
    for machine in machines:
        name = machine["metadata"]["name"]
        for number in range(int(machine["status"]["allocatable"]["cpu"])):
            fields: dict[str, Any] = {
                "nodeName": name,
                "priorityClassName": draw.choice(["low", "low", "middle"]),
                "labels": {"app": draw.choice([*GUARDED, "free"])},
            }
            pods.append(pod(f"{name}-{number:02}", {"cpu": "950m"}, **fields))
    counts = Counter(manifest["metadata"]["labels"]["app"] for manifest in pods)
    budgets = [
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": app, "namespace": "default"},
            "spec": {
                "minAvailable": counts[app] - allowed,
                "selector": {"matchLabels": {"app": app}},
            },
        }
        for app, allowed in GUARDED.items()
    ]
    return [*priority_classes(), *budgets, *machines, *pods]


def bursts(api: Api) -> None:
    """Pods that evict others come many at once, and again when these have been placed."""
    draw = random.Random(SEED + 6)
    for burst in range(WAVES):
        pods = [
            pod(
                f"urgent-{burst}-{number:02}",
                {"cpu": draw.choice(["500m", "900m", "1800m"])},
                priorityClassName=draw.choice(["high", "high", "middle"]),
            )
            for number in range(15)
        ]
        api.create(pods)
        time.sleep(SPACED_SECONDS)


def alike() -> list[Manifest]:
    """Pods of few templates, one after the other; see BATCHING."""
    draw = random.Random(SEED + 7)
    return [*nodes(draw, 50, plain=True), *_pods_alike(draw, "first", 150)]


def more_alike(api: Api) -> None:
    draw = random.Random(SEED + 8)
    for wave in range(WAVES):
        api.create(_pods_alike(draw, f"later-{wave}", 40))
        time.sleep(0.5)


def _pods_alike(draw: random.Random, prefix: str, count: int) -> list[Manifest]:
    """In runs of up to twenty of one template; most are alone on their node, by a port."""
    pods: list[Manifest] = []
    while len(pods) < count:
        requests, fields = amounts(draw), dict[str, Any](image=draw.choice(IMAGES))
        fields["nodeSelector"] = draw.choice([{}, {}, {"disk": "ssd"}])
        if draw.random() < 0.7:
            fields["ports"] = [8000 + draw.randrange(1000)]
        for _ in range(min(draw.randrange(1, 21), count - len(pods))):
            pods.append(pod(f"{prefix}-{len(pods):03}", requests, **fields))
    return pods


def gated() -> list[Manifest]:
    draw = random.Random(SEED)
    pods = _mixed_pods(draw, 240)
    for manifest in pods[40:]:
        manifest["spec"]["schedulingGates"] = [{"name": "example.com/quota"}]
    return [*priority_classes(), *nodes(draw, 50), *pods]


def open_gates(api: Api) -> None:
    """In waves, in no particular order; some stay closed."""
    names = [f"pod-{number:04}" for number in range(40, 230)]
    random.Random(SEED).shuffle(names)
    for wave in range(WAVES):
        for name in names[wave::WAVES]:
            api.patch_pod(name, {"spec": {"schedulingGates": None}})
        time.sleep(1)


def waves(api: Api) -> None:
    """More pods, while the first ones are placed."""
    draw = random.Random(SEED + 1)
    pods = _mixed_pods(draw, 200)
    for wave in range(WAVES):
        more = pods[wave::WAVES]
        for manifest in more:
            manifest["metadata"]["name"] = f"later-{manifest['metadata']['name']}"
        api.create(more)
        time.sleep(0.5)


def several_schedulers() -> list[Manifest]:
    draw = random.Random(SEED)
    pods = _mixed_pods(draw, 300)
    for manifest in pods:
        manifest["spec"]["schedulerName"] = draw.choice(["default-scheduler", "packer", "plain"])
    return [*priority_classes(), *nodes(draw, 70), *pods]


def churn(api: Api) -> None:
    """Nodes join, change and leave while pods come."""
    draw = random.Random(SEED + 2)
    joining = nodes(draw, 40, plain=True)[30:]
    pods = _plain_pods(draw, 150, "churn")
    for wave in range(WAVES):
        api.create(pods[wave::WAVES])
        time.sleep(SPACED_SECONDS)
        api.create(joining[wave::WAVES])
        api.patch_node(f"node-{wave:03}", {"spec": {"unschedulable": True}})
        api.patch_node(f"node-{wave + 10:03}", {"metadata": {"labels": {"disk": "new"}}})
        api.delete_nodes([f"node-{wave + 20:03}"])
        time.sleep(SPACED_SECONDS)


def come_and_go(api: Api) -> None:
    """Pods that are placed are deleted, and others come: neither state has most of them."""
    draw = random.Random(SEED + 3)
    for wave in range(WAVES):
        pods = _plain_pods(draw, 60, f"short-{wave}")
        api.create(pods)
        wait("the pods", lambda: all(pod["spec"].get("nodeName") for pod in api.pods()))
        api.delete_pods(pod["metadata"]["name"] for pod in pods if draw.random() < 0.7)


def given_nodes(api: Api) -> None:
    """Pods that were created with their node come between others."""
    draw = random.Random(SEED + 4)
    pods = _plain_pods(draw, 120, "given")
    for number, manifest in enumerate(pods):
        if number % 4 == 0:
            manifest["spec"]["nodeName"] = f"node-{draw.randrange(30):03}"
    api.create(pods)


def _plain_pods(draw: random.Random, count: int, prefix: str) -> list[Manifest]:
    apps = [f"app-{number % 5}" for number in range(count)]
    return [
        pod(f"{prefix}-{number:03}", amounts(draw), labels={"app": app})
        for number, app in enumerate(apps)
    ]


def plain(count: int) -> list[Manifest]:
    """Nodes whose images are the same everywhere, and some pods."""
    draw = random.Random(SEED)
    machines = nodes(draw, 30, plain=True)
    for machine in machines:
        for image in machine["status"]["images"]:
            image["sizeBytes"] = 300 * 2**20
    return [*priority_classes(), *machines, *_plain_pods(draw, count, "first")]


def six_schedulers() -> list[Manifest]:
    draw = random.Random(SEED)
    pods = _mixed_pods(draw, 300)
    for manifest in pods:
        manifest["spec"]["schedulerName"] = draw.choice([*SIX])
    return [*priority_classes(), *nodes(draw, 70), *pods]


SIX: dict[str, dict[str, Any]] = {
    "default-scheduler": {},
    "packer": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]},
    "memory": {"type": "LeastAllocated", "resources": [{"name": "memory", "weight": 2}]},
    "ratio": {
        "type": "RequestedToCapacityRatio",
        "resources": [{"name": "cpu", "weight": 1}],
        "requestedToCapacityRatio": {
            "shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]
        },
    },
    "gpus": {"type": "MostAllocated", "resources": [{"name": GPU, "weight": 5}]},
    "both": {
        "type": "LeastAllocated",
        "resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}],
    },
}
SIX_PROFILES = {
    "profiles": [
        {
            "schedulerName": name,
            "pluginConfig": [
                {"name": "NodeResourcesFit", "args": {"scoringStrategy": strategy}}
                for strategy in [strategy]
                if strategy
            ],
        }
        for name, strategy in SIX.items()
    ]
}

# Default spread constraints keep pods from being placed in batches.
BATCHING = {
    "profiles": [
        {
            "schedulerName": "default-scheduler",
            "pluginConfig": [
                {
                    "name": "PodTopologySpread",
                    "args": {"defaultingType": "List", "defaultConstraints": []},
                }
            ],
        }
    ]
}

PROFILES = {
    "profiles": [
        {"schedulerName": "default-scheduler"},
        {
            "schedulerName": "packer",
            "pluginConfig": [
                {
                    "name": "NodeResourcesFit",
                    "args": {
                        "scoringStrategy": {
                            "type": "MostAllocated",
                            "resources": [
                                {"name": "cpu", "weight": 3},
                                {"name": "memory", "weight": 1},
                            ],
                        }
                    },
                }
            ],
            "plugins": {"score": {"disabled": [{"name": "NodeResourcesBalancedAllocation"}]}},
        },
        {
            "schedulerName": "plain",
            "plugins": {
                "score": {
                    "disabled": [{"name": "*"}],
                    "enabled": [{"name": "ImageLocality", "weight": 5}],
                }
            },
        },
    ]
}

EXTENDER = "EXTENDER"
EXTENDERS = {
    "extenders": [
        {
            "urlPrefix": f"{EXTENDER}/even",
            "filterVerb": "filter",
            "nodeCacheCapable": True,
            "enableHTTPS": False,
        },
        {
            "urlPrefix": f"{EXTENDER}/number",
            "prioritizeVerb": "prioritize",
            "weight": 3,
            "enableHTTPS": False,
        },
    ]
}

SCENARIOS = {
    "mixed": Scenario(lambda: mixed(90, 700)),
    "sampled": Scenario(lambda: mixed(250, 500)),
    "sampled-in-order": Scenario(lambda: mixed(200, 300), {"parallelism": 1}),
    "arriving": Scenario(lambda: mixed(60, 100), meanwhile=waves, kwok=True),
    "spread": Scenario(spread_out),
    "preemption": Scenario(full_cluster, controllers=True, kwok=True, verbosity=4),
    "volumes": Scenario(volumes, controllers=True),
    "gates": Scenario(gated, meanwhile=open_gates),
    "profiles": Scenario(several_schedulers, PROFILES),
    "extender": Scenario(lambda: mixed(60, 150), EXTENDERS, extender=True),
    "claims": Scenario(devices, controllers=True),
    "churn": Scenario(lambda: plain(100), meanwhile=churn, is_followed=False),
    "come-and-go": Scenario(lambda: plain(60), meanwhile=come_and_go, is_followed=False),
    "given-nodes": Scenario(lambda: plain(60), meanwhile=given_nodes),
    "six-profiles": Scenario(six_schedulers, SIX_PROFILES),
    "bursts": Scenario(
        guarded_cluster,
        meanwhile=bursts,
        controllers=True,
        kwok=True,
        verbosity=4,
        is_followed=False,
    ),
    "equal-volumes": Scenario(equal_volumes, meanwhile=more_claimants, controllers=True),
    "device-kinds": Scenario(device_kinds, meanwhile=more_claims, controllers=True, since="1.36"),
    "batching": Scenario(alike, BATCHING, meanwhile=more_alike),
}


def scenarios_of(minor: str) -> list[str]:
    """The names of those that a control plane of the minor can play."""
    return [name for name, scenario in SCENARIOS.items() if scenario.since <= minor]
