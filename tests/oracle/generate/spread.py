"""Topology spread: constraints of the pod's own, and default ones from services and owners."""

from generate.inter_pod import label_pods, label_selector
from generate.node_affinity import label_nodes, selector
from generate.world import (
    APPS,
    HOST,
    ZONE,
    Draft,
    Draw,
    Object,
    World,
    requests,
    sometimes,
    with_args,
)

KEYS = (ZONE, ZONE, HOST, "rack", "disk")
WAYS = ("DoNotSchedule", "DoNotSchedule", "ScheduleAnyway")


def constraints(world: World, pod: Object) -> None:
    draw = world.draw
    seen: set[tuple[str, str]] = set()
    rules = []
    for _ in range(draw.randint(1, 3)):
        way, key = draw.pick(WAYS), draw.pick(KEYS)
        if (key, way) in seen:
            continue  # the API server takes no two of the same key and way
        seen.add((key, way))
        rule: Object = {"maxSkew": draw.pick((1, 1, 2, 3)), "topologyKey": key}
        rule["whenUnsatisfiable"] = way
        if draw.maybe(0.95):
            rule["labelSelector"] = own_or_any(draw, pod)
        if way == "DoNotSchedule" and draw.maybe(0.25):
            rule["minDomains"] = draw.pick((1, 2, 4))
        for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if draw.maybe(0.2):
                rule[policy] = draw.pick(("Honor", "Ignore"))
        if "labelSelector" in rule and draw.maybe(0.2):
            rule["matchLabelKeys"] = ["rev"]
        rules.append(rule)
    pod["spec"]["topologySpreadConstraints"] = rules


def own_or_any(draw: Draw, pod: Object) -> Object:
    labels = pod["metadata"].get("labels")
    if labels and draw.maybe(0.5):
        return {"matchLabels": {"app": labels["app"]}}
    return label_selector(draw)


def tiny(world: World, pod: Object) -> None:
    requests(pod)["cpu"] = "50m"
    if world.draw.maybe(0.5):
        requests(pod)["memory"] = "32Mi"


def tolerant(world: World, pod: Object) -> None:
    pod["spec"]["tolerations"] = [{"key": "k1", "operator": "Exists"}]


def taint_some(world: World) -> None:
    for node in world.nodes:
        if world.draw.maybe(0.22):
            effect = world.draw.pick(("NoSchedule", "PreferNoSchedule"))
            node["spec"]["taints"] = [{"key": "k1", "value": "v", "effect": effect}]


def defaults(draw: Draw) -> Object:
    if draw.maybe(0.15):
        return with_args(PodTopologySpread={"defaultingType": "System"})
    rules, seen = [], set()
    for _ in range(draw.randint(0, 2)):
        rule = {"maxSkew": draw.pick((1, 2, 3)), "topologyKey": draw.pick((ZONE, HOST, "rack"))}
        rule["whenUnsatisfiable"] = draw.pick(("DoNotSchedule", "ScheduleAnyway"))
        if (rule["topologyKey"], rule["whenUnsatisfiable"]) not in seen:
            seen.add((rule["topologyKey"], rule["whenUnsatisfiable"]))
            rules.append(rule)
    return with_args(PodTopologySpread={"defaultingType": "List", "defaultConstraints": rules})


def base(draw: Draw) -> World:
    world = World(draw)
    world.add_nodes(4, 9)
    label_nodes(world)
    world.add_namespaces()
    taint_some(world)
    return world


FEATURES = (tiny, label_pods, sometimes(0.2, selector), sometimes(0.25, tolerant))


def generate(draw: Draw) -> Draft:
    world = base(draw)
    features = (*FEATURES, sometimes(0.75, constraints))
    world.add_pods(draw.randint(2, 12), draw.randint(4, 11), *features)
    return world.draft(defaults(draw) if draw.maybe(0.35) else None)


def owned(world: World, pod: Object) -> None:
    """The pod belongs to one of the workloads, or to something the scheduler does not know."""
    owners = [o for o in world.others if o["kind"] in ("ReplicaSet", "StatefulSet")]
    owner = world.draw.pick(owners)
    reference = {
        "apiVersion": "apps/v1",
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"].get("uid", "u"),
        "controller": True,
    }
    if world.draw.maybe(0.08):
        reference |= {"apiVersion": "batch/v1", "kind": "Job", "name": "j"}
    if world.draw.maybe(0.1):
        controller = {"apiVersion": "v1", "kind": "ReplicationController", "name": "rc-x"}
        reference |= controller
    pod["metadata"]["ownerReferences"] = [reference]


def add_workloads(world: World) -> None:
    draw = world.draw
    for app in draw.some(APPS, 1, 2):
        spec = {"selector": {"app": app}, "ports": [{"port": 80}]}
        world.others.append(thing("v1", "Service", f"svc-{app}", spec))
    if draw.maybe(0.25):
        world.others.append(thing("v1", "Service", "bare", {"ports": [{"port": 80}]}))
    for kind, short in (("ReplicaSet", "rs"), ("StatefulSet", "ss")):
        app = draw.pick(APPS)
        labels = {"app": app}
        containers = [{"name": "c", "image": "i"}]
        spec = {"selector": {"matchLabels": labels}}
        if draw.maybe(0.2):
            spec["selector"] = {
                "matchExpressions": [{"key": "app", "operator": "In", "values": [app, "other"]}]
            }
        spec["template"] = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
        if kind == "StatefulSet":
            spec["serviceName"] = "x"
        world.others.append(thing("apps/v1", kind, f"{short}-{app}", spec))
    if draw.maybe(0.5):
        spec = {"selector": {"app": draw.pick(APPS)}}
        world.others.append(thing("v1", "ReplicationController", "rc-x", spec))


def thing(version: str, kind: str, name: str, spec: Object) -> Object:
    meta = {"name": name, "namespace": "default", "uid": name}
    return {"apiVersion": version, "kind": kind, "metadata": meta, "spec": spec}


def generate_defaults(draw: Draw) -> Draft:
    world = base(draw)
    add_workloads(world)
    features = (*FEATURES, sometimes(0.5, owned), sometimes(0.12, constraints))
    world.add_pods(draw.randint(2, 12), draw.randint(4, 11), *features)
    return world.draft(defaults(draw) if draw.maybe(0.5) else None)
