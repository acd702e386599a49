"""Manifests of devices and of claims for them, for tests."""

from typing import Any

from ksched_cli.cluster.state import ClusterState
from ksched_cli.testing import cluster, node, pod

GPU = "gpu.example.com"
API = "resource.k8s.io/v1"


def thing(kind: str, name: str, spec: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    meta = {"name": name, **metadata}
    return {"apiVersion": API, "kind": kind, "metadata": meta, "spec": spec}


def device_class(name: str, expressions: list[str]) -> dict[str, Any]:
    return thing("DeviceClass", name, {"selectors": selectors(expressions)})


def selectors(expressions: list[str] | tuple[Any, ...]) -> list[dict[str, dict[str, str]]]:
    return [{"cel": {"expression": expression}} for expression in expressions]


def attribute(value: int | str) -> dict[str, Any]:
    kinds = {bool: "bool", int: "int", str: "string"}
    return {kinds[type(value)]: value}


def device(name: str, given: dict[str, Any]) -> dict[str, Any]:
    fields = {key: value for key, value in given.items() if key in ("bindingConditions",)}
    if "consumesCounters" in given:
        fields["consumesCounters"] = [{"counterSet": "s", "counters": {"c": {"value": "1"}}}]
    if "memory" in given:
        fields["capacity"] = {"memory": {"value": given["memory"]}}
    field_names = ("memory", "bindingConditions", "consumesCounters")
    named = {key: attribute(value) for key, value in given.items() if key not in field_names}
    return {"name": name, "attributes": named, **fields}


def resource_slice(number: int, given: dict[str, Any]) -> dict[str, Any]:
    where = {"nodeName": given["node"]} if "node" in given else reach(given["reach"])
    pool = {
        "name": given.get("pool", given.get("node")),
        "generation": given.get("generation", 1),
        "resourceSliceCount": given.get("count", 1),
    }
    more = {key: given[key] for key in ("perDeviceNodeSelection",) if key in given}
    devices = [device(name, values) for name, values in given["devices"].items()]
    driver = given.get("driver", GPU)
    spec = {"driver": driver, "pool": pool, **where, **more, "devices": devices}
    return thing("ResourceSlice", given.get("name", f"slice-{number}"), spec)


def reach(where: Any) -> dict[str, Any]:
    if where == "all":
        return {"allNodes": True}
    return {"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": matches(where)}]}}


def matches(labels: dict[str, str]) -> list[dict[str, Any]]:
    return [{"key": key, "operator": "In", "values": [value]} for key, value in labels.items()]


def request(name: str, given: dict[str, Any] | str) -> dict[str, Any]:
    if isinstance(given, str):
        given = {"class": given}
    if "firstAvailable" in given:
        choices = enumerate(given["firstAvailable"])
        return {"name": name, "firstAvailable": [{"name": f"x{i}", **exact(c)} for i, c in choices]}
    return {"name": name, "exactly": exact(given)} if given else {"name": name}


def exact(given: dict[str, Any]) -> dict[str, Any]:
    fields = {"deviceClassName": given["class"], "selectors": selectors(given.get("selectors", ()))}
    fields["allocationMode"] = given.get("mode", "ExactCount")
    if fields["allocationMode"] == "ExactCount":
        fields["count"] = given.get("count", 1)
    return fields | {key: given[key] for key in ("adminAccess",) if key in given}


def claim(name: str, given: dict[str, Any] | str) -> dict[str, Any]:
    given = {"r": given} if isinstance(given, str) else dict(given)
    constraints = given.pop("constraints", [])
    allocated, where = given.pop("allocated", None), given.pop("where", "")
    reserved, deleted = given.pop("reserved", []), given.pop("deleted", False)
    requests = [request(each, requirement) for each, requirement in given.items()]
    spec = {"devices": {"requests": requests, "constraints": constraints}}
    manifest = thing("ResourceClaim", name, spec, namespace="default")
    if deleted:
        manifest["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    if allocated is not None:
        manifest["status"] = {
            "allocation": allocation(allocated, where),
            "reservedFor": [{"resource": "pods", "name": u, "uid": u} for u in reserved],
        }
    return manifest


def allocation(devices: list[str], where: str) -> dict[str, Any]:
    results = [
        {
            "request": "r",
            "driver": GPU,
            "pool": device.split("/")[0],
            "device": device.split("/")[1],
        }
        for device in devices
    ]
    fields = [{"key": "metadata.name", "operator": "In", "values": [where]}]
    selector = {"nodeSelectorTerms": [{"matchFields": fields}]}
    return {"devices": {"results": results}, "nodeSelector": selector}


def claiming(number: int, name: str, claims: list[dict[str, Any] | str]) -> dict[str, Any]:
    references, statuses = [], []
    for i, source in enumerate(claims):
        reference = {"name": f"c{i}"}
        if isinstance(source, str):
            reference["resourceClaimName"] = source
        else:
            reference["resourceClaimTemplateName"] = source["template"]
            if "made" in source:
                statuses.append({"name": f"c{i}", "resourceClaimName": source["made"]})
        references.append(reference)
    created = {"creationTimestamp": f"2026-01-01T00:00:{number:02d}Z"}
    status = {"resourceClaimStatuses": statuses}
    return pod(name, metadata=created, spec={"resourceClaims": references}, status=status)


def state_of(case: dict[str, Any]) -> ClusterState:
    nodes = [node(**n) if isinstance(n, dict) else node(n) for n in case.get("nodes", ["a"])]
    classes = {"gpu": [f'device.driver == "{GPU}"'], **case.get("classes", {})}
    return cluster(
        *nodes,
        *(device_class(name, expressions) for name, expressions in classes.items()),
        *(resource_slice(i, given) for i, given in enumerate(case.get("slices", ()))),
        *(claim(name, given) for name, given in case.get("claims", {}).items()),
        *(claiming(i, *each) for i, each in enumerate(case["pods"].items())),
    )
