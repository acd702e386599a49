"""All pods at time 0, with victims that leave at once: what `schedule` decides."""

from __future__ import annotations

from pathlib import Path

import pytest

from ksched_cli.cluster.loading.load import load_state
from ksched_cli.config.load import load_configuration
from ksched_cli.engine.replay.records import PodOutcome
from ksched_cli.engine.replay.replay import Replay, ReplayOptions
from ksched_cli.engine.replay.world import World
from ksched_cli.engine.simulation import Options, Simulation
from ksched_cli.kube.versions import release_of
from ksched_cli.plugins import registry_of

# Extenders answer elsewhere; pod groups are tried together, which replays do not do.
LEFT_OUT = ("extenders", "podgroups")
CASES = [
    file.parent
    for file in sorted(Path(__file__).parent.glob("cases/*/*/state.yaml"))
    if file.parent.parent.name not in LEFT_OUT and not list(file.parent.glob("*gates*"))
]
REGISTRY = registry_of(release_of("1.34"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}-{case.name}")
def test_a_replay_of_everything_at_once_is_a_run(case: Path) -> None:
    config = case / "config.yaml"
    text = config.read_text() if config.exists() else None
    configuration = load_configuration(text, "config.yaml", REGISTRY)
    state = load_state([str(case / "state.yaml")])
    run = Simulation(state, configuration, REGISTRY, Options()).run()
    world = World(state, configuration, REGISTRY, Options())
    replay = Replay(world, iter(()), ReplayOptions(evicts_at_once=True))
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
