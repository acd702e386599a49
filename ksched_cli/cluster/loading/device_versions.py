"""Objects of resource.k8s.io/v1beta1 in the shape of v1. v1beta2 has that shape already.

Upstream: pkg/apis/resource/v1beta1/conversion.go.
"""

from __future__ import annotations

from typing import Any

_OF_EXACT = (
    "deviceClassName",
    "selectors",
    "allocationMode",
    "count",
    "adminAccess",
    "tolerations",
    "capacity",
)


def upgrade_slice(data: dict[str, Any]) -> None:
    """Devices had their fields one level down, under `basic`."""
    for device in _items(data, "spec", "devices"):
        basic = device.pop("basic", None)
        if isinstance(basic, dict):
            device.update(basic)


def upgrade_claim(data: dict[str, Any]) -> None:
    """Requests had the fields of an exact request beside their name. Of templates too."""
    for path in (("spec",), ("spec", "spec")):
        for request in _items(data, *path, "devices", "requests"):
            exactly = {key: request.pop(key) for key in _OF_EXACT if key in request}
            if exactly.get("deviceClassName"):
                request["exactly"] = exactly


def _items(data: Any, *path: str) -> list[dict[str, Any]]:
    """The objects in the list at a path; none where the data is of another shape."""
    for step in path:
        data = data.get(step) if isinstance(data, dict) else None
    return [item for item in data if isinstance(item, dict)] if isinstance(data, list) else []
