"""A small API server on the loopback address: lists in pages, and what may go wrong with them."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import yaml

from tests.extenders.servers import QuietServer

Manifest = dict[str, Any]

# Group and version → kind → plural, and whether it has namespaces.
SERVED: dict[str, dict[str, tuple[str, bool]]] = {
    "v1": {
        "Node": ("nodes", False),
        "Event": ("events", True),
        "Pod": ("pods", True),
        "Namespace": ("namespaces", False),
        "PersistentVolume": ("persistentvolumes", False),
        "PersistentVolumeClaim": ("persistentvolumeclaims", True),
        "Service": ("services", True),
        "ReplicationController": ("replicationcontrollers", True),
    },
    "apps/v1": {
        "ReplicaSet": ("replicasets", True),
        "StatefulSet": ("statefulsets", True),
        "Deployment": ("deployments", True),
        "DaemonSet": ("daemonsets", True),
    },
    "batch/v1": {"Job": ("jobs", True), "CronJob": ("cronjobs", True)},
    "policy/v1": {"PodDisruptionBudget": ("poddisruptionbudgets", True)},
    "scheduling.k8s.io/v1": {"PriorityClass": ("priorityclasses", False)},
    "storage.k8s.io/v1": {
        "StorageClass": ("storageclasses", False),
        "CSINode": ("csinodes", False),
        "CSIDriver": ("csidrivers", False),
        "CSIStorageCapacity": ("csistoragecapacities", True),
        "VolumeAttachment": ("volumeattachments", False),
    },
    "resource.k8s.io/v1": {
        "ResourceClaim": ("resourceclaims", True),
        "ResourceClaimTemplate": ("resourceclaimtemplates", True),
        "ResourceSlice": ("resourceslices", False),
        "DeviceClass": ("deviceclasses", False),
        "DeviceTaintRule": ("devicetaintrules", False),
    },
}


# A status in place of an answer, or what becomes of the answer: CLOSED without a byte, CUT in its
# middle, HALF of its JSON (as if whole), or it HANGS until the server ends; it DRIPS a byte at a
# time, or is ENDLESS. None: nothing is wrong.
CLOSED, CUT, HALF, HANGS, DRIPS, ENDLESS = "closed", "cut", "half", "hangs", "drips", "endless"
# A watch's answer: the API server has forgotten the revision.
EXPIRED = "expired"
Outage = int | str | None


@dataclass
class Faults:
    """What goes wrong.

    refused:   path → what is wrong with every answer, as 403
    passing:   path → what is wrong with its next answers
    expired:   how many requests with a continue token are answered with 410
    watches:   path → what is wrong with its next watches: a status, EXPIRED, CUT in a line, HALF a
               line, a line that is ENDLESS, CLOSED at once in order: the connection is kept, and
               gone with its next request
    dies_after: the requests that are answered; then connections are closed without an answer
    token:     what is needed to be let in; "" for nothing
    """

    refused: dict[str, Outage] = field(default_factory=dict)
    passing: dict[str, list[Outage]] = field(default_factory=dict)
    watches: dict[str, list[Outage]] = field(default_factory=dict)
    expired: int = 0
    dies_after: int | None = None
    token: str = ""

    def of(self, path: str) -> Outage:
        """What is wrong with the next answer."""
        passing = self.passing.get(path)
        return passing.pop(0) if passing else self.refused.get(path)


class ApiServer:
    """objects: as they are served. requests: the paths with their queries, in order."""

    def __init__(
        self,
        objects: Sequence[Manifest] = (),
        *,
        served: Mapping[str, Mapping[str, tuple[str, bool]]] | None = None,
        tls: ssl.SSLContext | None = None,
        page: int = 500,
    ) -> None:
        """page: the most objects that a page has, whatever limit is asked for"""
        self.objects = list(objects)
        self.served = dict(SERVED if served is None else served)
        self.version = "v1.34.1"
        self.faults = Faults()
        self.requests: list[str] = []
        self.page = page
        # What was published: revision, kind, type and object.
        self.events: list[tuple[int, str, str, Manifest]] = []
        self.published = threading.Condition()
        self._http = QuietServer(("127.0.0.1", 0), self._handler())
        if tls is not None:
            self._http.socket = tls.wrap_socket(
                self._http.socket, server_side=True, do_handshake_on_connect=False
            )
        self.ends = threading.Event()
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self._http.server_address[1]}"

    def close(self) -> None:
        self.ends.set()
        with self.published:
            self.published.notify_all()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def publish(self, event: str, obj: Manifest) -> None:
        """An object is ADDED, MODIFIED or DELETED; who watches is told."""
        with self.published:
            revision = 10_001 + len(self.events)
            obj = {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(revision)}}
            own = _identity(obj)
            self.objects = [each for each in self.objects if _identity(each) != own]
            if event != "DELETED":
                self.objects.append(obj)
            self.events.append((revision, obj["kind"], event, obj))
            self.published.notify_all()

    def forget(self, obj: Manifest) -> None:
        """An object goes, and nobody is told."""
        self.objects = [each for each in self.objects if _identity(each) != _identity(obj)]

    def watches_begin(self, path: str) -> None:
        """A watch has come."""

    def watched(self, path: str) -> Iterator[bytes]:
        """The lines of a watch, as they come."""
        url = urlsplit(path)
        plural = url.path.rpartition("/")[2]
        kinds = {name: kind for group in self.served.values() for kind, (name, _) in group.items()}
        after = int(parse_qs(url.query)["resourceVersion"][0])
        place = 0
        while not self.ends.is_set():
            with self.published:
                while place == len(self.events) and not self.ends.is_set():
                    self.published.wait()
                batch, place = self.events[place:], len(self.events)
            for revision, kind, event, obj in batch:
                if revision > after and kind == kinds.get(plural):
                    yield json.dumps({"type": event, "object": obj}).encode() + b"\n"

    def answer(self, target: str, token: str) -> tuple[int, Manifest]:
        """Status and body."""
        self.requests.append(target)
        url = urlsplit(target)
        query = {key: values[0] for key, values in parse_qs(url.query).items()}
        if self.faults.token and token != f"Bearer {self.faults.token}":
            return failure(401, "Unauthorized")
        if url.path == "/version":
            return 200, {"gitVersion": self.version}
        if url.path == "/apis":
            return 200, {"kind": "APIGroupList", "groups": self._groups()}
        return self._listed_or_resources(
            url.path.removeprefix("/apis/").removeprefix("/api/"), query
        )

    def _groups(self) -> list[Manifest]:
        groups: dict[str, list[Manifest]] = {}
        for version in self.served:
            if "/" in version:
                groups.setdefault(version.split("/")[0], []).append({"groupVersion": version})
        return [
            {"name": name, "versions": versions, "preferredVersion": versions[0]}
            for name, versions in groups.items()
        ]

    def _listed_or_resources(self, path: str, query: Mapping[str, str]) -> tuple[int, Manifest]:
        for version, kinds in self.served.items():
            if path == version:
                resources = [
                    {"name": plural, "kind": kind, "namespaced": namespaced, "verbs": ["list"]}
                    for kind, (plural, namespaced) in kinds.items()
                ]
                return 200, {"kind": "APIResourceList", "resources": resources}
            parts = path.removeprefix(f"{version}/").split("/")
            for kind, (plural, _) in kinds.items():
                if path.startswith(f"{version}/") and parts[-1] == plural:
                    namespace = parts[1] if len(parts) == 3 else ""
                    return self._page_of(kind, version, namespace, query)
        return failure(404, "the server could not find the requested resource")

    def _page_of(
        self, kind: str, version: str, namespace: str, query: Mapping[str, str]
    ) -> tuple[int, Manifest]:
        if "continue" in query and self.faults.expired:
            self.faults.expired -= 1
            return failure(410, "The provided continue parameter is too old")
        objects = [
            {key: value for key, value in obj.items() if key not in ("kind", "apiVersion")}
            for obj in self.objects
            if obj["kind"] == kind and namespace in ("", obj["metadata"].get("namespace"))
        ]
        begin = int(query.get("continue", "0"))
        size = min(int(query["limit"]), self.page) if "limit" in query else len(objects)
        end = begin + size
        revision = 10_000 + len(self.events) if self.events else 1000 + len(self.requests)
        metadata = {"resourceVersion": str(revision)}
        if end < len(objects):
            metadata["continue"] = str(end)
        items = objects[begin:end] or None
        return 200, {
            "kind": f"{kind}List", "apiVersion": version, "metadata": metadata, "items": items,
        }  # fmt: skip

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(_WatchHandler):
            api = server
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # headers and body are written one after the other

            def do_GET(self) -> None:
                after = server.faults.dies_after
                if self.is_stale or (after is not None and len(server.requests) >= after):
                    self.close_connection = True
                    return
                path = urlsplit(self.path).path
                if "watch=1" in self.path:
                    self.watch(path)
                    return
                outage = server.faults.of(path)
                status, body = server.answer(self.path, self.headers.get("Authorization", ""))
                if isinstance(outage, int):
                    status, body = failure(outage, f"no access to {path}")
                data = json.dumps(body).encode()
                half = data[: len(data) // 2]
                if outage == HANGS:
                    server.ends.wait()
                self.close_connection = outage in (CLOSED, CUT, HANGS)
                if outage in (CLOSED, HANGS):
                    return
                data = half if outage == HALF else data
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                if outage == ENDLESS:
                    self.close_connection = True
                    self.end_headers()
                    self.endless(lambda: self.wfile.write(SPACES))
                    return
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                if outage == DRIPS:
                    self.drip(data)
                    return
                self.wfile.write(half if outage == CUT else data)

            def log_message(self, *_: object) -> None:
                pass

        return Handler


SPACES = b" " * 65_536


class _WatchHandler(BaseHTTPRequestHandler):
    """Answers watches. is_stale: the connection is closed without another answer"""

    api: ApiServer
    is_stale = False

    def watch(self, path: str) -> None:
        self.api.requests.append(self.path)
        self.api.watches_begin(path)
        outages = self.api.faults.watches.get(path)
        outage = outages.pop(0) if outages else None
        self.is_stale = outage == CLOSED
        self.close_connection = not self.is_stale
        if isinstance(outage, int):
            body = json.dumps(failure(outage, f"no access to {path}")[1]).encode()
            self.send_response(outage)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            return
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        if outage == ENDLESS:
            self.endless(lambda: self._chunk(SPACES))
            return
        for line in self._lines(outage):
            if outage in (CUT, HALF):
                self._chunk(line[: len(line) // 2] + (b"\n" if outage == HALF else b""))
                return
            self._chunk(line)
        self.wfile.write(b"0\r\n\r\n")

    def endless(self, write: Callable[[], object]) -> None:
        """Write for as long as anybody reads."""
        with suppress(OSError):
            while not self.api.ends.is_set():
                write()

    def drip(self, data: bytes) -> None:
        with suppress(OSError):
            for place in range(len(data)):
                self.wfile.write(data[place : place + 1])
                if self.api.ends.wait(0.05):
                    return

    def _lines(self, outage: Outage) -> Iterator[bytes]:
        if outage == EXPIRED:
            _, status = failure(410, "too old resource version")
            yield json.dumps({"type": "ERROR", "object": status}).encode() + b"\n"
        elif outage == HANGS:
            self.api.ends.wait()
        elif outage != CLOSED:
            yield from self.api.watched(self.path)

    def _chunk(self, text: bytes) -> None:
        self.wfile.write(f"{len(text):x}\r\n".encode() + text + b"\r\n")
        self.wfile.flush()


def _identity(obj: Manifest) -> tuple[str, str, str]:
    metadata = obj["metadata"]
    return obj["kind"], metadata.get("namespace", ""), metadata["name"]


def failure(status: int, message: str) -> tuple[int, Manifest]:
    return status, {"kind": "Status", "status": "Failure", "message": message, "code": status}


def write_kubeconfig(
    path: Path,
    server: str,
    *,
    user: Mapping[str, Any] | None = None,
    cluster: Mapping[str, Any] | None = None,
    namespace: str = "",
) -> Path:
    """A kubeconfig of one context, "here". user, cluster: further fields."""
    context = {"cluster": "c", "user": "u", **({"namespace": namespace} if namespace else {})}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "contexts": [{"name": "here", "context": context}],
        "clusters": [{"name": "c", "cluster": {"server": server, **(cluster or {})}}],
        "users": [{"name": "u", "user": dict(user or {})}],
    }
    path.write_text(yaml.safe_dump(document))
    return path
