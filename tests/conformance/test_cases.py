"""The states that the real kube-scheduler of each minor decided, all of them in this process; and
a replay of each."""

import json
import runpy
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from _pytest.mark import ParameterSet
from cases import GATES_FILE, differs, expected_file
from msgspec import convert
from releases import PATCHES

from ksched_cli.analysis.schedule import ScheduleResult, result_of
from ksched_cli.answers import document_of
from ksched_cli.cluster.loading.load import load_state
from ksched_cli.cluster.state import ClusterState
from ksched_cli.config.effective import Configuration
from ksched_cli.config.load import load_configuration
from ksched_cli.engine.engine import Options
from ksched_cli.engine.replay.records import PodOutcome
from ksched_cli.engine.replay.replay import Replay, ReplayOptions
from ksched_cli.engine.replay.replay_cluster import ReplayCluster
from ksched_cli.engine.simulation import Simulation
from ksched_cli.framework.registry import Registry
from ksched_cli.kube.gates import POD_GROUP_KINDS
from ksched_cli.kube.versions import MINORS, release_of
from ksched_cli.plugins import registry_of
from ksched_cli.testing import check
from tests.extenders.servers import QuietServer

HERE = Path(__file__).parent
SCHEMA = HERE.parent.parent / "schemas" / "schedule_result.json"
# Some cases have been decided by another patch release, too.
RELEASES = (*PATCHES, *MINORS)
REGISTRIES = {release: registry_of(release_of(release)) for release in RELEASES}
EXTENDER_PORT = "18700"

# Cases that kube-scheduler itself decides now so, now otherwise, and why.
UNSTEADY = {
    ("claims", "002"): "the order of a map of pools decides which device an expression fails on",
}

# Families a document of which has been compared with the schema; all documents have one type.
VALIDATED: set[str] = set()

CASES = [file.parent for file in sorted(HERE.glob("cases/*/*/state.yaml"))]


def parameters(number: int, case: Path) -> Iterator[ParameterSet]:
    """The case with each release that decided it. The plain suite tries a generated case, whose
    name is a number, with one release, which is another for the next case."""
    family = case.parent.name
    reason = UNSTEADY.get((family, case.name))
    releases = [each for each in RELEASES if expected_file(case, each).exists()]
    for release in releases:
        marks = [pytest.mark.skip(reason=reason)] if reason else []
        if case.name.isdigit() and release != releases[number % len(releases)]:
            marks.append(pytest.mark.slow)
        yield pytest.param(case, release, id=f"{family}-{case.name}-{release}", marks=marks)


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


@cache
def state_of(case: Path) -> ClusterState:
    return load_state([str(case / "state.yaml")], reads=POD_GROUP_KINDS)


def inputs_of(case: Path, minor: str) -> tuple[ClusterState, Configuration, Registry]:
    gates, config = case / GATES_FILE, case / "config.yaml"
    registry = REGISTRIES[minor]
    if gates.exists():
        registry = registry_of(release_of(minor, gates.read_text().strip()))
    text = text_of(config) if config.exists() else None
    return state_of(case), load_configuration(text, "config.yaml", registry), registry


def decide(case: Path, minor: str) -> dict[str, Any]:
    """What ksched decides, as its JSON has it."""
    simulation = Simulation(*inputs_of(case, minor), Options(detailed=True))
    document = document_of(result_of(simulation, simulation.run(), trace=True))
    check(simulation)
    decision: dict[str, Any] = json.loads(json.dumps(document))
    convert(decision, ScheduleResult)
    if case.parent.name not in VALIDATED:
        validator().validate(decision)
        VALIDATED.add(case.parent.name)
    return decision


@pytest.mark.parametrize(
    ("case", "minor"),
    [each for number, case in enumerate(CASES) for each in parameters(number, case)],
)
def test_a_state_is_decided_as_kube_scheduler_decided_it(case: Path, minor: str) -> None:
    decision = decide(case, minor)
    expected = json.loads(text_of(expected_file(case, minor)))
    difference = differs(expected, decision, is_config=False)
    assert difference is None


# Extenders answer elsewhere. A group backs off and is tried again whatever has happened; `schedule`
# tries one of which it has placed a pod only once other pods have come or gone.
NOT_REPLAYED = {
    ("podgroups", "7001"),
    ("podgroups", "shared-claim"),
    ("podgroups", "claim-given-back-elsewhere"),
}
# The first of these minors that decided a case; of those for a case with feature gates.
REPLAYED = MINORS
WITH_GATES = ("1.36", "1.37", "1.38", "1.35", "1.34")


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=[pytest.mark.slow] * (case.name.isdigit() and number % 2))
        for number, case in enumerate(CASES)
        if case.parent.name != "extenders"
        and (case.parent.name, case.name) not in (*NOT_REPLAYED, *UNSTEADY)
    ],
    ids=lambda case: f"{case.parent.name}-{case.name}",
)
def test_a_replay_of_everything_at_once_decides_as_kube_scheduler(case: Path) -> None:
    """All pods come at time 0, and victims leave at once."""
    minors = WITH_GATES if (case / GATES_FILE).exists() else REPLAYED
    minor = next(each for each in minors if expected_file(case, each).exists())
    cluster = ReplayCluster(*inputs_of(case, minor), Options())
    replay = Replay(cluster, iter(()), ReplayOptions(evicts_at_once=True))
    replay.run()
    expected = json.loads(expected_file(case, minor).read_text())
    live = replay.log.live
    assert {
        key: record.node
        for key, record in live.items()
        if record.outcome is PodOutcome.RUNNING and not record.was_bound
    } == expected.get("placements", {})
    assert replay.pending() == sorted(expected.get("pending", []))
    gated = [key for key, record in live.items() if record.outcome is PodOutcome.GATED]
    assert sorted(gated) == sorted(expected.get("gated", []))
    assert replay.log.counts.evicted == len(expected.get("evicted", []))


def test_what_is_left_out_is_there() -> None:
    assert {(case.parent.name, case.name) for case in CASES} >= {*UNSTEADY, *NOT_REPLAYED}
