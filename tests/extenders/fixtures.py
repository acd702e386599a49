"""Servers and simulations for the tests of extenders."""

import json

import pytest

from extenders.servers import Server
from ksched_cli.config.load import load_configuration
from ksched_cli.config.types import API_VERSION, KIND
from ksched_cli.engine.extender_runner import ExtenderOptions
from ksched_cli.engine.simulation import Options, Simulation
from ksched_cli.framework.registry import Registry
from ksched_cli.plugins import IN_TREE


@pytest.fixture
def serve():
    """Starts a server that ends with the test."""
    started = []

    def start(answers, tls=None):
        started.append(Server(answers, tls))
        return started[-1]

    yield start
    for server in started:
        server.close()


def config_text(*extenders, **fields):
    """A configuration with these extenders; http_timeout is short, for no test waits long."""
    timed = [{"httpTimeout": "10s", **extender} for extender in extenders]
    return json.dumps({"apiVersion": API_VERSION, "kind": KIND, "extenders": timed, **fields})


@pytest.fixture
def extended():
    """A simulation of a state with extenders, which ends with the test; and its warnings."""
    made = []

    def make(state, *extenders, fields=None, **options):
        warnings = []
        registry = Registry(IN_TREE)
        text = config_text(*extenders, **(fields or {}))
        configuration = load_configuration(text, "the test's configuration", registry)
        run_options = Options(
            detailed=True, extenders=ExtenderOptions(warn=warnings.append, **options)
        )
        made.append(Simulation(state, configuration, registry, run_options))
        return made[-1], warnings

    yield make
    for run in made:
        run.close()
