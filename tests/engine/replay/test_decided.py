"""Random timelines, against what the queue and the cycles of kube-scheduler did along them.

tests/oracle/decided_replays.py writes the files.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.config.load import load_configuration
from ksched_cli.engine.engine import Options
from ksched_cli.engine.replay.replay import Replay, ReplayOptions
from ksched_cli.engine.replay.replay_cluster import ReplayCluster
from ksched_cli.kube.gates import POD_GROUP_KINDS
from ksched_cli.kube.versions import release_of
from ksched_cli.plugins import registry_of
from ksched_cli.scenario.timeline import read_timeline
from tests.replays import state_of
from tests.thorough import each_second

DECIDED = sorted((Path(__file__).parent / "decided").glob("*.json"))


def replayed(folder: Path, decided: dict[str, Any]) -> Replay:
    """Runs a file's timeline, with its attempts traced."""
    state = state_of(folder, *decided["objects"])
    registry = registry_of(release_of(decided["minor"], decided["gates"]), [])
    config = load_configuration(decided["config"], "config.yaml", registry)
    header = {"apiVersion": "ksched/v1", "kind": "Timeline", **decided["header"]}
    path = folder / "timeline.json"
    path.write_text(json.dumps({**header, "events": decided["events"]}))
    timeline = read_timeline(str(path), state, reads=POD_GROUP_KINDS)
    options = ReplayOptions(timeline.start, timeline.until, traces=True)
    run = Replay(ReplayCluster(state, config, registry, Options()), timeline.events(), options)
    run.run()
    return run


@pytest.mark.parametrize("file", each_second(DECIDED), ids=lambda file: file.stem)
def test_attempts_are_those_of_kube_scheduler(tmp_path: Path, file: Path) -> None:
    decided = json.loads(file.read_text())
    expected = decided["expected"]
    run = replayed(tmp_path, decided)
    assert [
        (a.at / 1e6, a.pod, a.result, a.node, a.nominated_node, list(a.victims), a.message)
        for a in run.log.attempts
        if a.result != "waiting"  # for its gang, which is no end of an attempt
    ] == [
        (
            attempt["at"],
            attempt["pod"],
            attempt["result"],
            attempt.get("node", ""),
            attempt.get("nominatedNode", ""),
            attempt.get("victims", []),
            attempt.get("message", ""),
        )
        for attempt in expected["attempts"]
    ]
    places = {name: sorted(pods) for name, pods in run.places().items()}
    assert places == expected["queues"]


def test_there_are_timelines_with_preemption_and_with_backoff() -> None:
    texts = [file.read_text() for file in DECIDED]
    assert any('"victims":["' in text for text in texts)
    assert any("SchedulerPopFromBackoffQ=false" in text for text in texts)
    assert any("GangScheduling=true" in text for text in texts)
