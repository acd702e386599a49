"""All pods at time 0, with victims that leave at once: what kube-scheduler decided."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cases import GATES_FILE, expected_file

from ksched_cli.cluster.loading.load import load_state
from ksched_cli.config.load import load_configuration
from ksched_cli.engine.engine import Options
from ksched_cli.engine.replay.records import PodOutcome
from ksched_cli.engine.replay.replay import Replay, ReplayOptions
from ksched_cli.engine.replay.replay_cluster import ReplayCluster
from ksched_cli.kube.gates import POD_GROUP_KINDS
from ksched_cli.kube.versions import MINORS, release_of
from ksched_cli.plugins import registry_of

# Extenders answer elsewhere, and kube-scheduler decides one case now so, now otherwise. A group
# backs off and is tried again whatever has happened; `schedule` tries one of which it has placed a
# pod only once other pods have come or gone.
LEFT_OUT = (
    "extenders/",
    "claims/002/",
    "podgroups/7001/",
    "podgroups/shared-claim/",
    "podgroups/claim-given-back-elsewhere/",
)
CASES = [
    file.parent
    for file in sorted(Path(__file__).parent.glob("cases/*/*/state.yaml"))
    if not any(name in str(file) for name in LEFT_OUT)
]
# The first of these minors that decided a case; of those for a case with feature gates.
REPLAYED = ("1.34", *MINORS)
WITH_GATES = ("1.36", "1.37", "1.38", "1.35", "1.34")


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}-{case.name}")
def test_a_replay_of_everything_at_once_decides_as_kube_scheduler(case: Path) -> None:
    gates, config = case / GATES_FILE, case / "config.yaml"
    minors = WITH_GATES if gates.exists() else REPLAYED
    minor = next(each for each in minors if expected_file(case, each).exists())
    registry = registry_of(release_of(minor, gates.read_text().strip() if gates.exists() else ""))
    text = config.read_text() if config.exists() else None
    configuration = load_configuration(text, "config.yaml", registry)
    state = load_state([str(case / "state.yaml")], reads=POD_GROUP_KINDS)
    cluster = ReplayCluster(state, configuration, registry, Options())
    replay = Replay(cluster, iter(()), ReplayOptions(evicts_at_once=True))
    replay.run()
    run = json.loads(expected_file(case, minor).read_text())
    live = replay.log.live
    assert {
        key: record.node
        for key, record in live.items()
        if record.outcome is PodOutcome.RUNNING and not record.was_bound
    } == run.get("placements", {})
    assert replay.pending() == sorted(run.get("pending", []))
    gated = [key for key, record in live.items() if record.outcome is PodOutcome.GATED]
    assert sorted(gated) == sorted(run.get("gated", []))
    assert replay.log.counts.evicted == len(run.get("evicted", []))
