"""The states that the real kube-scheduler of each minor decided, all of them in this process."""

import json
import runpy
import threading
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from _pytest.mark import ParameterSet
from cases import GATES_FILE, differs, expected_file
from releases import PATCHES

from ksched_cli.analysis.schedule import result_of
from ksched_cli.answers import document_of
from ksched_cli.cluster.loading.load import load_state
from ksched_cli.cluster.state import ClusterState
from ksched_cli.config.load import load_configuration
from ksched_cli.engine.engine import Options
from ksched_cli.engine.simulation import Simulation
from ksched_cli.kube.gates import POD_GROUP_KINDS
from ksched_cli.kube.versions import MINORS, release_of
from ksched_cli.plugins import registry_of
from ksched_cli.testing import check
from tests.extenders.servers import QuietServer

HERE = Path(__file__).parent
SCHEMA = HERE.parent.parent / "schemas" / "schedule_result.json"
# Some cases have been decided by another patch release, too.
RELEASES = (*MINORS, *PATCHES)
REGISTRIES = {release: registry_of(release_of(release)) for release in RELEASES}
EXTENDER_PORT = "18700"

# Cases that kube-scheduler itself decides now so, now otherwise, and why.
UNSTEADY = {
    ("claims", "002"): "the order of a map of pools decides which device an expression fails on",
}

# Cases whose document has been compared with the schema: under all releases it has one type.
VALIDATED: set[Path] = set()

CASES = [file.parent for file in sorted(HERE.glob("cases/*/*/state.yaml"))]


def parameter(case: Path, minor: str) -> ParameterSet:
    family = case.parent.name
    reason = UNSTEADY.get((family, case.name))
    marks = [pytest.mark.skip(reason=reason)] if reason else []
    return pytest.param(case, minor, id=f"{family}-{case.name}-{minor}", marks=marks)


@cache
def extender_port() -> str:
    """Where the cases' extender answers in this process: workers side by side need a port each."""
    handler = runpy.run_path(str(HERE / "extender.py"))["Handler"]
    server = QuietServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return str(server.server_port)


def text_of(file: Path) -> str:
    """A file's text, with the port of this process's extender in it."""
    text = file.read_text()
    address = f"127.0.0.1:{EXTENDER_PORT}"
    return text.replace(address, f"127.0.0.1:{extender_port()}") if address in text else text


@cache
def validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text()))


@lru_cache(1)  # the releases that decide a case follow one another
def state_of(case: Path) -> ClusterState:
    return load_state([str(case / "state.yaml")], reads=POD_GROUP_KINDS)


def decide(case: Path, minor: str) -> dict[str, Any]:
    """What ksched decides, as its JSON has it."""
    gates = case / GATES_FILE
    registry = REGISTRIES[minor]
    if gates.exists():
        registry = registry_of(release_of(minor, gates.read_text().strip()))
    config = case / "config.yaml"
    text = text_of(config) if config.exists() else None
    configuration = load_configuration(text, "config.yaml", registry)
    simulation = Simulation(state_of(case), configuration, registry, Options(detailed=True))
    document = document_of(result_of(simulation, simulation.run(), trace=True))
    check(simulation)
    decision: dict[str, Any] = json.loads(json.dumps(document))
    if case not in VALIDATED:
        validator().validate(decision)
        VALIDATED.add(case)
    return decision


@pytest.mark.parametrize(
    ("case", "minor"),
    [
        parameter(case, minor)
        for case in CASES
        for minor in RELEASES
        if expected_file(case, minor).exists()
    ],
)
def test_a_state_is_decided_as_kube_scheduler_decided_it(case: Path, minor: str) -> None:
    decision = decide(case, minor)
    expected = json.loads(text_of(expected_file(case, minor)))
    difference = differs(expected, decision, is_config=False)
    assert difference is None


def test_what_is_left_out_is_there() -> None:
    assert {(case.parent.name, case.name) for case in CASES} >= set(UNSTEADY)
