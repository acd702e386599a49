"""Priority classes, disruption budgets, full nodes; nominations; pods that fit only later."""

from generate.inter_pod import label_selector
from generate.node_affinity import label_nodes
from generate.world import (
    APPS,
    HOST,
    ZONE,
    Draft,
    Draw,
    Object,
    World,
    is_bound,
    moment,
    requests,
    sometimes,
    with_args,
)

CLASSES = {"high": 1000, "mid": 500, "low": 10, "polite": 900}
LEAVING = "2026-01-01T10:00:00Z"


def add_classes(world: World, default: float = 0.3) -> None:
    for name, value in CLASSES.items():
        meta = {"name": name}
        priority_class: Object = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
        priority_class |= {"metadata": meta, "value": value}
        if name == "polite":
            priority_class["preemptionPolicy"] = "Never"
        if name == "low" and world.draw.maybe(default):
            priority_class["globalDefault"] = True
        world.others.append(priority_class)


def add_budgets(world: World) -> None:
    draw = world.draw
    for app in draw.some(APPS, 0, 3):
        selector = {"matchLabels": {"app": app}} if draw.maybe(0.7) else label_selector(draw)
        status: Object = {"disruptionsAllowed": draw.pick((0, 0, 1, 2))}
        status |= {"currentHealthy": 3, "desiredHealthy": 2, "expectedPods": 3}
        if draw.maybe(0.3):
            names = [f"b{draw.randint(0, 20):02d}" for _ in range(2)]
            status["disruptedPods"] = dict.fromkeys(names, "2026-01-01T00:00:00Z")
        budget: Object = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}
        budget["metadata"] = {"name": f"pdb-{app}", "namespace": "default"}
        budget |= {"spec": {"minAvailable": 1, "selector": selector}, "status": status}
        world.others.append(budget)


def full_nodes(world: World) -> None:
    """Small machines, so that few pods fill one."""
    draw = world.draw
    for node in world.nodes:
        for amounts in (node["status"]["allocatable"], node["status"]["capacity"]):
            amounts |= {"cpu": "4", "memory": "8Gi"}
        pods, cpu = draw.pick(("4", "6", "10", "110")), draw.pick(("2", "3", "4", "4"))
        for amounts in (node["status"]["allocatable"], node["status"]["capacity"]):
            amounts |= {"pods": pods, "cpu": cpu}
        if draw.maybe(0.1):
            node["spec"]["taints"] = [{"key": "k1", "effect": "NoSchedule"}]


def priority(world: World, pod: Object) -> None:
    draw = world.draw
    if draw.maybe(0.5):
        names = ("low", "low", "mid") if is_bound(pod) else ("high", "high", "mid", "polite")
        pod["spec"]["priorityClassName"] = draw.pick(names)
    elif draw.maybe(0.8):
        pod["spec"]["priority"] = draw.pick((-5, 0, 5, 10, 10, 500))


def amounts(world: World, pod: Object) -> None:
    draw = world.draw
    if is_bound(pod):
        requests(pod).update(cpu=draw.pick(("300m", "500m", "700m", "1000m")), memory="128Mi")
    else:
        requests(pod).update(cpu=draw.pick(("1", "1500m", "2", "100m", "3")), memory="256Mi")


def leaving(world: World, pod: Object) -> None:
    """A running pod that is going away, perhaps because the scheduler wanted it to."""
    if not is_bound(pod):
        return
    pod["metadata"] |= {"deletionTimestamp": LEAVING, "finalizers": ["x/y"]}
    if world.draw.maybe(0.6):
        reason = world.draw.pick(("PreemptionByScheduler", "EvictionByEvictionAPI"))
        condition = {"type": "DisruptionTarget", "status": "True", "reason": reason}
        pod["status"]["conditions"] = [condition]


def anti_affinity(world: World, pod: Object) -> None:
    term = {
        "topologyKey": world.draw.pick((ZONE, HOST)),
        "labelSelector": label_selector(world.draw),
    }
    rules = pod["spec"].setdefault("affinity", {}).setdefault("podAntiAffinity", {})
    rules["requiredDuringSchedulingIgnoredDuringExecution"] = [term]


def spread(world: World, pod: Object) -> None:
    rule: Object = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
    rule["labelSelector"] = label_selector(world.draw)
    pod["spec"]["topologySpreadConstraints"] = [rule]


def host_port(world: World, pod: Object) -> None:
    pod["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 8080}]


def in_zone(world: World, pod: Object) -> None:
    pod["spec"]["nodeSelector"] = {ZONE: world.draw.pick("abc")}


def nominated(world: World, pod: Object) -> None:
    if not is_bound(pod):
        pod["status"]["nominatedNodeName"] = world.node_name()


def solo(world: World, pod: Object) -> None:
    """A volume that one pod at a time may use."""
    claim = {"claimName": "solo"}
    pod["spec"].setdefault("volumes", []).append({"name": "v", "persistentVolumeClaim": claim})


def add_solo(world: World) -> None:
    mode = ["ReadWriteOncePod"]
    reference = {"namespace": "default", "name": "solo", "uid": "solo"}
    csi = {"driver": "csi.example.com", "volumeHandle": "h"}
    volume: Object = {"capacity": {"storage": "1Gi"}, "accessModes": mode}
    volume |= {"claimRef": reference, "csi": csi}
    claim: Object = {"accessModes": mode, "resources": {"requests": {"storage": "1Gi"}}}
    claim |= {"storageClassName": "", "volumeName": "solo"}
    annotations = {"pv.kubernetes.io/bind-completed": "yes"}
    meta = {"name": "solo", "namespace": "default", "uid": "solo", "annotations": annotations}
    bound = {"phase": "Bound"}
    v1: Object = {"apiVersion": "v1"}
    world.others += [
        {**v1, "kind": "PersistentVolumeClaim", "metadata": meta, "spec": claim, "status": bound},
        {
            **v1,
            "kind": "PersistentVolume",
            "metadata": {"name": "solo"},
            "spec": volume,
            "status": bound,
        },
    ]


def candidate_limits(draw: Draw) -> Object:
    percentage = draw.pick((0, 10, 50))
    absolute = draw.pick((1, 2, 100)) if percentage else draw.pick((1, 2, 3))
    candidates = {
        "minCandidateNodesPercentage": percentage,
        "minCandidateNodesAbsolute": absolute,
    }
    return with_args(DefaultPreemption=candidates)


def crowded(draw: Draw, nominations: float) -> Draft:
    world = World(draw)
    world.add_nodes(3, 6)
    full_nodes(world)
    add_classes(world)
    features = [
        amounts,
        priority,
        sometimes(0.1, leaving),
        sometimes(0.08, anti_affinity),
        sometimes(0.06, spread),
        sometimes(0.08, host_port),
        sometimes(0.05, in_zone),
        sometimes(nominations, nominated),
    ]
    if draw.maybe(0.2):
        add_solo(world)
        features.append(sometimes(0.08, solo))
    world.add_pods(len(world.nodes) * draw.randint(3, 5), draw.randint(2, 7), *features)
    add_budgets(world)
    alike = draw.maybe(0.35)  # so that candidates are equally good
    for pod in world.pods:
        if is_bound(pod) and (alike or draw.maybe(0.5)):
            pod["status"]["startTime"] = moment(60 if alike else draw.randint(0, 600))
        if is_bound(pod) and alike and draw.maybe(0.7):
            pod["spec"].pop("priorityClassName", None)
            pod["spec"]["priority"] = 0
            requests(pod)["cpu"] = "1000m"
    return world.draft(candidate_limits(draw) if draw.maybe(0.35) else None)


def generate(draw: Draw) -> Draft:
    return crowded(draw, 0.0)


def generate_nominated(draw: Draw) -> Draft:
    return crowded(draw, 0.5)


def follower(world: World, pod: Object) -> None:
    """A pod that wants to be with pods which may not have been placed yet."""
    draw = world.draw
    kind = draw.pick(("podAffinity", "podAffinity", "podAffinity", "podAntiAffinity"))
    term: Object = {"topologyKey": draw.pick((ZONE, HOST))}
    term["labelSelector"] = {"matchLabels": {"app": draw.pick(APPS)}}
    strength = "requiredDuringSchedulingIgnoredDuringExecution"
    pod["spec"].setdefault("affinity", {})[kind] = {strength: [term]}


def generate_retries(draw: Draw) -> Draft:
    world = World(draw)
    world.add_nodes(3, 5)
    label_nodes(world)

    def basics(world: World, pod: Object) -> None:
        requests(pod).update(cpu=draw.pick(("300m", "300m", "1")), memory="64Mi")
        pod["spec"]["priority"] = draw.pick((0, 10))

    features = (basics, sometimes(0.65, follower), sometimes(0.15, spread))
    world.add_pods(draw.pick((0, 0, 2)), draw.randint(6, 12), *features)
    return world.draft()
