"""Cases of other families, with what their draws leave out: empty selectors, pods without labels
or a start time, requests of pods as a whole, devices with alpha fields behind their gates."""

from typing import Any

from generate import claims, device_pools, inter_pod, preempt, resources, spread, volumes
from generate.world import Draft, Draw, Object

GATES = (
    "DRADeviceCompatibilityGroups",
    "DRADerivedAttributes",
    "DRAOptionalNodeOperations",
)
LISTS = "DRAListTypeAttributes"
LINKS = "gpu.example.com/links"
VERSIONS = ("1.0.0", "1.0.0+a", "1.0.0-b", "2.0.0")
LIST_SELECTORS = (
    'device.attributes["gpu.example.com"].links.includes(2)',
    'device.attributes["gpu.example.com"].links.includes("a")',
    'device.attributes["gpu.example.com"].?links.orValue([1]).exists(e, e == 2)',
    'size(device.attributes["gpu.example.com"].links) > 1',
    'device.attributes["gpu.example.com"].links == 2',
)
LIST_EXPRESSIONS = (
    'device.attributes["gpu.example.com"].links',
    '[device.attributes["gpu.example.com"].model, "a"]',
    "[1, 2]",
    "[]",
    'device.attributes["gpu.example.com"].model == "big" ? 2 : 3',
    '[dyn(1), dyn("a")]',
    "[1.5]",
)
FAST_PATH = "InterPodAffinityHostnameFastPath"
EXPRESSIONS = (
    'device.attributes["gpu.example.com"].model',
    'device.attributes["gpu.example.com"].model == "big"',
    'device.attributes["gpu.example.com"].missing',
    'device.attributes["gpu.example.com"].?missing.orValue("none")',
    "size(device.driver)",
    '["a", "b"]',
    "device.driver == ",
)


def generate(draw: Draw) -> Draft:
    family = draw.pick((preempt, preempt, spread, resources, volumes, inter_pod))
    draft: Draft = family.generate(draw)
    if family is inter_pod and draw.maybe(0.7):
        draft.gates = f"{FAST_PATH}=true"
    for obj in draft.objects:
        change = CHANGES.get(obj["kind"])
        if change is not None:
            change(draw, obj)
    return draft


def _budget(draw: Draw, obj: Object) -> None:
    if draw.maybe(0.4):
        obj["spec"]["selector"] = {}


def _pod(draw: Draw, obj: Object) -> None:
    spec, status = obj["spec"], obj.setdefault("status", {})
    if draw.maybe(0.3):
        obj["metadata"].pop("labels", None)
    if draw.maybe(0.4):
        status.pop("startTime", None)
    if draw.maybe(0.3):
        obj["metadata"]["uid"] = f"{draw.pick('abcdef')}-{obj['metadata'].get('uid', '')}"
    if draw.maybe(0.25):
        requests = {"cpu": draw.pick(("100m", "500m", "2"))}
        if draw.maybe(0.5):
            requests["memory"] = draw.pick(("64Mi", "1Gi"))
        spec["resources"] = {"requests": requests}
    for constraint in spec.get("topologySpreadConstraints", ()):
        if draw.maybe(0.3):
            constraint["labelSelector"] = {}
    if draw.maybe(0.05):
        spec["securityContext"] = {"seccompProfile": {"type": "OCI"}}


def _node(draw: Draw, obj: Object) -> None:
    if draw.maybe(0.3):
        obj["status"]["declaredFeatures"] = ["PodCertificateMLDSA", "SecurityProfileOCI"]


def _capacity(draw: Draw, obj: Object) -> None:
    if "capacity" in obj and draw.maybe(0.5):
        obj["capacity"] = draw.pick(("1073741823500m", "1073741824", "10737418240001m"))


CHANGES: dict[str, Any] = {
    "PodDisruptionBudget": _budget,
    "Pod": _pod,
    "Node": _node,
    "CSIStorageCapacity": _capacity,
}


def generate_devices(draw: Draw) -> Draft:
    draft: Draft = device_pools.generate(draw)
    draft.gates = ",".join(f"{gate}=true" for gate in GATES if draw.maybe(0.6))
    for obj in draft.objects:
        if obj["kind"] == "Node" and draw.maybe(0.5):
            obj["status"]["declaredFeatures"] = ["DRAOptionalNodeOperations"]
        elif obj["kind"] == "ResourceSlice":
            _slice(draw, obj["spec"])
        elif obj["kind"] == "ResourceClaim":
            _claim(draw, obj)
    return draft


def generate_lists(draw: Draw) -> Draft:
    """Attributes that are lists, in selectors and constraints over several devices."""
    draft: Draft = claims.generate(draw)
    gates = [LISTS] * draw.maybe(0.85) + ["DRADerivedAttributes"] * draw.maybe(0.4)
    draft.gates = ",".join(f"{gate}=true" for gate in gates)
    for obj in draft.objects:
        if obj["kind"] == "ResourceSlice":
            devices = obj["spec"]["devices"]
            for number in range(draw.randint(0, 4)):
                devices.append({**devices[0], "name": f"more-{number}"})
            for device in devices:
                device["attributes"] = dict(device["attributes"])
                if draw.maybe(0.9):
                    device["attributes"]["links"] = _links(draw)
        elif obj["kind"] == "ResourceClaim":
            _wants_links(draw, obj["spec"]["devices"])
    return draft


def _links(draw: Draw) -> Object:
    kind = draw.pick(
        ("ints", "ints", "ints", "ints", "strings", "versions", "bools", "int", "version")
    )
    if kind == "bools":
        return {"bools": draw.some((True, False), 1, 2)}
    values: tuple[Any, ...] = {"i": (1, 2, 3, 4), "s": ("a", "b", "c", "d")}.get(kind[0], VERSIONS)
    if kind.endswith("s"):
        return {kind: draw.some(values, 1, 3)}
    links: Object = {kind: draw.pick(values)}
    if draw.maybe(0.1):
        links["ints"] = draw.some((1, 2, 3, 4), 1, 3)
    return {} if draw.wrong(0.05) else links


def _wants_links(draw: Draw, devices: Object) -> None:
    if draw.maybe(0.5):
        exact = {"allocationMode": "ExactCount", "deviceClassName": "any-gpu", "count": 1}
        devices["requests"].append({"name": "h", "exactly": exact})
    for request in devices["requests"]:
        for exact in request.get("firstAvailable", (request.get("exactly", {}),)):
            if draw.maybe(0.7):
                exact.pop("selectors", None)
            if exact.get("allocationMode") == "ExactCount":
                exact["count"] = draw.pick((1, 1, 2, 3))
            if draw.maybe(0.15):
                exact["selectors"] = [{"cel": {"expression": draw.pick(LIST_SELECTORS)}}]
            if draw.maybe(0.15):
                expression = draw.pick(LIST_EXPRESSIONS)
                exact["derivedAttributes"] = [{"name": LINKS, "expression": expression}]
    if draw.maybe(0.85):
        kinds = ("matchAttribute", "matchAttribute", "distinctAttribute")
        constraint: Object = {draw.pick(kinds): LINKS}
        if draw.maybe(0.2):
            constraint["requests"] = ["g"]
        devices["constraints"] = [constraint]


def _slice(draw: Draw, spec: Object) -> None:
    driver = spec["driver"]
    if draw.maybe(0.2):
        spec["skipNodeOperations"] = ["*"]
    for device in spec.get("devices", ()):
        for consumed in device.get("consumesCounters", ()):
            if draw.maybe(0.5):
                consumed["compatibilityGroups"] = draw.some("abc", 1, 2)
        if draw.maybe(0.2):
            model = device["attributes"].pop("model")
            device["attributes"][f"{driver}/model"] = model
            if draw.maybe(0.4):
                device["attributes"]["model"] = {"string": "other"}
        if draw.maybe(0.3):
            device["attributes"]["v"] = {"version": draw.pick(("1.0.0", "1.0.0+a", "1.0", "2.0.0"))}
        if "capacity" in device and draw.maybe(0.3):
            capacity = device["capacity"]
            capacity[f"{driver}/memory"] = capacity.pop("memory")
            if draw.maybe(0.2):
                capacity["memory"] = {"value": "1Gi"}


def _claim(draw: Draw, obj: Object) -> None:
    devices = obj["spec"]["devices"]
    for request in devices["requests"]:
        for exact in request.get("firstAvailable", (request.get("exactly", {}),)):
            requests = exact.get("capacity", {}).get("requests")
            if requests and draw.maybe(0.4):
                requests["gpu.example.com/memory"] = requests.pop("memory")
                if draw.maybe(0.15):
                    requests["gpu.example.com/memory"] = "-1Gi"
            if draw.maybe(0.15):
                name = draw.pick(("derived/group", "gpu.example.com/model"))
                exact["derivedAttributes"] = [{"name": name, "expression": draw.pick(EXPRESSIONS)}]
                kind = draw.pick(("matchAttribute", "distinctAttribute"))
                devices["constraints"] = [{kind: name}]
    if draw.maybe(0.15):
        devices["constraints"] = [
            {draw.pick(("matchAttribute", "distinctAttribute")): "gpu.example.com/v"}
        ]
    _allocation(draw, obj)


def _allocation(draw: Draw, obj: Object) -> None:
    for result in obj.get("status", {}).get("allocation", {}).get("devices", {}).get("results", ()):
        if draw.maybe(0.1):
            result["skipNodeOperations"] = ["*"]
        consumed = result.get("consumedCapacity")
        if consumed and draw.maybe(0.3):
            for name in list(consumed):
                consumed[f"{result['driver']}/{name}"] = consumed.pop(name)
