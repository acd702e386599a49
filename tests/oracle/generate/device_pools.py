"""Pools of several slices and nodes: devices with taints, counters of their pool, shared capacity
and binding conditions, devices that each say which nodes reach them, and claims that have some of
them already."""

from typing import Any

from generate.claims import thing
from generate.world import Draft, Draw, Object, World, is_bound, small, sometimes

DRIVERS = ("gpu.example.com", "nic.example.com")
TAINTS = (
    {"key": "broken", "effect": "NoSchedule"},
    {"key": "old", "value": "yes", "effect": "NoExecute"},
    {"key": "note", "effect": "None"},
)
TOLERATIONS = (
    {"operator": "Exists"},
    {"key": "broken", "operator": "Exists", "effect": "NoSchedule"},
    {"key": "old", "operator": "Equal", "value": "yes"},
    {"key": "old", "operator": "Equal", "value": "no"},
)
POLICIES: tuple[Object, ...] = (
    {"default": "2Gi", "validRange": {"min": "1Gi", "max": "6Gi", "step": "1Gi"}},
    {"default": "1Gi", "validValues": ["1Gi", "4Gi", "8Gi"]},
    {"default": "1Gi", "validRange": {"min": "1Gi"}},
)
SELECTORS = (
    "device.allowMultipleAllocations",
    "!device.allowMultipleAllocations",
    'device.attributes["gpu.example.com"].model == "big"',
    'device.driver == "gpu.example.com"',
)


def add_pools(world: World) -> None:
    draw = world.draw
    for name in ("any", "gpus"):
        expression = 'device.driver == "gpu.example.com"' if name == "gpus" else "true"
        selectors = [{"cel": {"expression": expression}}]
        world.others.append(thing("DeviceClass", name, {"selectors": selectors}))
    for node in world.nodes:
        if draw.maybe(0.85):
            add_pool(world, draw.pick(DRIVERS), node["metadata"]["name"], {})
        if draw.maybe(0.15):
            add_pool(world, draw.pick(DRIVERS), node["metadata"]["name"], {}, "-x")
    if draw.maybe(0.35):
        names = [node["metadata"]["name"] for node in world.nodes]
        add_pool(world, DRIVERS[0], "net", {"nodes": names})


def add_pool(world: World, driver: str, name: str, given: Object, suffix: str = "") -> None:
    """A pool of one or two slices of devices, and one of counters where they consume some."""
    draw = world.draw
    if any(
        o["spec"].get("driver") == driver and o["spec"]["pool"]["name"] == name
        for o in world.others
        if o["kind"] == "ResourceSlice"
    ):
        name += suffix or "-y"
    counted = draw.maybe(0.35)
    parts = draw.pick((1, 1, 2))
    count = parts + counted
    if draw.maybe(0.06):
        count += draw.pick((1, -1))
    pool = {"name": name, "generation": 1, "resourceSliceCount": max(count, 1)}
    base: Object = {"driver": driver, "pool": pool}
    place = {"allNodes": True} if "nodes" in given else {"nodeName": name.partition("-")[0]}
    if counted:
        amounts = {"memory": {"value": draw.pick(("4Gi", "8Gi"))}, "slots": {"value": "3"}}
        counters = [{"name": "card", "counters": amounts}]
        spec = {**base, **place, "sharedCounters": counters}
        world.others.append(thing("ResourceSlice", f"{name}-{driver[:3]}-counters", spec))
    for part in range(parts):
        devices = [device(draw, f"d{part}{i}", counted) for i in range(draw.pick((1, 2, 3)))]
        spec = {**base, **place, "devices": devices}
        if "nodes" in given and draw.maybe(0.6):
            del spec["allNodes"]
            spec["perDeviceNodeSelection"] = True
            for each in devices:
                each |= draw.pick(({"allNodes": True}, {"nodeName": draw.pick(given["nodes"])}))
        world.others.append(thing("ResourceSlice", f"{name}-{driver[:3]}-{part}", spec))


def device(draw: Draw, name: str, counted: bool) -> Object:
    model = {"string": draw.pick(("big", "small", "small"))}
    fields: Object = {"name": name, "attributes": {"model": model}}
    if draw.maybe(0.25):
        fields["taints"] = draw.some(TAINTS, 1, 2)
    if draw.maybe(0.5):
        capacity: Object = {"value": draw.pick(("4Gi", "8Gi"))}
        fields["capacity"] = {"memory": capacity}
        if draw.maybe(0.6):
            fields["allowMultipleAllocations"] = True
            if draw.maybe(0.5):
                capacity["requestPolicy"] = draw.pick(POLICIES)
    if counted and draw.maybe(0.85):
        amounts = {"memory": {"value": draw.pick(("1Gi", "2Gi", "4Gi"))}}
        if draw.maybe(0.5):
            amounts["slots"] = {"value": "1"}
        set_name = "other" if draw.wrong(0.03) else "card"
        fields["consumesCounters"] = [{"counterSet": set_name, "counters": amounts}]
    if draw.maybe(0.15):
        fields["bindingConditions"] = ["ready"]
        fields["bindingFailureConditions"] = ["failed"]
        fields["bindsToNode"] = draw.maybe(0.5)
    return fields


def exact(draw: Draw, is_subrequest: bool = False) -> Object:
    fields: Object = {"deviceClassName": draw.pick(("any", "gpus"))}
    if draw.maybe(0.12):
        fields["allocationMode"] = "All"
    else:
        fields |= {"allocationMode": "ExactCount", "count": draw.pick((1, 1, 1, 2, 3))}
    if draw.maybe(0.35):
        amount = draw.pick(("1Gi", "2Gi", "3Gi", "5Gi", "9Gi"))
        fields["capacity"] = {"requests": {"memory": amount}}
    if draw.maybe(0.3):
        fields["tolerations"] = draw.some(TOLERATIONS, 1, 2)
    if draw.maybe(0.25):
        fields["selectors"] = [{"cel": {"expression": draw.pick(SELECTORS)}}]
    if not is_subrequest and draw.maybe(0.06):
        fields["adminAccess"] = True
    return fields


def request(draw: Draw, name: str) -> Object:
    if draw.maybe(0.2):
        first = [{"name": f"s{i}", **exact(draw, True)} for i in range(draw.pick((1, 2, 3)))]
        return {"name": name, "firstAvailable": first}
    return {"name": name, "exactly": exact(draw)}


def claim(world: World, name: str) -> None:
    draw = world.draw
    devices: Object = {"requests": [request(draw, f"r{i}") for i in range(draw.pick((1, 1, 2)))]}
    if draw.maybe(0.2):
        kind = draw.pick(("matchAttribute", "distinctAttribute"))
        devices["constraints"] = [{kind: "gpu.example.com/model"}]
    manifest = thing("ResourceClaim", name, {"devices": devices})
    manifest["metadata"] |= {"namespace": "default", "uid": name}
    world.others.append(manifest)


def claiming(world: World, pod: Object) -> None:
    if is_bound(pod):
        return
    names = [f"{pod['metadata']['name']}-c{i}" for i in range(world.draw.pick((1, 1, 2)))]
    for name in names:
        claim(world, name)
    pod["spec"]["resourceClaims"] = [{"name": name, "resourceClaimName": name} for name in names]


def allocate_some(world: World) -> None:
    """Claims of nobody that have a device, or a share of one; and some of the pods' own."""
    draw = world.draw
    slices = [
        o["spec"] for o in world.others if o["kind"] == "ResourceSlice" and "devices" in o["spec"]
    ]
    if not slices:
        return
    for number in range(draw.randint(0, 3)):
        claim(world, f"old-{number}")
        allocate(world, world.others[-1], draw.pick(slices), number)
    for manifest in world.others:
        is_own = manifest["kind"] == "ResourceClaim" and "status" not in manifest
        if is_own and draw.maybe(0.12):
            allocate(world, manifest, draw.pick(slices), 9)


def allocate(world: World, manifest: Object, spec: Object, number: int) -> None:
    draw = world.draw
    device = draw.pick(spec["devices"])
    place = {"driver": spec["driver"], "pool": spec["pool"]["name"], "device": device["name"]}
    request: Object = manifest["spec"]["devices"]["requests"][0]
    alternatives = request.get("firstAvailable")
    name = f"{request['name']}/{alternatives[0]['name']}" if alternatives else request["name"]
    result: Object = {"request": name, **place}
    if device.get("allowMultipleAllocations"):
        result["shareID"] = f"0000000{number}-0000-0000-0000-000000000000"
        result["consumedCapacity"] = {"memory": draw.pick(("1Gi", "2Gi"))}
    allocation: Object = {"devices": {"results": [result]}}
    status: Object = {"allocation": allocation}
    if "nodeName" in spec:
        field = {"key": "metadata.name", "operator": "In", "values": [spec["nodeName"]]}
        allocation["nodeSelector"] = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    for key in ("bindingConditions", "bindingFailureConditions"):
        if key in device:
            result[key] = device[key]
    if "bindingConditions" in device:
        allocation["allocationTimestamp"] = "2026-01-01T00:00:00Z"
        status["devices"] = [{**place, "conditions": conditions(draw)}]
    manifest["status"] = status


def conditions(draw: Draw) -> list[Any]:
    """What a driver tells of a device: nothing yet, that it is ready, or that it failed."""
    happened = {"reason": "r", "message": "m", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    types = draw.some(("ready", "failed", "other"), 0, 2)
    return [
        {"type": name, "status": draw.pick(("True", "True", "False")), **happened} for name in types
    ]


def generate(draw: Draw) -> Draft:
    world = World(draw)
    world.add_nodes(1, 4, roomy=True)
    add_pools(world)
    world.add_pods(draw.randint(0, 2), draw.randint(3, 8), small, sometimes(0.9, claiming))
    allocate_some(world)
    return world.draft()
