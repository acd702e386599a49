"""Extended resources that device classes back, by name or by the class's own, on nodes with and
without device plugins, beside claims."""

from generate.claims import thing
from generate.device_pools import DRIVERS, claiming
from generate.world import (
    Draft,
    Draw,
    Object,
    World,
    configuration,
    is_bound,
    moment,
    requests,
    small,
    sometimes,
)

RESOURCES = ("example.com/gpu", "example.com/nic", "deviceclass.resource.kubernetes.io/gpus")
RIVALS = ("a-gpus", "z-gpus")


def add_classes(world: World) -> None:
    draw = world.draw
    for name, driver in (("gpus", DRIVERS[0]), ("nics", DRIVERS[1]), ("any", "")):
        spec: Object = {}
        if driver:
            expression = f'device.driver == "{driver}"'
            spec["selectors"] = [{"cel": {"expression": expression}}]
        if name != "any" and draw.maybe(0.85):
            spec["extendedResourceName"] = f"example.com/{name[:-1]}"
        world.others.append(thing("DeviceClass", name, spec))
    if draw.maybe(0.3):
        add_rivals(world)


def add_rivals(world: World) -> None:
    """Classes that name a resource which another one names as well, or may once have named."""
    draw = world.draw
    for name in draw.some(RIVALS, 1, 2):
        world.others.append(thing("DeviceClass", name, {"extendedResourceName": "example.com/gpu"}))
    for item in world.others:
        if item["kind"] == "DeviceClass" and draw.maybe(0.8):
            item["metadata"]["creationTimestamp"] = moment(draw.randint(0, 2))


def add_resources(world: World) -> None:
    draw = world.draw
    for node in world.nodes:
        name = node["metadata"]["name"]
        for driver in DRIVERS:
            if draw.maybe(0.6):
                pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
                devices = [{"name": f"d{i}"} for i in range(draw.pick((1, 2, 3)))]
                spec = {"driver": driver, "nodeName": name, "pool": pool, "devices": devices}
                world.others.append(thing("ResourceSlice", f"{name}-{driver[:3]}", spec))
        for resource in RESOURCES[:2]:
            if draw.maybe(0.25):
                for amounts in ("allocatable", "capacity"):
                    node["status"].setdefault(amounts, {})[resource] = draw.pick(("0", "1", "2"))


def wanting(world: World, pod: Object) -> None:
    draw = world.draw
    if is_bound(pod):
        return
    own_names = [f"deviceclass.resource.kubernetes.io/{name}" for name in RIVALS]
    classes = {each["metadata"]["name"] for each in world.others if each["kind"] == "DeviceClass"}
    resources = (*RESOURCES, *own_names) if classes.intersection(RIVALS) else RESOURCES
    for resource in draw.some(resources, 1, 2):
        requests(pod)[resource] = draw.pick(("1", "1", "2", "3"))
    limits = {name: amount for name, amount in requests(pod).items() if "/" in name}
    pod["spec"]["containers"][0]["resources"]["limits"] = limits
    if draw.maybe(0.3):
        resource = draw.pick(RESOURCES)
        amount = {resource: draw.pick(("1", "2"))}
        init: Object = {"name": "init", "image": "i"}
        init["resources"] = {"requests": amount, "limits": amount}
        if draw.maybe(0.4):
            init["restartPolicy"] = "Always"
        pod["spec"]["initContainers"] = [init]


def leave_claim(world: World, pod: Object) -> None:
    """The claim of an attempt before, which could not be brought to its end."""
    if is_bound(pod) or not any("/" in name for name in requests(pod)):
        return
    meta = pod["metadata"]
    exactly = {"deviceClassName": "any", "allocationMode": "ExactCount", "count": 1}
    spec = {"devices": {"requests": [{"name": "container-0-request-0", "exactly": exactly}]}}
    name = f"{meta['name']}-extended-resources-x"
    manifest = thing("ResourceClaim", name, spec)
    owner = {"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"]}
    manifest["metadata"] |= {
        "namespace": meta["namespace"],
        "uid": name,
        "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
        "ownerReferences": [{**owner, "controller": True}],
    }
    world.others.append(manifest)


def without_post_filter() -> Object:
    disabled = {"postFilter": {"disabled": [{"name": "DynamicResources"}]}}
    return configuration({"schedulerName": "default-scheduler", "plugins": disabled})


def generate(draw: Draw) -> Draft:
    world = World(draw)
    world.add_nodes(1, 4, roomy=True)
    add_classes(world)
    add_resources(world)
    left = sometimes(0.1, leave_claim)
    features = (small, sometimes(0.8, wanting), sometimes(0.15, claiming), left)
    world.add_pods(draw.randint(0, 2), draw.randint(3, 8), *features)
    return world.draft(without_post_filter() if draw.maybe(0.1) else None)
