"""What others write or answer: logs, keys, API servers, kubeconfigs."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from answer_subjects import LOG
from format import (
    FIRST_CLUSTER,
    JSON,
    PREEMPTION,
    Arguments,
    Format,
    Variants,
    encoded,
    of_documents,
    singly,
)
from own_state import own_state
from runs_here import runs_here
from state_formats import beside_states
from subject import within
from substitutes import token_variants

from tests.extenders.servers import Server
from tests.live.fake_api_server import SERVED, write_kubeconfig


def _log_lines() -> Iterator[Sequence[Any]]:
    for pod in ("web-1", "db-1"):
        named = {"name": pod, "namespace": "default"}
        yield [
            {"ts": 1, "msg": "Attempting to schedule pod", "v": 3, "pod": named},
            {"ts": 1, "msg": "the target node for the preemption is determined", "v": 3,
             "node": "n0", "preemptor": named},
            {"ts": 1, "msg": "Start the preemption asynchronously", "v": 3, "preemptor": named,
             "node": "n0", "numVictims": 1},
            {"ts": 1, "msg": "Delete event for scheduled pod", "v": 3, "pod": named},
            {"ts": 1, "msg": "Unable to schedule pod; no fit; waiting", "pod": named, "err": "e"},
        ]  # fmt: skip


def _log_variants() -> Variants:
    yield from of_documents(_log_lines)()
    yield from encoded(
        token_variants([line.replace("p0", "web-1").replace("p1", "db-1") for line in LOG])
    )


def _log_commands(file: str, folder: Path) -> Sequence[Arguments]:
    files = ("--before", str(folder / "before.json"), "--after", str(folder / "own.json"))
    return (
        ("audit", *files, "--scheduler-log", file, *JSON),
        ("audit", *files, "--scheduler-log", file),
    )


def _beside_logs(folder: Path) -> None:
    beside_states(folder)
    before = [item for item in own_state() if item["kind"] in ("Node", "Pod")]
    for item in before:
        if item["kind"] == "Pod":
            del item["spec"]["nodeName"]
            item["status"] = {"phase": "Pending"}
    (folder / "before.json").write_text("\n".join(map(json.dumps, before)))


def _key_commands(file: str, folder: Path) -> Sequence[Arguments]:
    out = str(folder / "out.json")
    return (("snapshot", out, "--state", FIRST_CLUSTER, "--redact-key", file, *JSON),
            ("snapshot", out, "--state", PREEMPTION, "--redact-key", file))  # fmt: skip


@cache
def _key() -> Any:
    with tempfile.TemporaryDirectory() as folder, runs_here():
        path = Path(folder) / "key.json"
        out = str(Path(folder) / "out.json")
        within(("snapshot", out, "--state", FIRST_CLUSTER, "--redact-key", str(path)))
        return json.loads(path.read_text())


class _Cluster(Server):
    """An API server of which one path answers what a file has."""

    def __init__(self) -> None:
        super().__init__({})
        self.file, self.path = Path(), ""

    def use(self, file: str, path: str, answers: dict[str, Any]) -> None:
        self.answers = {f"{key}?limit=500": value for key, value in answers.items()} | answers
        changed = Path(file).read_bytes()
        self.answers |= {path: changed, f"{path}?limit=500": changed}


@cache
def _cluster() -> _Cluster:
    return _Cluster()


def _served() -> dict[str, Any]:
    """By path, what an API server answers."""
    answers: dict[str, Any] = {"/version": {"gitVersion": "v1.34.1"}}
    groups = []
    for version, kinds in SERVED.items():
        base = f"/apis/{version}" if "/" in version else f"/api/{version}"
        resources = [
            {"name": plural, "kind": kind, "namespaced": namespaced, "verbs": ["list"]}
            for kind, (plural, namespaced) in kinds.items()
        ]
        answers[base] = {"kind": "APIResourceList", "resources": resources}
        for kind, (plural, _) in kinds.items():
            items = [item for item in own_state() if item["kind"] == kind]
            answers[f"{base}/{plural}"] = {"metadata": {"resourceVersion": "5"}, "items": items[:2]}
        if "/" in version:
            name = {"groupVersion": version}
            groups.append(
                {"name": version.split("/")[0], "versions": [name], "preferredVersion": name}
            )
    core = {"name": "events", "kind": "Event", "namespaced": True, "verbs": ["list"]}
    answers["/api/v1"]["resources"].append(core)
    events = [item for item in own_state() if item["kind"] == "Event"][:1]
    answers["/api/v1/events"] = {"metadata": {"resourceVersion": "5"}, "items": events}
    answers["/apis"] = {"kind": "APIGroupList", "groups": groups}
    return answers


def _of_server(path: str) -> Format:
    def variants() -> Variants:
        yield from singly(lambda: [_served()[path]])()
        yield (
            "no UTF-8",
            lambda: b'{"items": [{"metadata": {"name": "\xff"}}], "gitVersion": "\xff"}',
        )
        yield "no JSON", lambda: b"<html>"

    def commands(file: str, folder: Path) -> Sequence[Arguments]:
        server = _cluster()
        server.use(file, path, _served())
        kubeconfig = str(write_kubeconfig(folder / "kubeconfig", server.url))
        written = ("snapshot", str(folder / "out.json"), "--kubeconfig", kubeconfig)
        return (
            (*written, *JSON), (*written, "--events"), (*written, "--full"),
            (*written, "--redact"), ("schedule", "--live", "--kubeconfig", kubeconfig, *JSON),
        )  # fmt: skip

    return Format(f"API server's {path}", "answer.json", variants, commands)


SERVER_PATHS = ("/version", "/apis", "/api/v1", "/apis/apps/v1", "/api/v1/pods", "/api/v1/nodes",
                "/apis/apps/v1/deployments", "/api/v1/events")  # fmt: skip


def _kubeconfigs() -> list[Any]:
    with tempfile.TemporaryDirectory() as folder:
        user = {"token": "t", "client-certificate-data": "YQ==", "username": "u", "password": "p"}
        cluster = {"insecure-skip-tls-verify": True, "certificate-authority-data": "YQ==",
                   "proxy-url": "http://127.0.0.1:1", "tls-server-name": "s"}  # fmt: skip
        plain = write_kubeconfig(Path(folder) / "k", "http://127.0.0.1:1")
        full = write_kubeconfig(
            Path(folder) / "f", "https://127.0.0.1:1", user=user, cluster=cluster, namespace="n"
        )
        return [yaml.safe_load(file.read_text()) for file in (plain, full)]


def _kubeconfig_commands(file: str, folder: Path) -> Sequence[Arguments]:
    return (("snapshot", str(folder / "o.json"), "--kubeconfig", file),
            ("schedule", "--live", "--kubeconfig", file, "--context", "here", *JSON),
            ("schedule", "--live", "--kubeconfig", file, "--context", "there", *JSON))  # fmt: skip


FORMATS = (
    Format("log", "scheduler.log", _log_variants, _log_commands, _beside_logs),
    Format("key of a redaction", "key.json", singly(lambda: [_key()]), _key_commands),
    Format("kubeconfig", "kubeconfig", singly(_kubeconfigs), _kubeconfig_commands),
    *map(_of_server, SERVER_PATHS),
)  # fmt: skip
