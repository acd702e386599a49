"""Configurations, right and wrong ones."""

import json
from collections.abc import Callable
from typing import Any

from generate import node_affinity, profiles, resources, spread
from generate.world import Draft, Draw, Object, World, configuration

PLUGINS = (
    *profiles.FILTERS,
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeBinding",
    "VolumeZone",
    "DynamicResources",
    "DefaultPreemption",
    "NodeResourcesBalancedAllocation",
    "ImageLocality",
    "SchedulingGates",
    "DefaultBinder",
    "PrioritySort",
)
POINTS = {
    "preEnqueue": ("SchedulingGates", "DynamicResources", "DefaultPreemption"),
    "queueSort": ("PrioritySort",),
    "preFilter": (*profiles.BOTH, "VolumeBinding", "VolumeZone", "DynamicResources"),
    "filter": (*profiles.FILTERS, "VolumeBinding", "VolumeZone", "DynamicResources"),
    "postFilter": ("DynamicResources", "DefaultPreemption"),
    "preScore": profiles.SCORERS[:6],
    "score": profiles.SCORERS,
    "reserve": ("VolumeBinding", "DynamicResources"),
    "permit": (),
    "preBind": ("VolumeBinding", "DynamicResources"),
    "bind": ("DefaultBinder",),
    "postBind": (),
    "multiPoint": PLUGINS,
}


def plugins(draw: Draw) -> Object:
    points = [point for point in POINTS if POINTS[point] or draw.wrong(0.2)]
    return {point: plugin_set(draw, point) for point in draw.some(points, 0, 4)}


def plugin_set(draw: Draw, point: str) -> Object:
    """Mostly plugins that extend the point; now and then any, or an unknown one."""
    fields: Object = {}
    plugins_at_point = POINTS[point]

    def entry() -> Object:
        strange = draw.wrong(0.06) or not plugins_at_point
        name = draw.pick((*PLUGINS, "Nope")) if strange else draw.pick(plugins_at_point)
        if draw.maybe(0.4):
            return {"name": name, "weight": draw.pick((0, 1, 2, 5, 10, 100))}
        return {"name": name}

    if draw.maybe(0.45):
        fields["disabled"] = [{"name": "*"}] if draw.maybe(0.4) else [entry()]
        needed = point in ("queueSort", "bind") and not draw.wrong(0.3)
        if needed:  # switched off for all, they must be switched on again
            fields["enabled"] = [{"name": name} for name in plugins_at_point]
            return fields
    if draw.maybe(0.7):
        entries = [entry() for _ in range(draw.randint(1, 3))]
        if not draw.wrong(0.1):  # a plugin twice is an error, which should not drown the rest
            entries = list({e["name"]: e for e in entries}.values())
        fields["enabled"] = entries
    return fields


def args(draw: Draw) -> list[Object]:
    makers: dict[str, Callable[[Draw], Object]] = {
        "NodeResourcesFit": fit,
        "NodeResourcesBalancedAllocation": lambda d: {"resources": weighted(d)},
        "InterPodAffinity": lambda d: {
            "hardPodAffinityWeight": number(d, (0, 1, 100), (-1, 101)),
            "ignorePreferredTermsOfExistingPods": d.maybe(0.5),
        },
        "PodTopologySpread": default_spread,
        "NodeAffinity": added,
        "VolumeBinding": volume_binding,
        "DefaultPreemption": lambda d: {
            "minCandidateNodesPercentage": number(d, (1, 10, 100), (-1, 0, 101)),
            "minCandidateNodesAbsolute": number(d, (1, 2, 100), (-1, 0)),
        },
        "DynamicResources": lambda d: {
            "filterTimeout": number(d, ("0s", "5s", "2m30s"), ("-1s", "x"))
        },
        "Nope": lambda d: {"x": 1},
    }
    chosen = []
    for name in draw.some(tuple(makers), 0, 3):
        value = makers[name](draw)
        if draw.wrong(0.1):
            value[draw.pick(("nonsense", "Weight", "resource"))] = 1
        if draw.maybe(0.15) and name != "Nope":
            value |= {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": f"{name}Args"}
        chosen.append({"name": name, "args": value})
    if chosen and draw.wrong(0.07):
        chosen.append(chosen[0])
    return chosen


def number(draw: Draw, right: tuple[Any, ...], wrong: tuple[Any, ...]) -> Any:
    return draw.pick(wrong if draw.wrong(0.35) else right)


def fit(draw: Draw) -> Object:
    kinds = ("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio", "Nope")
    strategy: Object = {"type": kinds[number(draw, (0, 1, 2, 2), (3,))]}
    if draw.maybe(0.7):
        strategy["resources"] = weighted(draw)
    if strategy["type"] == kinds[2] or draw.maybe(0.1):
        points = resources.shape(draw)
        if draw.wrong(0.3):
            draw.shuffle(points)
        if draw.wrong(0.2):
            point = {"utilization": draw.pick((-1, 50, 101)), "score": draw.pick((-1, 5, 11))}
            points.append(point)
        strategy["requestedToCapacityRatio"] = {"shape": points}
    fit: Object = {"scoringStrategy": strategy} if draw.maybe(0.9) else {}
    if draw.maybe(0.3):
        fit["ignoredResources"] = [number(draw, ("example.com/x",), ("cpu", "bad name", "a/b/c"))]
    if draw.maybe(0.3):
        groups = number(draw, ("example.com", "other.org"), ("bad/group", ""))
        fit["ignoredResourceGroups"] = [groups]
    return fit


def weighted(draw: Draw) -> list[Object]:
    chosen = resources.resources(draw)
    for resource in chosen:
        if draw.maybe(0.15):
            resource["weight"] = number(draw, (1, 100), (-1, 0, 101))
    if draw.wrong(0.1):
        chosen.append(dict(chosen[0]))
    return chosen


def default_spread(draw: Draw) -> Object:
    config = spread.defaults(draw)
    spread_args: Object = config["profiles"][0]["pluginConfig"][0]["args"]
    for rule in spread_args.get("defaultConstraints", []):
        if draw.wrong(0.15):
            rule["maxSkew"] = draw.pick((0, -1))
        if draw.wrong(0.1):
            rule["labelSelector"] = {"matchLabels": {"a": "b"}}
        if draw.wrong(0.1):
            rule["topologyKey"] = draw.pick(("", "bad key", "a/b/c"))
        if draw.wrong(0.1):
            rule["whenUnsatisfiable"] = draw.pick(("", "Never"))
    if draw.wrong(0.1):
        spread_args["defaultingType"] = draw.pick(("System", "Nope"))
    return spread_args


def added(draw: Draw) -> Object:
    world = World(draw)
    world.add_nodes(3, 3)
    config = node_affinity.added(world)
    affinity_args: Object = config["profiles"][0]["pluginConfig"][0]["args"]
    for term in affinity_args["addedAffinity"].get(
        "preferredDuringSchedulingIgnoredDuringExecution", []
    ):
        if draw.wrong(0.2):
            term["weight"] = draw.pick((0, 101, -5))
    return affinity_args


def volume_binding(draw: Draw) -> Object:
    binding: Object = {}
    if draw.maybe(0.7):
        binding["bindTimeoutSeconds"] = number(draw, (0, 1, 600), (-1,))
    if draw.wrong(0.3):
        binding["shape"] = resources.shape(draw)
    return binding


def extender(draw: Draw) -> Object:
    fields: Object = {
        "urlPrefix": number(draw, ("http://a.example/", "https://b.example"), ("", "::"))
    }
    for verb in ("filterVerb", "prioritizeVerb", "preemptVerb", "bindVerb"):
        if draw.maybe(0.4):
            fields[verb] = verb.removesuffix("Verb")
    if "prioritizeVerb" in fields or draw.maybe(0.3):
        fields["weight"] = number(draw, (1, 5), (-1, 0))
    if draw.maybe(0.3):
        names = ["example.com/foo", number(draw, ("other.org/bar",), ("cpu", "kubernetes.io/x"))]
        fields["managedResources"] = [
            {"name": name, **({"ignoredByScheduler": True} if draw.maybe(0.5) else {})}
            for name in names
        ]
    for name in ("enableHTTPS", "nodeCacheCapable", "ignorable"):
        if draw.maybe(0.2):
            fields[name] = True
    if draw.maybe(0.3):
        fields["httpTimeout"] = draw.pick(("100ms", "0s", "5s"))
    return fields


def top(draw: Draw) -> Object:
    fields: Object = {}
    for name, (right, wrong) in {
        "parallelism": ((1, 16), (0, -1)),
        "percentageOfNodesToScore": ((0, 50, 100), (101, -1)),
        "podInitialBackoffSeconds": ((1, 5), (0, 20)),
        "podMaxBackoffSeconds": ((10, 20), (0, 1)),
        "delayCacheUntilActive": ((True, False), ("yes",)),
        "leaderElection": (({"leaderElect": False},), ({"leaseDuration": "1s"},)),
        "clientConnection": (({"qps": 10, "burst": 5},), ({"burst": -1},)),
        "enableProfiling": ((False,), (1,)),
    }.items():
        if draw.maybe(0.1):
            fields[name] = number(draw, right, wrong)
    if draw.wrong(0.03):
        fields["nonsense"] = 1
    if draw.maybe(0.2):
        fields["extenders"] = [extender(draw) for _ in range(draw.randint(1, 2))]
    return fields


def profile(draw: Draw, name: str | None) -> Object:
    fields: Object = {} if name is None else {"schedulerName": name}
    if draw.maybe(0.7):
        fields["plugins"] = plugins(draw)
    if draw.maybe(0.6):
        fields["pluginConfig"] = args(draw)
    if draw.maybe(0.1):
        fields["percentageOfNodesToScore"] = number(draw, (0, 50), (101,))
    return fields


def generate(draw: Draw) -> Draft:
    draw.trouble = draw.pick((0.0, 0.0, 0.2, 1.0))
    named = [profile(draw, draw.pick(("default-scheduler", "default-scheduler", None)))]
    if draw.maybe(0.3):
        named.append(profile(draw, number(draw, ("other",), ("default-scheduler", ""))))
    config = configuration(*named, **top(draw))
    if draw.wrong(0.03):
        config["apiVersion"] = draw.pick(("kubescheduler.config.k8s.io/v1beta3", "v1", ""))
    if draw.wrong(0.03):
        config["kind"] = draw.pick(("Pod", "kubeSchedulerConfiguration", ""))
    return Draft(config=json.dumps(config, indent=1))
