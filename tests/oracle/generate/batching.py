"""Pods that look alike, one after the other, where pods are batched: each may fill its node."""

from generate.world import Draft, Draw, Object, World, configuration, requests

SPREAD: Object = {"name": "PodTopologySpread", "args": {"defaultingType": "List"}}


def profile(draw: Draw, name: str = "default-scheduler") -> Object:
    plugin_config: list[Object] = [SPREAD]
    if draw.maybe(0.2):
        args = {"ignorePreferredTermsOfExistingPods": True}
        plugin_config.append({"name": "InterPodAffinity", "args": args})
    if draw.maybe(0.3):
        strategy = {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}
        plugin_config.append({"name": "NodeResourcesFit", "args": {"scoringStrategy": strategy}})
    return {"schedulerName": name, "pluginConfig": plugin_config}


def template(draw: Draw) -> Object:
    """What pods of one kind have in common. Some fill a node, most do so by their port."""
    spec: Object = {"containers": [{"name": "c", "image": draw.pick(("img", "other:1"))}]}
    pod: Object = {"metadata": {"labels": {"app": draw.pick(("web", "db"))}}, "spec": spec}
    amounts = requests(pod)
    amounts["cpu"] = draw.pick(("100m", "1", "1500m", "2", "3"))
    if draw.maybe(0.6):
        port = {"containerPort": 80, "hostPort": draw.pick((80, 81))}
        spec["containers"][0]["ports"] = [port]
    if draw.maybe(0.3):
        spec["tolerations"] = [{"key": "k1", "operator": "Exists"}]
    if draw.maybe(0.15):
        term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {}}
        anti = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        spec["affinity"] = {"podAntiAffinity": anti}
    if draw.maybe(0.2):
        spec["volumes"] = [draw.pick(({"emptyDir": {}}, {"hostPath": {"path": "/a"}}))]
        spec["volumes"][0] = {"name": "v", **spec["volumes"][0]}
    if draw.maybe(0.15):
        spec["priority"] = 100
    return pod


def add_alike(world: World, count: int, pod: Object, scheduler: str) -> None:
    """Pending pods of a template; one in a while differs a little."""
    draw = world.draw
    for _ in range(count):
        number = len(world.pods)
        namespace = draw.pick(("default", "default", "default", "blue"))
        labels = dict(pod["metadata"]["labels"])
        spec = {**pod["spec"], "schedulerName": scheduler}
        if draw.maybe(0.1):
            labels["version"] = draw.pick("12")
        if draw.maybe(0.08):
            spec["topologySpreadConstraints"] = [{
                "maxSkew": 1, "topologyKey": "kubernetes.io/hostname",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": {"app": "web"}},
            }]  # fmt: skip
        metadata = {
            "name": f"p{number:02d}", "namespace": namespace, "labels": labels,
            "uid": f"uid-{number}", "creationTimestamp": f"2026-01-01T00:00:{number % 60:02d}Z",
        }  # fmt: skip
        world.pods.append(
            {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec,
             "status": {"phase": "Pending"}}
        )  # fmt: skip


def generate(draw: Draw) -> Draft:
    world = World(draw)
    is_large = draw.maybe(0.15)
    world.add_nodes(101 if is_large else 2, 140 if is_large else 8)
    for node in world.nodes:
        if draw.maybe(0.15):
            node["spec"]["taints"] = [{"key": "k1", "effect": "NoSchedule"}]
    names = ["default-scheduler", *(["second"] if draw.maybe(0.2) else [])]
    templates = [template(draw) for _ in range(draw.randint(1, 3))]
    while len(world.pods) < draw.randint(4, 14):
        add_alike(world, draw.randint(1, 6), draw.pick(templates), draw.pick(names))
    more = {"percentageOfNodesToScore": draw.pick((0, 50, 100))} if draw.maybe(0.4) else {}
    return world.draft(configuration(*(profile(draw, name) for name in names), **more))
