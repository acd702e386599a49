"""Devices that are a part of their node's allocatable resources, or take from them beside: cases of
the families of devices, behind the gate, with nodes that have little, in both forms of the API."""

from typing import Any

from generate import claims, device_pools, devices, extended_resources, group_claims, replay
from generate.gated import PODS_REQUEST_NOTHING
from generate.world import Draft, Draw, Object, is_bound, moment, requests

GATE = "DRANodeAllocatableResources=true"
RESOURCES = ("cpu", "cpu", "memory", "memory", "ephemeral-storage", "hugepages-2Mi")
AMOUNTS = {
    "cpu": ("250m", "1", "1500m", "2"),
    "memory": ("128Mi", "1Gi", "3Gi"),
    "ephemeral-storage": ("1Gi", "6Gi"),
    "hugepages-2Mi": ("2Mi", "8Mi"),
}
MULTIPLIERS = ("1", "2", "500m", "0.1")


def generate(draw: Draw) -> Draft:
    family = draw.pick((claims, claims, devices, devices, device_pools, extended_resources))
    draft: Draft = family.generate(draw)
    nodes = [obj["metadata"]["name"] for obj in draft.objects if obj["kind"] == "Node"]
    draft.objects += [
        _running(draw, number, draw.pick(nodes)) for number in range(draw.randint(0, 5))
    ]
    return _changed(draw, draft)


def generate_groups(draw: Draw) -> Draft:
    """Pods of groups, which may share claims."""
    draft = group_claims.generate_workloads(draw)
    return _changed(draw, draft)


def generate_replay(draw: Draw) -> Draft:
    draft = replay.generate_of_devices(draw)
    for event in draft.timeline["events"] if draft.timeline else ():
        for obj in (event.get("pod"), event.get("put")):
            if obj is not None and obj.get("kind") in CHANGES:
                CHANGES[obj["kind"]](draw, obj)
    return _changed(draw, draft)


def _changed(draw: Draw, draft: Draft) -> Draft:
    gates = [draft.gates] if draft.gates else []
    gates += [PODS_REQUEST_NOTHING] * draw.maybe(0.1)
    draft.gates = ",".join([*gates, *[GATE] * draw.maybe(0.93)])
    for obj in draft.objects:
        if obj["kind"] in CHANGES:
            CHANGES[obj["kind"]](draw, obj)
    return draft


def _node(draw: Draw, obj: Object) -> None:
    if draw.maybe(0.7):
        amount = {"cpu": draw.pick(("2", "4", "6")), "memory": draw.pick(("4Gi", "6Gi"))}
        amount["ephemeral-storage"] = draw.pick(("6Gi", "20Gi"))
        if draw.maybe(0.5):
            amount["hugepages-2Mi"] = draw.pick(("8Mi", "16Mi"))
        for amounts in ("allocatable", "capacity"):
            obj["status"].setdefault(amounts, {}).update(amount)


def _slice(draw: Draw, obj: Object) -> None:
    spec = obj["spec"]
    for device in spec.get("devices", ()):
        if draw.maybe(0.7):
            names = list(dict.fromkeys(draw.pick(RESOURCES) for _ in range(draw.randint(1, 3))))
            device["nodeAllocatableResources"] = {
                name: _takes(draw, device, name) for name in names
            }
            device["nodeAllocatableResourceMappings"] = {
                name: _mapping(draw, device, name, ("allocationMultiplier",) * 2) for name in names
            }


def _takes(draw: Draw, device: Object, name: str) -> Object:
    takes: Object = {}
    if draw.maybe(0.6):
        takes["mapping"] = _mapping(draw, device, name, ("capacityMultiplier", "deviceMultiplier"))
    if draw.maybe(0.5) or not takes:
        fields = draw.some(("perPod", "perContainer"), 1, 2)
        takes["overhead"] = {field: draw.pick(AMOUNTS[name]) for field in fields}
    return takes


def _mapping(draw: Draw, device: Object, name: str, multipliers: tuple[str, str]) -> Object:
    capacity = sorted(device.get("capacity", {}))
    of_capacity, of_device = multipliers
    shared = device.get("allowMultipleAllocations")
    if capacity and draw.maybe(0.7 if shared else 0.05):
        key = draw.pick(capacity) if draw.maybe(0.9) else "other"
        if draw.maybe(0.2) and "/" not in key:
            key = f"gpu.example.com/{key}"
        return {"capacityKey": key, of_capacity: draw.pick(MULTIPLIERS)}
    return {of_device: draw.pick(AMOUNTS[name])}


def _pod(draw: Draw, obj: Object) -> None:
    spec = obj["spec"]
    if is_bound(obj):
        _takes_room(draw, obj)
    if draw.maybe(0.3):
        spec["containers"].append({"name": "d", "image": "img"})
    if draw.maybe(0.3):
        init: Object = {"name": "i", "image": "img"}
        if draw.maybe(0.4):
            init["restartPolicy"] = "Always"
        spec.setdefault("initContainers", []).append(init)
    names = [each["name"] for each in spec.get("resourceClaims", ())]
    for container in (*spec.get("initContainers", ()), *spec["containers"]):
        _container(draw, container, names)
    if draw.maybe(0.25):
        spec["resources"] = {"requests": {"cpu": draw.pick(("1", "2", "3"))}}
        if draw.maybe(0.3):
            spec["resources"]["requests"]["memory"] = draw.pick(("512Mi", "2Gi"))
        if draw.maybe(0.4):
            spec["resources"]["limits"] = {"cpu": "3"}
    if draw.maybe(0.5):
        spec["priority"] = 0 if is_bound(obj) else draw.pick((0, 100, 1000))


def _takes_room(draw: Draw, obj: Object) -> None:
    """A running pod, which may have to make room for what claims take."""
    if draw.maybe(0.6):
        requests(obj).update(cpu=draw.pick(("500m", "1", "2")), memory=draw.pick(("512Mi", "2Gi")))
        if draw.maybe(0.3):
            requests(obj)["ephemeral-storage"] = "3Gi"
    if draw.maybe(0.4):
        obj["status"]["nodeAllocatableResourceClaimStatuses"] = [_status(draw)]


def _container(draw: Draw, container: Object, names: list[str]) -> None:
    """names: of the claims of its pod"""
    resources = container.setdefault("resources", {})
    used = draw.some(names, 0, 2) if names else []
    if names and container["name"] == "c" and draw.maybe(0.8):
        used = names
    if used:
        resources["claims"] = [{"name": name} for name in used]
        if draw.maybe(0.1):
            resources["claims"].append({"name": used[0], "request": "g"})
    if draw.maybe(0.2):
        resources.setdefault("limits", {})["cpu"] = draw.pick(("1", "2"))
    if draw.maybe(0.15):
        resources.setdefault("limits", {})["hugepages-2Mi"] = "2Mi"


def _running(draw: Draw, number: int, node: str) -> Object:
    meta = {"name": f"r{number}", "namespace": "default", "uid": f"r{number}"}
    spec = {"nodeName": node, "containers": [{"name": "c", "image": "img"}]}
    pod: Object = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
    return {**pod, "status": {"phase": "Running", "startTime": moment(number)}}


def _status(draw: Draw) -> Object:
    """What a claim of a running pod takes of its node."""
    cpu = draw.pick(AMOUNTS["cpu"])
    status: Object = {"resourceClaimName": draw.pick(("shared", "p00-c0")), "containers": ["c"]}
    status["mapping"] = [{"name": "cpu", "quantity": cpu}]
    status["overhead"] = [{"name": "memory", "perPod": "1Gi", "perContainer": "128Mi"}]
    return {**status, "resources": {"cpu": cpu}}


CHANGES: dict[str, Any] = {"Node": _node, "ResourceSlice": _slice, "Pod": _pod}
