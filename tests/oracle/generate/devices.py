"""Devices as 1.36 has them: tainted, shared by capacity, or drawing on counters of their pool."""

from generate.claims import GPU, allocate_some, claiming, small, thing
from generate.node_affinity import label_nodes
from generate.world import Draft, Draw, Object, World, sometimes

QUANTITIES = ("1Gi", "2Gi", "3Gi", "10Gi", "20Gi")
TAINT_KEYS = ("gpu.example.com/broken", "gpu.example.com/slow")


def taint(draw: Draw) -> Object:
    fields: Object = {"key": draw.pick(TAINT_KEYS)}
    if draw.maybe(0.5):
        fields["value"] = draw.pick("ab")
    return {**fields, "effect": draw.pick(("NoSchedule", "NoExecute", "None"))}


def toleration(draw: Draw) -> Object:
    fields: Object = {"key": draw.pick(TAINT_KEYS)}
    if draw.maybe(0.5):
        fields["operator"] = "Exists"
    else:
        fields |= {"operator": "Equal", "value": draw.pick("ab")}
    if draw.maybe(0.5):
        fields["effect"] = draw.pick(("NoSchedule", "NoExecute"))
    return fields


def policy(draw: Draw) -> Object:
    """How much a share of a device's capacity may be."""
    if draw.maybe(0.5):
        return {"default": "2Gi", "validValues": ["2Gi", "4Gi", "10Gi"]}
    span = {"min": "1Gi", "step": "1Gi", **({"max": "20Gi"} if draw.maybe(0.5) else {})}
    return {"default": "1Gi", "validRange": span}


def device(draw: Draw, name: str, counters: bool) -> Object:
    capacity: Object = {"value": draw.pick(("16Gi", "40Gi"))}
    fields: Object = {
        "name": name,
        "attributes": {"model": {"string": draw.pick(("h100", "a100"))}, "numa": {"int": 0}},
        "capacity": {"memory": capacity},
    }
    if draw.maybe(0.3):
        fields["taints"] = [taint(draw) for _ in range(draw.pick((1, 1, 2)))]
    if draw.maybe(0.4):
        fields["allowMultipleAllocations"] = True
        if draw.maybe(0.7):
            capacity["requestPolicy"] = policy(draw)
    if counters:
        amount = {"memory": {"value": draw.pick(("10Gi", "20Gi", "40Gi"))}}
        fields["consumesCounters"] = [{"counterSet": "board", "counters": amount}]
    return fields


def add_pool(world: World, node: str) -> None:
    draw = world.draw
    counted = draw.maybe(0.45)
    pool = {"name": node, "generation": 1, "resourceSliceCount": 2 if counted else 1}
    common: Object = {"driver": GPU, "nodeName": node, "pool": pool}
    devices = [
        device(draw, f"gpu-{i}", counted and draw.maybe(0.8)) for i in range(draw.randint(1, 4))
    ]
    slices = [thing("ResourceSlice", f"{node}-gpus", {**common, "devices": devices})]
    if counted and not draw.wrong(0.05):
        counters = {"memory": {"value": draw.pick(("40Gi", "60Gi"))}}
        shared = [{"name": "board", "counters": counters}]
        slices.append(
            thing("ResourceSlice", f"{node}-counters", {**common, "sharedCounters": shared})
        )
    world.others += slices


def extend_claims(world: World) -> None:
    """Capacity that claims ask for, and tolerations, beside what other claims have."""
    draw = world.draw
    for obj in world.others:
        if obj["kind"] != "ResourceClaim":
            continue
        for request in obj["spec"]["devices"]["requests"]:
            for part in (request.get("exactly"), *request.get("firstAvailable", ())):
                if part is None:
                    continue
                if draw.maybe(0.4):
                    part["capacity"] = {"requests": {"memory": draw.pick(QUANTITIES)}}
                if draw.maybe(0.35):
                    part["tolerations"] = [toleration(draw)]


def generate(draw: Draw) -> Draft:
    world = World(draw)
    world.add_nodes(1, 4, roomy=True)
    label_nodes(world)
    expression = f'device.driver == "{GPU}"'
    for name in ("any-gpu", "a100", "big"):
        spec = {"selectors": [{"cel": {"expression": expression}}]}
        world.others.append(thing("DeviceClass", name, spec))
    for node in world.nodes:
        if draw.maybe(0.9):
            add_pool(world, node["metadata"]["name"])
    world.add_pods(0, draw.randint(3, 9), small, sometimes(0.9, claiming))
    extend_claims(world)
    if draw.maybe(0.2):
        allocate_some(world)
    return world.draft()
