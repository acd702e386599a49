"""Objects for tests, from plain data as it stands in a manifest."""

from __future__ import annotations

from io import BytesIO
from typing import Any, TypeVar

import msgspec

from ksched_cli.cluster.loading.load import load_state
from ksched_cli.cluster.objects import Pod, Record, decode_hook
from ksched_cli.cluster.state import ClusterState

R = TypeVar("R", bound=Record)


def record(kind: type[R], **fields: Any) -> R:
    """One record; the fields are Kubernetes's names."""
    return msgspec.convert(fields, kind, dec_hook=decode_hook)


def state(*objects: dict[str, Any]) -> ClusterState:
    """A state as loading makes it, with all defaults."""
    return load_state(["-"], BytesIO(msgspec.json.encode({"kind": "List", "items": objects})))


def manifest(
    name: str = "p", *, status: dict[str, Any] | None = None, **spec: Any
) -> dict[str, Any]:
    """A pod as it stands in a file."""
    return {"kind": "Pod", "metadata": {"name": name}, "spec": spec, "status": status or {}}


def pod(*, status: dict[str, Any] | None = None, **spec: Any) -> Pod:
    """A pod with all defaults."""
    return state(manifest(status=status, **spec)).pods[0]


def container(name: str = "c", **requests: Any) -> dict[str, Any]:
    """A container that asks for this; underscores in names of resources are hyphens."""
    amounts = {resource.replace("_", "-"): amount for resource, amount in requests.items()}
    return {"name": name, "resources": {"requests": amounts}}
