"""Dynamic resource allocation: device classes, slices, claims of one pod and of several."""

from generate.node_affinity import label_nodes
from generate.world import Draft, Draw, Object, World, is_bound, requests, sometimes

GPU, NIC = "gpu.example.com", "nic.example.com"
OF_GPU = f'device.attributes["{GPU}"]'
CLASSES = {
    "any-gpu": (f'device.driver == "{GPU}"',),
    "a100": (f'device.driver == "{GPU}" && {OF_GPU}.model == "a100"',),
    "big": (
        f'device.driver == "{GPU}"',
        f'device.capacity["{GPU}"].memory.compareTo(quantity("40Gi")) >= 0',
    ),
    "nic": (f'device.driver == "{NIC}"',),
}
SELECTORS = (
    f"{OF_GPU}.index < 2",
    f'{OF_GPU}.model in ["h100", "a100"]',
    f'{OF_GPU}.ecc && device.driver.startsWith("gpu")',
    f'{OF_GPU}.driverVersion.isGreaterThan(semver("1.2.0"))',
    f'device.capacity["{GPU}"].memory.isGreaterThan(quantity("20Gi"))',
    f'has({OF_GPU}.model) && !({OF_GPU}.model == "t4")',
    f'{OF_GPU}.model.matches("^[ah]100$") || {OF_GPU}.numa == 1',
)


def add_devices(world: World) -> None:
    for name, expressions in CLASSES.items():
        spec = {"selectors": [{"cel": {"expression": e}} for e in expressions]}
        world.others.append(thing("DeviceClass", name, spec))
    for node in world.nodes:
        if world.draw.maybe(0.85):
            add_slice(world, node, "gpus", GPU, gpus(world.draw))
        if world.draw.maybe(0.4):
            nic = {"numa": {"int": world.draw.randint(0, 1)}, "speed": {"int": 100}}
            add_slice(world, node, "nics", NIC, [{"name": "nic-0", "attributes": nic}])
    if world.draw.maybe(0.12):
        shared_slice(world)


def add_slice(world: World, node: Object, short: str, driver: str, devices: list[Object]) -> None:
    name = node["metadata"]["name"]
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": driver, "nodeName": name, "pool": pool, "devices": devices}
    world.others.append(thing("ResourceSlice", f"{name}-{short}", spec))


def shared_slice(world: World) -> None:
    """Devices that every node, or every node of a kind, can reach."""
    pool = {"name": "net", "generation": 1, "resourceSliceCount": 1}
    spec: Object = {"driver": GPU, "pool": pool, "devices": gpus(world.draw)[:2]}
    if world.draw.maybe(0.5):
        spec["allNodes"] = True
    else:
        expression = {"key": "disk", "operator": "In", "values": ["ssd"]}
        spec["nodeSelector"] = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    world.others.append(thing("ResourceSlice", "net-gpus", spec))


def gpus(draw: Draw) -> list[Object]:
    return [
        {
            "name": f"gpu-{i}",
            "attributes": {
                "model": {"string": draw.pick(("h100", "a100", "t4"))},
                "index": {"int": i},
                "ecc": {"bool": draw.maybe(0.6)},
                "numa": {"int": i // 2},
                "driverVersion": {"version": "1.2.3"},
            },
            "capacity": {"memory": {"value": draw.pick(("16Gi", "40Gi", "80Gi"))}},
        }
        for i in range(draw.pick((1, 2, 4)))
    ]


def thing(kind: str, name: str, spec: Object) -> Object:
    api = "resource.k8s.io/v1"
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name}, "spec": spec}


def request(draw: Draw) -> Object:
    if draw.maybe(0.2):
        best = {"name": "best", "deviceClassName": "a100", "allocationMode": "ExactCount"}
        many = {"name": "many", "deviceClassName": "any-gpu", "allocationMode": "ExactCount"}
        return {"name": "g", "firstAvailable": [{**best, "count": 1}, {**many, "count": 2}]}
    name = "missing" if draw.maybe(0.05) else draw.pick(("any-gpu", "any-gpu", "a100", "big"))
    exactly: Object = {"deviceClassName": name}
    if draw.maybe(0.15):
        exactly["allocationMode"] = "All"
    else:
        exactly |= {"allocationMode": "ExactCount", "count": draw.pick((1, 1, 1, 2))}
    if draw.maybe(0.35):
        exactly["selectors"] = [{"cel": {"expression": draw.pick(SELECTORS)}}]
    return {"name": "g", "exactly": exactly}


def claim(world: World, name: str) -> Object:
    draw = world.draw
    requests = [request(draw)]
    if draw.maybe(0.2):
        nic = {"deviceClassName": "nic", "allocationMode": "ExactCount", "count": 1}
        requests.append({"name": "n", "exactly": nic})
    devices: Object = {"requests": requests}
    if draw.maybe(0.2):
        attribute = draw.pick(("numa", "model"))
        match: Object = {"matchAttribute": f"{GPU}/{attribute}"}
        if len(requests) == 1 or draw.maybe(0.7):
            match["requests"] = ["g"]
        devices["constraints"] = [match]
    manifest = thing("ResourceClaim", name, {"devices": devices})
    manifest["metadata"] |= {"namespace": "default", "uid": name}
    world.others.append(manifest)
    return manifest


def claiming(world: World, pod: Object) -> None:
    """One or two claims of the pod's own or shared; a template's when its owner is the pod."""
    draw = world.draw
    if is_bound(pod):
        return
    references: list[Object] = []
    statuses = []
    for i in range(draw.pick((1, 1, 1, 2))):
        reference, name = f"r{i}", f"{pod['metadata']['name']}-c{i}"
        if draw.maybe(0.25) and not any(w.get("resourceClaimName") == "shared" for w in references):
            if not any(o["metadata"]["name"] == "shared" for o in world.others):
                claim(world, "shared")
            references.append({"name": reference, "resourceClaimName": "shared"})
        elif draw.maybe(0.3):
            references.append({"name": reference, "resourceClaimTemplateName": "t"})
            if draw.maybe(0.92):
                owned_claim(world, pod, name)
                statuses.append({"name": reference, "resourceClaimName": name})
        else:
            references.append({"name": reference, "resourceClaimName": name})
            if draw.maybe(0.94):
                claim(world, name)
    pod["spec"]["resourceClaims"] = references
    if statuses:
        pod["status"]["resourceClaimStatuses"] = statuses


def owned_claim(world: World, pod: Object, name: str) -> None:
    meta = pod["metadata"]
    owner = {"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"]}
    claim(world, name)["metadata"]["ownerReferences"] = [{**owner, "controller": True}]


def allocate_some(world: World) -> None:
    """Gives a few claims devices beforehand, reserved for a running pod or for nobody."""
    slices = [
        o
        for o in world.others
        if o["kind"] == "ResourceSlice" and {"nodeName", "devices"} <= o["spec"].keys()
    ]
    taken: set[tuple[str, str]] = set()
    for obj in world.others:
        if obj["kind"] != "ResourceClaim" or not slices or not world.draw.maybe(0.12):
            continue
        spec = world.draw.pick(slices)["spec"]
        device = (spec["nodeName"], spec["devices"][0]["name"])
        if device in taken or len(obj["spec"]["devices"]["requests"]) > 1:
            continue
        taken.add(device)
        result = {"request": "g", "driver": spec["driver"], "pool": device[0], "device": device[1]}
        field = {"key": "metadata.name", "operator": "In", "values": [device[0]]}
        allocation: Object = {"devices": {"results": [result]}}
        allocation["nodeSelector"] = {"nodeSelectorTerms": [{"matchFields": [field]}]}
        obj["status"] = {"allocation": allocation}
        running = [pod for pod in world.pods if is_bound(pod)]
        if running and world.draw.maybe(0.4):
            meta = world.draw.pick(running)["metadata"]
            user = {"resource": "pods", "name": meta["name"], "uid": meta["uid"]}
            obj["status"]["reservedFor"] = [user]


def small(world: World, pod: Object) -> None:
    requests(pod)["cpu"] = world.draw.pick(("100m", "100m", "300m"))


def generate(draw: Draw) -> Draft:
    world = World(draw)
    world.add_nodes(2, 6, roomy=True)
    label_nodes(world)
    add_devices(world)
    features = (small, sometimes(0.85, claiming))
    world.add_pods(draw.randint(0, 3), draw.randint(3, 8), *features)
    allocate_some(world)
    return world.draft()
