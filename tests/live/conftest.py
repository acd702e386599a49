"""API servers and kubeconfigs of tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.live import client
from ksched_cli.live.client import ApiServer as Client
from ksched_cli.live.client import connect
from tests.live.fake_api_server import ApiServer, Manifest, write_kubeconfig
from tests.live.fixtures import Connect, Serve


@pytest.fixture(autouse=True)
def retries_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is waited for before a request is sent again."""
    monkeypatch.setattr(client, "BACKOFF_SECONDS", 0.0)


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts an API server that ends with the test."""
    started: list[ApiServer] = []

    def start(*objects: Manifest, **options: Any) -> ApiServer:
        started.append(ApiServer(objects, **options))
        return started[-1]

    yield start
    for server in started:
        server.close()


@pytest.fixture
def connected(tmp_path: Path) -> Connect:
    """A connection to an API server. options: of write_kubeconfig"""

    def to(server: ApiServer, **options: Any) -> Client:
        path = write_kubeconfig(tmp_path / "kubeconfig", server.url, **options)
        return connect(kubeconfig=str(path))

    return to
