"""Types of the fixtures."""

from __future__ import annotations

from typing import Any, Protocol

from ksched_cli.live.client import ApiServer as Client
from tests.live.fake_api_server import ApiServer, Manifest


class Serve(Protocol):
    def __call__(self, *objects: Manifest, **options: Any) -> ApiServer: ...


class Connect(Protocol):
    def __call__(self, server: ApiServer, **options: Any) -> Client: ...
