"""Converts objects of resource.k8s.io/v1beta1 to v1, in place. v1beta2 has v1's fields already.

Upstream: pkg/apis/resource/v1beta1/conversion.go.
"""

from __future__ import annotations

from typing import Any

_EXACT_REQUEST_FIELDS = (
    "deviceClassName",
    "selectors",
    "allocationMode",
    "count",
    "adminAccess",
    "tolerations",
    "capacity",
)


def upgrade_slice(data: dict[str, Any]) -> None:
    """In v1beta1 a device's fields are in its `basic`."""
    for device in _items(data, "spec", "devices"):
        basic = device.pop("basic", None)
        if isinstance(basic, dict):
            device.update(basic)


def upgrade_claim(data: dict[str, Any]) -> None:
    """In v1beta1 an exact request's fields are in the request itself. Converts templates too."""
    for path in (("spec",), ("spec", "spec")):
        for request in _items(data, *path, "devices", "requests"):
            exactly = {key: request.pop(key) for key in _EXACT_REQUEST_FIELDS if key in request}
            if exactly.get("deviceClassName"):
                request["exactly"] = exactly


def _items(data: Any, *path: str) -> list[dict[str, Any]]:
    """The objects in the list at a path; none where there is no list."""
    for step in path:
        data = data.get(step) if isinstance(data, dict) else None
    return [item for item in data if isinstance(item, dict)] if isinstance(data, list) else []
