"""Writing objects to the API server, and waiting for what becomes of them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import urllib3

Manifest = dict[str, Any]

# Where kinds are served: group and version, plural, whether in namespaces.
_PLACES = {
    "Node": ("api/v1", "nodes", False),
    "Pod": ("api/v1", "pods", True),
    "Namespace": ("api/v1", "namespaces", False),
    "PersistentVolume": ("api/v1", "persistentvolumes", False),
    "PersistentVolumeClaim": ("api/v1", "persistentvolumeclaims", True),
    "PriorityClass": ("apis/scheduling.k8s.io/v1", "priorityclasses", False),
    "PodDisruptionBudget": ("apis/policy/v1", "poddisruptionbudgets", True),
    "StorageClass": ("apis/storage.k8s.io/v1", "storageclasses", False),
    "CSINode": ("apis/storage.k8s.io/v1", "csinodes", False),
    "CSIDriver": ("apis/storage.k8s.io/v1", "csidrivers", False),
    "DeviceClass": ("apis/resource.k8s.io/v1", "deviceclasses", False),
    "ResourceSlice": ("apis/resource.k8s.io/v1", "resourceslices", False),
    "ResourceClaim": ("apis/resource.k8s.io/v1", "resourceclaims", True),
    "ResourceClaimTemplate": ("apis/resource.k8s.io/v1", "resourceclaimtemplates", True),
    "Deployment": ("apis/apps/v1", "deployments", True),
    "ReplicaSet": ("apis/apps/v1", "replicasets", True),
    "StatefulSet": ("apis/apps/v1", "statefulsets", True),
    "Job": ("apis/batch/v1", "jobs", True),
    "DaemonSet": ("apis/apps/v1", "daemonsets", True),
}
_WRITERS = 4


class ApiError(Exception):
    """What the API server refused."""


class Api:
    """A client with a bearer token, of a server whose certificate nobody has signed."""

    def __init__(self, server: str, token: str) -> None:
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
        self.server = server
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._pool = urllib3.PoolManager(cert_reqs="CERT_NONE", maxsize=_WRITERS, retries=False)

    def call(self, method: str, path: str, body: Manifest | None = None, **headers: str) -> Any:
        """Raises ApiError, and urllib3's errors where nobody answers."""
        answer = self._pool.request(
            method,
            f"{self.server}/{path}",
            body=None if body is None else json.dumps(body),
            headers={**self._headers, **headers},
        )
        if answer.status >= 300:
            raise ApiError(f"{method} {path}: {answer.status} {answer.data.decode()[:500]}")
        return json.loads(answer.data) if answer.data[:1] == b"{" else answer.data

    def create(self, objects: Iterable[Manifest]) -> None:
        """Those of one kind side by side; kinds one after the other."""
        by_kind: dict[str, list[Manifest]] = {}
        for manifest in objects:
            by_kind.setdefault(manifest["kind"], []).append(manifest)
        with ThreadPoolExecutor(_WRITERS) as writers:
            for manifests in by_kind.values():
                list(writers.map(self._create, manifests))

    def _create(self, manifest: Manifest) -> None:
        self.call("POST", collection(manifest), manifest)

    def pods(self) -> list[Manifest]:
        items: list[Manifest] = self.call("GET", "api/v1/pods")["items"]
        return items

    def patch_pod(self, name: str, change: Manifest) -> None:
        """A merge patch, of the namespace `default`."""
        content = {"Content-Type": "application/merge-patch+json"}
        self.call("PATCH", f"api/v1/namespaces/default/pods/{name}", change, **content)

    def patch_node(self, name: str, change: Manifest) -> None:
        """A merge patch."""
        content = {"Content-Type": "application/merge-patch+json"}
        self.call("PATCH", f"api/v1/nodes/{name}", change, **content)

    def delete_nodes(self, names: Iterable[str]) -> None:
        for name in names:
            self.call("DELETE", f"api/v1/nodes/{name}")

    def delete_pods(self, names: Iterable[str]) -> None:
        for name in names:
            self.call("DELETE", f"api/v1/namespaces/default/pods/{name}")

    def events(self) -> list[Manifest]:
        items: list[Manifest] = self.call("GET", "api/v1/events")["items"]
        return items


def collection(manifest: Manifest) -> str:
    """The path to create the object at."""
    version, plural, namespaced = _PLACES[manifest["kind"]]
    if not namespaced:
        return f"{version}/{plural}"
    return f"{version}/namespaces/{manifest['metadata'].get('namespace', 'default')}/{plural}"


def wait(what: str, is_true: Callable[[], bool], seconds: float = 60) -> None:
    """Raises TimeoutError."""
    deadline = time.monotonic() + seconds
    while not is_true():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {seconds:.0f} s for {what}")
        time.sleep(0.2)
