"""Servers and simulations for the tests of extenders."""

import json
import ssl
from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import pytest

from ksched_cli.cluster.state import ClusterState
from ksched_cli.config.load import load_configuration
from ksched_cli.config.types import API_VERSION, KIND
from ksched_cli.engine.engine import Options
from ksched_cli.engine.extender_runner import ExtenderOptions
from ksched_cli.engine.simulation import Simulation
from ksched_cli.kube.versions import release_of
from ksched_cli.plugins import registry_of
from tests.extenders.servers import Answer, Server


class Serve(Protocol):
    """Starts a server. answers: path → answer, as of `Server`."""

    def __call__(
        self, answers: Mapping[str, Answer], tls: ssl.SSLContext | None = None
    ) -> Server: ...


class Extended(Protocol):
    """A simulation of the state with these extenders, and the warnings that it will have given.

    fields: the configuration's other fields. options: ExtenderOptions's.
    """

    def __call__(
        self,
        state: ClusterState,
        *extenders: dict[str, Any],
        fields: dict[str, Any] | None = None,
        **options: Any,
    ) -> tuple[Simulation, list[str]]: ...


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts a server that ends with the test."""
    started = []

    def start(answers: Mapping[str, Answer], tls: ssl.SSLContext | None = None) -> Server:
        started.append(Server(answers, tls))
        return started[-1]

    yield start
    for server in started:
        server.close()


def config_text(*extenders: dict[str, Any], **fields: Any) -> str:
    """A configuration with these extenders, which are waited for longer than any takes."""
    timed = [{"httpTimeout": "60s", **extender} for extender in extenders]
    return json.dumps({"apiVersion": API_VERSION, "kind": KIND, "extenders": timed, **fields})


@pytest.fixture
def extended() -> Iterator[Extended]:
    """A simulation of a state with extenders, which ends with the test; and its warnings."""
    runs = []

    def simulate(
        state: ClusterState,
        *extenders: dict[str, Any],
        fields: dict[str, Any] | None = None,
        **options: Any,
    ) -> tuple[Simulation, list[str]]:
        warnings: list[str] = []
        registry = registry_of(release_of())
        text = config_text(*extenders, **(fields or {}))
        configuration = load_configuration(text, "the test's configuration", registry)
        run_options = Options(
            detailed=True, extenders=ExtenderOptions(warn=warnings.append, **options)
        )
        runs.append(Simulation(state, configuration, registry, run_options))
        return runs[-1], warnings

    yield simulate
    for run in runs:
        run.close()
