"""All pods at time 0, with victims that leave at once: what `schedule` decides."""

from __future__ import annotations

from pathlib import Path

import pytest
from cases import GATES_FILE, expected_file

from ksched_cli.cluster.loading.load import load_state
from ksched_cli.config.load import load_configuration
from ksched_cli.engine.engine import Options
from ksched_cli.engine.replay.records import PodOutcome
from ksched_cli.engine.replay.replay import Replay, ReplayOptions
from ksched_cli.engine.replay.replay_cluster import ReplayCluster
from ksched_cli.engine.simulation import Simulation
from ksched_cli.kube.gates import POD_GROUP_KINDS
from ksched_cli.kube.versions import release_of
from ksched_cli.plugins import registry_of

# Extenders answer elsewhere. A group backs off and is tried again whatever has happened; `schedule`
# tries one of which it has placed a pod only once other pods have come or gone.
LEFT_OUT = (
    "extenders/",
    "podgroups/7001/",
    "podgroups/shared-claim/",
    "podgroups/claim-given-back-elsewhere/",
)
CASES = [
    file.parent
    for file in sorted(Path(__file__).parent.glob("cases/*/*/state.yaml"))
    if not any(name in str(file) for name in LEFT_OUT)
]
REGISTRY = registry_of(release_of("1.34"))

# The minor of a case with feature gates: the first of these that decides it.
REPLAYED = ("1.36", "1.37", "1.38", "1.35", "1.34")


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}-{case.name}")
def test_a_replay_of_everything_at_once_is_a_run(case: Path) -> None:
    gates, config = case / GATES_FILE, case / "config.yaml"
    registry = REGISTRY
    if gates.exists():
        minor = next(each for each in REPLAYED if expected_file(case, each).exists())
        registry = registry_of(release_of(minor, gates.read_text().strip()))
    text = config.read_text() if config.exists() else None
    configuration = load_configuration(text, "config.yaml", registry)
    state = load_state([str(case / "state.yaml")], reads=POD_GROUP_KINDS)
    run = Simulation(state, configuration, registry, Options()).run()
    cluster = ReplayCluster(state, configuration, registry, Options())
    replay = Replay(cluster, iter(()), ReplayOptions(evicts_at_once=True))
    replay.run()
    live = replay.log.live
    assert {
        key: record.node
        for key, record in live.items()
        if record.outcome is PodOutcome.RUNNING and not record.was_bound
    } == run.placements
    assert replay.pending() == sorted(run.pending)
    gated = [key for key, record in live.items() if record.outcome is PodOutcome.GATED]
    assert sorted(gated) == sorted(run.gated)
    assert replay.log.counts.evicted == len(run.evicted)
