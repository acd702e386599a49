"""Gates, several profiles with halves of plugins switched off; and big clusters."""

from collections.abc import Callable

from generate import inter_pod, node_affinity, spread, taints
from generate.resources import light, plain
from generate.world import Draft, Draw, Feature, Object, World, configuration, requests, sometimes

SCORERS = (
    "TaintToleration",
    "NodeAffinity",
    "NodeResourcesFit",
    "NodeResourcesBalancedAllocation",
    "PodTopologySpread",
    "InterPodAffinity",
    "ImageLocality",
    "VolumeBinding",
)
FILTERS = (
    "NodeUnschedulable",
    "NodeName",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "PodTopologySpread",
    "InterPodAffinity",
)
BOTH = ("NodeAffinity", "NodePorts", "NodeResourcesFit", "PodTopologySpread", "InterPodAffinity")


def packing(draw: Draw) -> Object:
    strategy = {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}
    args = {"scoringStrategy": strategy}
    profile: Object = {"schedulerName": "packing"}
    profile["pluginConfig"] = [{"name": "NodeResourcesFit", "args": args}]
    if draw.maybe(0.85):
        profile["plugins"] = draw.pick(VARIANTS)(draw)
    return profile


def off(*names: str) -> Object:
    return {"disabled": [{"name": name} for name in names]}


def heavier(draw: Draw) -> Object:
    chosen = [{"name": n, "weight": draw.randint(1, 9)} for n in draw.some(SCORERS, 1, 3)]
    return {"score": {"enabled": chosen}}


def only_some(draw: Draw) -> Object:
    names = ["PrioritySort", *draw.some(FILTERS, 1, 4), "DefaultBinder"]
    return {"multiPoint": {**off("*"), "enabled": [{"name": name} for name in names]}}


def other_order(draw: Draw) -> Object:
    return {"filter": {"enabled": [{"name": name} for name in draw.some(FILTERS, 2, 5)]}}


VARIANTS: tuple[Callable[[Draw], Object], ...] = (
    heavier,
    only_some,
    other_order,
    lambda draw: {"score": {**off("*"), **heavier(draw)["score"]}},
    lambda draw: {"score": off("*"), "preScore": off("*")},
    lambda draw: {"preScore": off(*draw.some(SCORERS[:6], 1, 3))},
    lambda draw: {"preScore": off("*")},
    lambda draw: {"filter": off(*draw.some(FILTERS, 1, 3))},
    lambda draw: {"filter": off("*"), "preFilter": off("*")},
    lambda draw: {"preFilter": off("*")},
    lambda draw: {"preFilter": off(*draw.some(BOTH, 1, 2))},
    lambda draw: {"postFilter": off(draw.pick(("DefaultPreemption", "*")))},
    lambda draw: {"preEnqueue": off(draw.pick(("SchedulingGates", "*")))},
    lambda draw: {"multiPoint": off(*draw.some(FILTERS, 1, 3))},
)


def gated(world: World, pod: Object) -> None:
    pod["spec"]["schedulingGates"] = [{"name": "example.com/wait"}]


def of_profile(world: World, pod: Object) -> None:
    names = ("default-scheduler", "packing", "packing", "packing")
    name = "nobody" if world.draw.maybe(0.06) else world.draw.pick(names)
    pod["spec"]["schedulerName"] = name


def some_priority(world: World, pod: Object) -> None:
    pod["spec"]["priority"] = world.draw.pick((0, 0, 0, 5, 10))


def generate(draw: Draw) -> Draft:
    world = World(draw)
    world.add_nodes(3, 6)
    node_affinity.label_nodes(world)
    taints.taint_nodes(world, 0.3)
    features = (
        draw.pick((plain, light)),
        some_priority,
        sometimes(0.15, gated),
        of_profile,
        sometimes(0.3, taints.tolerations),
        sometimes(0.25, node_affinity.affinity),
        sometimes(0.2, inter_pod.preferred("podAffinity")),
        sometimes(0.15, inter_pod.required("podAntiAffinity")),
        sometimes(0.2, spread.constraints),
    )
    world.add_pods(draw.randint(0, 4), draw.randint(4, 9), *features)
    profiles = [{"schedulerName": "default-scheduler"}, packing(draw)]
    return world.draft(configuration(*profiles))


def generate_sampling(draw: Draw) -> Draft:
    """More than a hundred nodes, so that not all of them are looked at."""
    world = World(draw)
    world.add_nodes(101, draw.pick((130, 180, 260)), zoned=draw.pick((1.0, 0.8)))
    for node in world.nodes:
        status, cpu = node["status"], draw.pick(("2", "2", "4"))
        status["allocatable"] = {"cpu": cpu, "memory": "4Gi", "pods": "10"}
        status["capacity"] = dict(status["allocatable"])
        if draw.maybe(0.05):
            node["spec"]["unschedulable"] = True
        if draw.maybe(0.05):
            node["spec"]["taints"] = [taints.taint(draw)]

    def ask(world: World, pod: Object) -> None:
        requests(pod).update(cpu=draw.pick(("500m", "1500m", "1500m", "3")), memory="256Mi")

    features: list[Feature] = [ask]
    if draw.maybe(0.3):
        features.append(sometimes(0.3, spread.constraints))
    if draw.maybe(0.3):
        features.append(sometimes(0.3, inter_pod.required("podAntiAffinity")))
    world.add_pods(draw.pick((0, 0, 40)), draw.randint(4, 8), *features)
    percentage = draw.pick((None, None, 5, 40, 60, 100))
    profile: Object = {"schedulerName": "default-scheduler"}
    if percentage is None:
        return world.draft(configuration(profile))
    if draw.maybe(0.5):
        profile["percentageOfNodesToScore"] = percentage
        return world.draft(configuration(profile))
    return world.draft(configuration(profile, percentageOfNodesToScore=percentage))
