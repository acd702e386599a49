"""Manifests of devices and of claims for them, for tests."""

from ksched_cli.testing import cluster, node, pod

GPU = "gpu.example.com"
API = "resource.k8s.io/v1"


def thing(kind, name, spec, **metadata):
    meta = {"name": name, **metadata}
    return {"apiVersion": API, "kind": kind, "metadata": meta, "spec": spec}


def device_class(name, expressions):
    return thing("DeviceClass", name, {"selectors": selectors(expressions)})


def selectors(expressions):
    return [{"cel": {"expression": one}} for one in expressions]


def attribute(value):
    kinds = {bool: "bool", int: "int", str: "string"}
    return {kinds[type(value)]: value}


def device(name, given):
    fields = {key: value for key, value in given.items() if key in ("bindingConditions",)}
    if "consumesCounters" in given:
        fields["consumesCounters"] = [{"counterSet": "s", "counters": {"c": {"value": "1"}}}]
    if "memory" in given:
        fields["capacity"] = {"memory": {"value": given["memory"]}}
    known = ("memory", "bindingConditions", "consumesCounters")
    named = {key: attribute(value) for key, value in given.items() if key not in known}
    return {"name": name, "attributes": named, **fields}


def resource_slice(number, given):
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


def reach(where):
    if where == "all":
        return {"allNodes": True}
    return {"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": matches(where)}]}}


def matches(labels):
    return [{"key": key, "operator": "In", "values": [value]} for key, value in labels.items()]


def request(name, given):
    if isinstance(given, str):
        given = {"class": given}
    if "firstAvailable" in given:
        choices = enumerate(given["firstAvailable"])
        return {"name": name, "firstAvailable": [{"name": f"x{i}", **exact(c)} for i, c in choices]}
    return {"name": name, "exactly": exact(given)} if given else {"name": name}


def exact(given):
    found = {"deviceClassName": given["class"], "selectors": selectors(given.get("selectors", ()))}
    found["allocationMode"] = given.get("mode", "ExactCount")
    if found["allocationMode"] == "ExactCount":
        found["count"] = given.get("count", 1)
    return found | {key: given[key] for key in ("adminAccess",) if key in given}


def claim(name, given):
    given = {"r": given} if isinstance(given, str) else dict(given)
    constraints = given.pop("constraints", [])
    allocated, where = given.pop("allocated", None), given.pop("where", "")
    reserved, deleted = given.pop("reserved", []), given.pop("deleted", False)
    wanted = [request(each, asked) for each, asked in given.items()]
    spec = {"devices": {"requests": wanted, "constraints": constraints}}
    one = thing("ResourceClaim", name, spec, namespace="default")
    if deleted:
        one["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    if allocated is not None:
        one["status"] = {
            "allocation": allocation(allocated, where),
            "reservedFor": [{"resource": "pods", "name": u, "uid": u} for u in reserved],
        }
    return one


def allocation(devices, where):
    results = [
        {"request": "r", "driver": GPU, "pool": one.split("/")[0], "device": one.split("/")[1]}
        for one in devices
    ]
    fields = [{"key": "metadata.name", "operator": "In", "values": [where]}]
    selector = {"nodeSelectorTerms": [{"matchFields": fields}]}
    return {"devices": {"results": results}, "nodeSelector": selector}


def claiming(number, name, claims):
    references, statuses = [], []
    for i, one in enumerate(claims):
        reference = {"name": f"c{i}"}
        if isinstance(one, str):
            reference["resourceClaimName"] = one
        else:
            reference["resourceClaimTemplateName"] = one["template"]
            if "made" in one:
                statuses.append({"name": f"c{i}", "resourceClaimName": one["made"]})
        references.append(reference)
    created = {"creationTimestamp": f"2026-01-01T00:00:{number:02d}Z"}
    status = {"resourceClaimStatuses": statuses}
    return pod(name, metadata=created, spec={"resourceClaims": references}, status=status)


def state_of(case):
    nodes = [node(**n) if isinstance(n, dict) else node(n) for n in case.get("nodes", ["a"])]
    classes = {"gpu": [f'device.driver == "{GPU}"'], **case.get("classes", {})}
    return cluster(
        *nodes,
        *(device_class(name, found) for name, found in classes.items()),
        *(resource_slice(i, given) for i, given in enumerate(case.get("slices", ()))),
        *(claim(name, given) for name, given in case.get("claims", {}).items()),
        *(claiming(i, *each) for i, each in enumerate(case["pods"].items())),
    )
