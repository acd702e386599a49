"""Plugins, served to requests as kube-scheduler sends them."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import urllib3

from ksched_cli.live import watch
from ksched_cli.run.run import KubeconfigCluster, Run
from ksched_cli.serve import extender
from ksched_cli.serve.extender import ExtenderServer
from ksched_cli.serve.listening import Listening
from tests.live.conftest import serve as api_server  # noqa: F401  # a fixture
from tests.live.fake_api_server import ApiServer, write_kubeconfig

HTTP = urllib3.PoolManager(maxsize=16, retries=False)
Manifest = dict[str, Any]
PLUGINS = Path(__file__).with_name("plugins.py")


@dataclass
class Served:
    """A server that runs in a thread of its own. lines: what it said"""

    server: ExtenderServer
    lines: list[str] = field(default_factory=list)
    url: str = ""
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        is_up = threading.Event()

        def note(line: str) -> None:
            self.lines.append(line)
            if line.startswith("serving "):
                self.url = line.removeprefix("serving ").partition(": ")[0]
                is_up.set()

        self.server.note, self.server.warn = note, self.lines.append
        self._thread = threading.Thread(target=self.server.run, args=(self._stop.is_set,))
        self._thread.start()
        assert is_up.wait(100)

    def stop(self) -> None:
        self._stop.set()
        assert self._thread is not None
        self._thread.join(100)
        assert not self._thread.is_alive()

    def post(self, verb: str, body: bytes, **headers: str) -> tuple[int, Any]:
        """The status, and the answer as data where it is JSON."""
        answer = HTTP.request("POST", f"{self.url}/{verb}", body=body, headers=headers)
        is_json = answer.headers.get("content-type") == "application/json"
        return answer.status, json.loads(answer.data) if is_json else answer.data.decode()

    def get(self, path: str) -> tuple[int, str]:
        answer = HTTP.request("GET", f"{self.url}{path}")
        return answer.status, answer.data.decode()

    def ask(self, verb: str, pod: Manifest, nodes: Sequence[str]) -> Any:
        """As an extender that is nodeCacheCapable is asked."""
        status, answer = self.post(verb, json.dumps({"Pod": pod, "NodeNames": nodes}).encode())
        assert status == 200, answer
        return answer

    def passing(self, pod: Manifest, *nodes: str) -> list[str]:
        answer: list[str] = self.ask("filter", pod, nodes)["NodeNames"]
        return answer


def serving(run: Run, at: Listening, settle: float = 0.0) -> Served:
    lines: list[str] = []
    served = Served(ExtenderServer.of(run, at, lines.append, lines.append, settle), lines)
    served.start()
    return served


Start = Callable[..., Served]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Serves plugins. objects: of the state, or a live cluster to follow"""
    monkeypatch.setattr(watch, "LEAST_BACKOFF_SECONDS", 0.01)
    monkeypatch.setattr(extender, "_IDLE_SECONDS", 0.01)
    started: list[Served] = []

    def go(
        objects: Sequence[Manifest] | ApiServer,
        *plugins: str,
        config: Manifest | None = None,
        listening: Listening | None = None,
        settle: float = 0.0,
    ) -> Served:
        path = tmp_path / "state.json"
        run = Run(plugins=tuple(f"{PLUGINS}:{name}" for name in plugins), workloads=False)
        if isinstance(objects, ApiServer):
            kubeconfig = str(write_kubeconfig(tmp_path / "kubeconfig", objects.url))
            run = replaced(run, live=KubeconfigCluster(kubeconfig))
        else:
            path.write_text(json.dumps(list(objects)))
            run = replaced(run, states=(str(path),))
        if config is not None:
            file = tmp_path / "config.json"
            file.write_text(json.dumps(config))
            run = replaced(run, configuration=str(file))
        served = serving(run, listening or Listening("127.0.0.1", 0), settle)
        started.append(served)
        return served

    yield go
    for each in started:
        each.stop()


def replaced(run: Run, **fields: Any) -> Run:
    from msgspec.structs import replace

    return replace(run, **fields)
