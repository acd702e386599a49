"""Pods of groups that are placed together: gangs of a least size, and groups without one."""

from collections.abc import Iterator

from generate import inter_pod, preempt
from generate.world import (
    HOST,
    ZONE,
    Draft,
    Draw,
    Feature,
    Object,
    World,
    configuration,
    is_bound,
    moment,
    requests,
    sometimes,
)

GANGS = "GenericWorkload=true,GangScheduling=true"
AFFINITY = (
    inter_pod.required("podAffinity"),
    inter_pod.required("podAntiAffinity"),
    inter_pod.preferred("podAffinity"),
    inter_pod.preferred("podAntiAffinity"),
)
PLACEMENT = "TopologyAwareWorkloadScheduling=true"
PREEMPTION = f"{GANGS},WorkloadAwarePreemption=true"
NAMES = ("red", "blue", "green")


def drawn_groups(world: World, version: str) -> Iterator[Object]:
    """Most of the groups, one after the other, each without what not all versions have."""
    draw = world.draw
    for name in NAMES:
        if draw.maybe(0.1):
            continue  # its pods wait for it
        policy: Object = {"basic": {}}
        if draw.maybe(0.75):
            policy = {"gang": {"minCount": draw.pick((1, 2, 2, 3, 3, 4))}}
        group: Object = {"apiVersion": f"scheduling.k8s.io/{version}", "kind": "PodGroup"}
        group["metadata"] = {"name": name, "namespace": "default", "uid": f"group-{name}"}
        group["spec"] = {"schedulingPolicy": policy}
        world.others.append(group)
        yield group


def topology(draw: Draw) -> Object:
    keys = [draw.pick((ZONE, ZONE, HOST, "rack"))] if draw.maybe(0.9) else []
    return {"topology": [{"key": key} for key in keys]}


def add_groups(world: World) -> None:
    draw = world.draw
    for group in drawn_groups(world, "v1alpha2"):
        if draw.maybe(0.4):
            group["spec"]["disruptionMode"] = draw.pick(("Pod", "PodGroup", "PodGroup"))
        if draw.maybe(0.7):
            group["spec"]["priority"] = draw.pick((-1, 0, 3, 10, 10))
        elif draw.maybe(0.3):
            group["spec"]["priorityClassName"] = draw.pick(("low", "high"))
        if draw.maybe(0.5):
            group["spec"]["schedulingConstraints"] = topology(draw)


def member(world: World, pod: Object) -> None:
    pod["spec"]["schedulingGroup"] = {"podGroupName": world.draw.pick(NAMES)}


def amounts(world: World, pod: Object) -> None:
    draw = world.draw
    sizes = ("300m", "1") if is_bound(pod) else ("500m", "1", "1500m", "2", "3")
    requests(pod).update(cpu=draw.pick(sizes), memory="128Mi")


def priority(world: World, pod: Object) -> None:
    levels = (-5, 0, 0) if is_bound(pod) else (0, 0, 5, 10)
    pod["spec"]["priority"] = world.draw.pick(levels)


def avoid_own(world: World, pod: Object) -> None:
    """No two pods of one label in a domain."""
    term = {
        "topologyKey": world.draw.pick((ZONE, HOST)),
        "labelSelector": {"matchLabels": {"app": pod["metadata"]["labels"]["app"]}},
    }
    rules = pod["spec"].setdefault("affinity", {}).setdefault("podAntiAffinity", {})
    rules["requiredDuringSchedulingIgnoredDuringExecution"] = [term]


def begin_apart(world: World) -> None:
    """No two running pods start at the same time: upstream takes such victims from a map."""
    for i, pod in enumerate(pod for pod in world.pods if is_bound(pod)):
        pod["status"]["startTime"] = moment(600 + 37 * i % 101)


def generate(draw: Draw) -> Draft:
    world = World(draw)
    preempt.add_classes(world)
    world.add_nodes(1, 6)
    preempt.full_nodes(world)
    add_groups(world)
    if draw.maybe(0.3):
        preempt.add_budgets(world)
    preempt.add_solo(world)
    features = [amounts, sometimes(0.7, member)]
    features += [feature for probability, feature in FEATURES if draw.maybe(probability)]
    if draw.maybe(0.2):
        features += [sometimes(0.3, draw.pick(AFFINITY)) for _ in range(3)]
    world.add_pods(draw.randint(0, 8), draw.randint(2, 12), *features)
    begin_apart(world)
    draft = world.draft(_config(draw))
    draft.gates = draw.pick((GANGS, PREEMPTION))
    if draw.maybe(0.5):
        draft.gates += f",{PLACEMENT}"
    return draft


# How many clusters have them, and what they add to their pods.
FEATURES: tuple[tuple[float, Feature], ...] = (
    (0.5, priority),
    (0.3, sometimes(0.3, preempt.host_port)),
    (0.3, sometimes(0.3, preempt.spread)),
    (0.2, sometimes(0.4, preempt.in_zone)),
    (0.2, sometimes(0.2, preempt.nominated)),
    (0.25, sometimes(0.4, avoid_own)),
    (0.15, sometimes(0.2, preempt.solo)),
)


def _config(draw: Draw) -> Object | None:
    if draw.maybe(0.7):
        return None
    profile: Object = {"schedulerName": "default-scheduler"}
    if draw.maybe(0.5):
        profile["plugins"] = {"multiPoint": {"disabled": [{"name": "GangScheduling"}]}}
    if draw.maybe(0.4):
        profile["plugins"] = {"postFilter": {"disabled": [{"name": "*"}]}}
    return configuration(profile, percentageOfNodesToScore=draw.pick((0, 50)))
