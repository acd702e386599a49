"""A replay of pods that are all there at the beginning gives what `schedule` gives."""

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

CASES = Path(__file__).parents[2] / "conformance" / "cases"
# Extenders answer over the network, pods of groups are not replayed, and 1.34 lacks some gates.
LEFT_OUT = {"extenders", "podgroups", "gated"}
FAMILIES = sorted({path.name for path in CASES.iterdir()} - LEFT_OUT)
PER_FAMILY = 2


def outcome(run: Replay) -> tuple[dict[str, str], list[str], list[str], int]:
    """Where pods were placed, which are pending and which gated, and how many were evicted."""
    records = run.log.live
    placed = {
        key: info.pod.node_name
        for key, info in run.world.bound.items()
        if key in records and not records[key].was_bound
    }
    gated = [key for key, record in records.items() if record.outcome is PodOutcome.GATED]
    return placed, run.pending(), sorted(gated), run.log.counts.evicted


@pytest.mark.parametrize("family", FAMILIES)
def test_pods_go_where_schedule_puts_them(family: str) -> None:
    for case in sorted(CASES.joinpath(family).glob("*/state.yaml"))[:PER_FAMILY]:
        folder = case.parent
        gates = next(folder.glob("*gates*"), None)
        registry = registry_of(release_of("1.34", gates.read_text().strip() if gates else ""))
        config = folder / "config.yaml"
        text = config.read_text() if config.exists() else None
        configuration = load_configuration(text, str(config), registry)
        state = load_state([str(case)])
        expected = Simulation(state, configuration, registry, Options()).run()
        world = World(state, configuration, registry, Options())
        run = Replay(world, iter(()), ReplayOptions(evicts_at_once=True))
        run.run()
        assert outcome(run) == (
            dict(expected.placements),
            sorted(expected.pending),
            sorted(expected.gated),
            len(expected.evicted),
        ), folder.name
