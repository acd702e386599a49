"""Devices of every kind that the scheduler allocates by itself, and pods that ask for them."""

from __future__ import annotations

import random
from typing import Any

from tests.live.control_plane.api import Api
from tests.live.control_plane.manifests import GPU, ZONE, ZONES, Manifest, amounts, node, nodes, pod

SEED = 13
VERSION = "resource.k8s.io/v1"
WHOLE, PART, SHARED, NETWORK = "whole", "part", "shared", "network"
# A namespace whose pods may look at devices that others have.
OPERATORS = "operators"
TAINT = {"key": "example.com/worn", "value": "yes", "effect": "NoSchedule"}


def device_kinds() -> list[Manifest]:
    """Half of the pods; the others come with more_claims."""
    draw = random.Random(SEED)
    machines = nodes(draw, 32, plain=True)
    names = [machine["metadata"]["name"] for machine in machines]
    # A device plugin's resource has the name of the extended resource of a class.
    plugged = [node(f"plugged-{number}", 16, 64, gpus=4) for number in range(3)]
    access = {"resource.kubernetes.io/admin-access": "true"}
    namespace = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": OPERATORS, "labels": access},
    }
    return [
        namespace,
        *(_class(name) for name in (PART, SHARED, NETWORK)),
        _class(WHOLE, extendedResourceName=GPU),
        *machines,
        *plugged,
        *(_cards(name, draw) for name in names[:10]),
        *(each for name in names[10:18] for each in _partitions(name)),
        *(_shared(name) for name in names[18:26]),
        *map(_network, ZONES),
        *(_template(name, requests) for name, requests in REQUESTS.items()),
        _template("admin", _of(r=_request(WHOLE, adminAccess=True)), OPERATORS),
        *(_claim(f"common-{number}", REQUESTS["shared-2"]) for number in range(4)),
        *_pods(draw, 0, 90),
    ]


def more_claims(api: Api) -> None:
    """More pods, some of which find no device any more."""
    api.create(_pods(random.Random(SEED + 1), 90, 90))


def _object(kind: str, name: str, spec: Manifest, **metadata: str) -> Manifest:
    return {
        "apiVersion": VERSION,
        "kind": kind,
        "metadata": {"name": name, **metadata},
        "spec": spec,
    }


def _driver(name: str) -> str:
    return f"{name}.example.com"


def _class(name: str, **fields: str) -> Manifest:
    expression = f'device.driver == "{_driver(name)}"'
    return _object(
        "DeviceClass", name, {"selectors": [{"cel": {"expression": expression}}]} | fields
    )


def _slice(name: str, kind: str, pool: str, count: int = 1, **fields: Any) -> Manifest:
    where = {} if {"nodeName", "nodeSelector"} & set(fields) else {"nodeName": pool}
    pool_of = {"name": pool, "generation": 1, "resourceSliceCount": count}
    spec = {"driver": _driver(kind), "pool": pool_of, **where, **fields}
    return _object("ResourceSlice", f"{name}-{kind}", spec)


def _cards(name: str, draw: random.Random) -> Manifest:
    """Whole cards of two models on two sockets; some are worn, and only for those that do not
    mind."""
    devices = []
    for number in range(4):
        attributes = {
            "model": {"string": draw.choice(["a100", "t4"])},
            "socket": {"int": number % 2},
        }
        card: Manifest = {"name": f"card-{number}", "attributes": attributes}
        if draw.random() < 0.2:
            card["taints"] = [TAINT]
        devices.append(card)
    return _slice(name, WHOLE, name, devices=devices)


def _partitions(name: str) -> list[Manifest]:
    """A card as a whole, or in halves, or in quarters: all of one memory."""
    counters = {"memory": {"value": "40Gi"}}
    devices = []
    for size, count in (("40Gi", 1), ("20Gi", 2), ("10Gi", 4)):
        for number in range(count):
            used = {"counterSet": "card", "counters": {"memory": {"value": size}}}
            devices.append(
                {
                    "name": f"part-{size.lower()}-{number}",
                    "attributes": {"size": {"string": size}},
                    "consumesCounters": [used],
                }
            )
    sets = [{"name": "card", "counters": counters}]
    return [
        _slice(name, PART, name, 2, devices=devices),
        _slice(f"{name}-counters", PART, name, 2, sharedCounters=sets),
    ]


def _shared(name: str) -> Manifest:
    """A device of which many have a share."""
    policy = {"default": "1Gi", "validRange": {"min": "1Gi", "max": "8Gi", "step": "1Gi"}}
    device = {
        "name": "link",
        "allowMultipleAllocations": True,
        "capacity": {"bandwidth": {"value": "10Gi", "requestPolicy": policy}},
    }
    return _slice(name, SHARED, name, devices=[device])


def _network(zone: str) -> Manifest:
    """Devices that the nodes of a zone reach."""
    expression = {"key": ZONE, "operator": "In", "values": [zone]}
    reach = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    devices = [{"name": f"disk-{number}"} for number in range(6)]
    return _slice(zone, NETWORK, zone, nodeSelector=reach, devices=devices)


def _request(name: str, **fields: Any) -> Manifest:
    expression = fields.pop("cel", "")
    if expression:
        fields["selectors"] = [{"cel": {"expression": expression}}]
    return {"deviceClassName": name, **fields}


def _of(**exactly: Manifest) -> Manifest:
    return {"requests": [{"name": name, "exactly": each} for name, each in exactly.items()]}


def _model(model: str) -> str:
    return f'device.attributes["{_driver(WHOLE)}"].model == "{model}"'


def _size(size: str) -> str:
    return f'device.attributes["{_driver(PART)}"].size == "{size}"'


def _share(amount: str) -> Manifest:
    return _request(SHARED, capacity={"requests": {"bandwidth": amount}})


REQUESTS: dict[str, Manifest] = {
    "one": _of(r=_request(WHOLE)),
    "pair": {
        **_of(r=_request(WHOLE, count=2)),
        "constraints": [{"requests": ["r"], "matchAttribute": f"{_driver(WHOLE)}/socket"}],
    },
    "worn": _of(r=_request(WHOLE, tolerations=[{"key": TAINT["key"], "operator": "Exists"}])),
    "all": _of(r=_request(WHOLE, allocationMode="All", cel=_model("t4"))),
    "best": {
        "requests": [
            {
                "name": "r",
                "firstAvailable": [
                    {"name": "good", **_request(WHOLE, cel=_model("a100"))},
                    {"name": "half", **_request(PART, cel=_size("20Gi"))},
                ],
            }
        ]
    },
    "half": _of(r=_request(PART, cel=_size("20Gi"))),
    "quarter": _of(r=_request(PART, cel=_size("10Gi"))),
    "any-part": _of(r=_request(PART)),
    "share": _of(r=_share("3Gi")),
    "shared-2": _of(r=_share("2Gi")),
    "disk": _of(r=_request(NETWORK)),
    "disk-and-share": _of(d=_request(NETWORK), s=_share("1Gi")),
}
# Extended resources that a device answers: named by the class, and after it.
EXTENDED = (GPU, f"deviceclass.resource.kubernetes.io/{PART}")


def _template(name: str, devices: Manifest, namespace: str = "default") -> Manifest:
    spec = {"spec": {"devices": devices}}
    return _object("ResourceClaimTemplate", name, spec, namespace=namespace)


def _claim(name: str, devices: Manifest) -> Manifest:
    return _object("ResourceClaim", name, {"devices": devices}, namespace="default")


def _pods(draw: random.Random, begin: int, count: int) -> list[Manifest]:
    pods = []
    kinds = list(REQUESTS)
    for number in range(begin, begin + count):
        requests, spec = amounts(draw), {}
        source: Manifest = {"resourceClaimTemplateName": draw.choice(kinds)}
        namespace = "default"
        if number % 9 == 1:
            source = {"resourceClaimName": f"common-{draw.randrange(4)}"}
        elif number % 9 == 2:
            source, namespace = {"resourceClaimTemplateName": "admin"}, OPERATORS
        if number % 9 in (3, 4):
            requests[draw.choice(EXTENDED)] = str(draw.choice([1, 1, 2]))
        elif number % 9:
            spec = {"resourceClaims": [{"name": "r", **source}], "claims": [{"name": "r"}]}
        manifest = pod(f"user-{number:03}", requests, **spec)
        manifest["metadata"]["namespace"] = namespace
        pods.append(manifest)
    return pods
