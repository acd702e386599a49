"""The cluster that a random case is made of."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")
Object = dict[str, Any]
Feature = Callable[["World", Object], None]

ZONE = "topology.kubernetes.io/zone"
REGION = "topology.kubernetes.io/region"
HOST = "kubernetes.io/hostname"
APPS = ("web", "db", "cache", "batch")


class Draw(random.Random):
    """Random choices under short names."""

    trouble = 1.0  # how much of what is wrong a case gets

    def wrong(self, probability: float) -> bool:
        return self.random() < probability * self.trouble

    def maybe(self, probability: float) -> bool:
        return self.random() < probability

    def pick(self, items: Sequence[T]) -> T:
        return items[self.randrange(len(items))]

    def some(self, items: Sequence[T], least: int, most: int) -> list[T]:
        return self.sample(list(items), min(len(items), self.randint(least, most)))


@dataclass
class Draft:
    """A random case: the objects of its state, and its configuration if not the default.

    gates: a value of --feature-gates; timeline: its header and events, where time passes
    """

    objects: list[Object] = field(default_factory=list)
    config: Object | str | None = None
    gates: str = ""
    timeline: Object | None = None


@dataclass
class World:
    """A cluster under construction. Features are functions that add something to one pod."""

    draw: Draw
    nodes: list[Object] = field(default_factory=list)
    others: list[Object] = field(default_factory=list)
    pods: list[Object] = field(default_factory=list)
    namespaces: list[str] = field(default_factory=lambda: ["default"])

    def draft(self, config: Object | None = None) -> Draft:
        return Draft([*self.others, *self.nodes, *self.pods], config)

    def add_nodes(self, least: int, most: int, zoned: float = 0.9, roomy: bool = False) -> None:
        draw = self.draw
        width = 3 if most > 100 else 2
        for i in range(draw.randint(least, most)):
            name = f"n{i:0{width}d}"
            labels = {HOST: name}
            if draw.maybe(zoned):
                labels |= {ZONE: draw.pick("abc"), REGION: "r1"}
            amount = {
                "cpu": "16" if roomy else draw.pick(("2", "3500m", "4", "8", "16")),
                "memory": draw.pick(("4Gi", "7890Mi", "8Gi", "16Gi", "32Gi")),
                "pods": "110" if roomy else draw.pick(("5", "10", "110")),
                "ephemeral-storage": draw.pick(("10Gi", "50Gi")),
            }
            self.nodes.append(
                {
                    "apiVersion": "v1",
                    "kind": "Node",
                    "metadata": {"name": name, "labels": labels},
                    "spec": {},
                    "status": {"allocatable": dict(amount), "capacity": dict(amount)},
                }
            )

    def add_namespaces(self) -> None:
        self.namespaces = ["default", "blue", "green"]
        teams: dict[str, dict[str, str]] = {"default": {}, "blue": {"team": "x"}}
        for name in self.namespaces:
            labels = {"kubernetes.io/metadata.name": name, **teams.get(name, {"team": "y"})}
            meta = {"name": name, "labels": labels}
            self.others.append({"apiVersion": "v1", "kind": "Namespace", "metadata": meta})

    def node_name(self) -> str:
        name: str = self.draw.pick(self.nodes)["metadata"]["name"]
        return name

    def add_pods(self, bound: int, pending: int, *features: Feature) -> None:
        """Adds running and pending pods, each with the features given, in their order."""
        for i in range(bound):
            self.add_pod(f"b{i:02d}", i, features, self.node_name())
        for i in range(pending):
            self.add_pod(f"p{i:02d}", 60 + i, features, None)

    def add_pod(
        self, name: str, second: int, features: Sequence[Feature], node: str | None
    ) -> None:
        draw = self.draw
        namespace = "default"
        if len(self.namespaces) > 1 and draw.maybe(0.4):
            namespace = draw.pick(self.namespaces[1:])
        # Some pods share their moment of creation: then the order in the file counts.
        second += draw.pick((0, 0, 0, 0, 60, -1)) if second else 0
        status: Object = {"phase": "Pending"}
        if node is not None:
            started = second + draw.pick((1, 1, 1, 61, 2))
            status = {"phase": "Running", "startTime": moment(started)}
        pod: Object = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": name,
                "namespace": namespace,
                "labels": {"app": draw.pick(APPS)},
                "uid": f"uid-{namespace}-{name}",
                "creationTimestamp": moment(second),
            },
            "spec": {"containers": [{"name": "c", "image": "img"}]},
            "status": status,
        }
        if node is not None:
            pod["spec"]["nodeName"] = node
        for feature in features:
            feature(self, pod)
        self.pods.append(pod)


def moment(second: int) -> str:
    return f"2026-01-01T00:{second // 60 % 60:02d}:{second % 60:02d}Z"


def is_bound(pod: Object) -> bool:
    return "nodeName" in pod["spec"]


def requests(pod: Object) -> Object:
    """The first container's requests, made when they are not there."""
    amounts: Object = (
        pod["spec"]["containers"][0].setdefault("resources", {}).setdefault("requests", {})
    )
    return amounts


def small(world: World, pod: Object) -> None:
    """A feature: requests that hardly matter, so that other constraints decide."""
    requests(pod)["cpu"] = "100m"
    if world.draw.maybe(0.6):
        requests(pod)["memory"] = "64Mi"


def sometimes(probability: float, feature: Feature) -> Feature:
    """The feature on some pods only."""

    def on_some(world: World, pod: Object) -> None:
        if world.draw.maybe(probability):
            feature(world, pod)

    return on_some


def configuration(*profiles: Object, **more: Any) -> Object:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": list(profiles) or [{"schedulerName": "default-scheduler"}],
        **more,
    }


def with_args(**args: Any) -> Object:
    """A configuration of one profile with these plugins' arguments."""
    plugin_config = [{"name": name, "args": value} for name, value in args.items()]
    return configuration({"schedulerName": "default-scheduler", "pluginConfig": plugin_config})
