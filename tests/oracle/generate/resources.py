"""Requests of every kind, and the scoring strategies."""

from generate.world import Draft, Draw, Object, World, is_bound, requests, sometimes, with_args

GPU = "example.com/gpu"
GRANTED = {"cpu": ("100m", "800m", "2500m", "5"), "memory": ("96Mi", "2Gi", "5Gi")}


def plain(world: World, pod: Object) -> None:
    draw, amounts = world.draw, requests(pod)
    if draw.maybe(0.92):
        amounts["cpu"] = draw.pick(
            ("50m", "100m", "250m", "300m", "500m", "1", "1500m", "2", "3", "4", "0")
        )
    if draw.maybe(0.9):
        amounts["memory"] = draw.pick(
            ("64Mi", "128Mi", "512Mi", "1Gi", "1500M", "2Gi", "3Gi", "7Gi", "200e6", "123456789")
        )


def light(world: World, pod: Object) -> None:
    draw = world.draw
    requests(pod).update(cpu=draw.pick(("100m", "250m", "500m", "1")), memory="128Mi")


def unusual(world: World, pod: Object) -> None:
    draw, amounts = world.draw, requests(pod)
    for name, values in {
        "ephemeral-storage": ("1Gi", "5Gi", "20Gi"),
        GPU: ("1", "2", "4"),
        "example.com/unknown": ("1",),
        "hugepages-2Mi": ("2Mi", "64Mi"),
        "other.org/dev": ("1",),
    }.items():
        if draw.maybe(0.25):
            amounts[name] = draw.pick(values)


def limits(world: World, pod: Object) -> None:
    """Limits without requests, which the API server takes for the requests, or beside them."""
    container = pod["spec"]["containers"][0]
    container["resources"] = {"limits": {"cpu": "300m", "memory": "256Mi"}}
    if world.draw.maybe(0.4):
        container["resources"]["requests"] = {"cpu": "200m"}


def second_container(world: World, pod: Object) -> None:
    amounts = {"cpu": world.draw.pick(("100m", "1")), "memory": "100Mi"}
    container = {"name": "d", "image": "img", "resources": {"requests": amounts}}
    pod["spec"]["containers"].append(container)


def init_containers(world: World, pod: Object) -> None:
    draw = world.draw
    containers = []
    for i in range(draw.randint(1, 3)):
        amounts = {"cpu": draw.pick(("50m", "100m", "200m", "2", "3"))}
        if draw.maybe(0.7):
            amounts["memory"] = draw.pick(("64Mi", "100Mi", "200Mi", "3Gi"))
        container = {"name": f"i{i}", "image": "img", "resources": {"requests": amounts}}
        if draw.maybe(0.45):
            container["restartPolicy"] = "Always"
        containers.append(container)
    pod["spec"]["initContainers"] = containers


def overhead(world: World, pod: Object) -> None:
    pod["spec"]["overhead"] = {"cpu": "250m", "memory": "120Mi"}


def pod_level(world: World, pod: Object) -> None:
    draw = world.draw
    level: Object = {"requests": {"cpu": draw.pick(("700m", "2", "3"))}}
    if draw.maybe(0.7):
        level["requests"]["memory"] = draw.pick(("1Gi", "3Gi"))
    if draw.maybe(0.3):
        level["limits"] = {"cpu": "4", "memory": "4Gi"}
    pod["spec"]["resources"] = level


def resized(world: World, pod: Object) -> None:
    """Running: containers, and the pod as a whole, have other amounts than the spec says."""
    if not is_bound(pod):
        return
    draw, spec, status = world.draw, pod["spec"], pod["status"]
    status["containerStatuses"] = [
        {"name": container["name"], **granted(draw)}
        for container in spec["containers"]
        if draw.maybe(0.6)
    ]
    if "resources" in spec and draw.maybe(0.8):
        status.update(granted(draw))
    if draw.maybe(0.5):
        reason = draw.pick(("Infeasible", "Deferred"))
        condition = {"type": "PodResizePending", "status": "True", "reason": reason}
        status["conditions"] = [condition]


def granted(draw: Draw) -> Object:
    """What a node has granted, and what runs; either may be missing."""
    amounts: list[Object] = [
        {name: draw.pick(values) for name, values in GRANTED.items() if draw.maybe(0.7)}
        for _ in range(2)
    ]
    # The API server keeps no field that is empty.
    fields: Object = {"allocatedResources": amounts[0]} if draw.maybe(0.8) and amounts[0] else {}
    if draw.maybe(0.8):
        fields["resources"] = {"requests": amounts[1]} if amounts[1] else {}
    return fields


def terminated(world: World, pod: Object) -> None:
    """Finished pods take no room."""
    if "nodeName" in pod["spec"]:
        pod["status"]["phase"] = world.draw.pick(("Succeeded", "Failed"))


MORE = (
    sometimes(0.3, unusual),
    sometimes(0.12, limits),
    sometimes(0.15, second_container),
    sometimes(0.25, init_containers),
    sometimes(0.12, overhead),
    sometimes(0.15, pod_level),
    sometimes(0.3, resized),
)


def extend_nodes(world: World) -> None:
    for node in world.nodes:
        status = node["status"]
        if world.draw.maybe(0.6):
            status["allocatable"][GPU] = world.draw.pick(("1", "2", "8"))
            status["capacity"][GPU] = "8"
        if world.draw.maybe(0.2):
            status["allocatable"]["hugepages-2Mi"] = status["capacity"]["hugepages-2Mi"] = "128Mi"
        if world.draw.maybe(0.2):
            status["allocatable"]["cpu"] = world.draw.pick(("1900m", "3750m", "0"))


def strategies(draw: Draw) -> Object | None:
    if draw.maybe(0.3):
        return None
    kinds = ("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")
    strategy: Object = {"type": draw.pick(kinds), "resources": resources(draw)}
    if strategy["type"] == kinds[2]:
        strategy["requestedToCapacityRatio"] = {"shape": shape(draw)}
    fit: Object = {"scoringStrategy": strategy}
    if draw.maybe(0.3):
        fit["ignoredResources"] = ["example.com/unknown"]
    if draw.maybe(0.3):
        fit["ignoredResourceGroups"] = ["example.com"]
    args = {"NodeResourcesFit": fit}
    if draw.maybe(0.5):
        some = [{"name": name["name"], "weight": 1} for name in resources(draw)]
        args["NodeResourcesBalancedAllocation"] = {"resources": some}
    return with_args(**args)


def resources(draw: Draw) -> list[Object]:
    names = draw.some(("cpu", "memory", "ephemeral-storage", GPU, "example.com/unknown"), 1, 3)
    weights = (None, 1, 1, 2, 3, 10)
    chosen = []
    for name in names:
        weight = draw.pick(weights)
        chosen.append({"name": name} if weight is None else {"name": name, "weight": weight})
    return chosen


def shape(draw: Draw) -> list[Object]:
    points = sorted(draw.sample(range(0, 101, 10), draw.randint(1, 4)))
    return [{"utilization": point, "score": draw.randint(0, 10)} for point in points]


def generate(draw: Draw) -> Draft:
    world = World(draw)
    world.add_nodes(2, 7)
    extend_nodes(world)
    features = (plain, *MORE, sometimes(0.1, terminated))
    world.add_pods(draw.randint(0, 9), draw.randint(3, 10), *features)
    return world.draft(strategies(draw))
