"""Random Runs over the files of a folder, and what decides of one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from msgspec.structs import replace

from ksched_cli.run.inputs import Inputs
from ksched_cli.run.open import Opener
from ksched_cli.run.run import ChangeSource, Patch, Run
from ksched_cli.testing import node, pod

HEADER = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
PACKING = f"""{HEADER}profiles:
- pluginConfig:
  - name: NodeResourcesFit
    args: {{scoringStrategy: {{type: MostAllocated, resources: [{{name: cpu, weight: 1}}]}}}}
"""
PLUGIN = """
from ksched_cli.api import ScorePlugin


class Last(ScorePlugin):
    name = "Last"

    def score(self, state, pod, node):
        return {"a": 0, "b": 50, "c": 100}.get(node.name, 0)
"""
TIMELINE: dict[str, Any] = {
    "apiVersion": "ksched/v1",
    "kind": "Timeline",
    "events": [
        {"at": 0, "pod": pod("early", cpu=2), "runsFor": 100},
        {"at": 5, "pod": pod("late", cpu=2), "runsFor": 100},
        {"at": 6, "pod": pod("later", cpu=4), "runsFor": 100},
    ],
}
AUTOSCALER = {
    "apiVersion": "ksched/v1",
    "kind": "Autoscaler",
    "nodeGroups": [{"name": "g", "like": "a", "maxSize": 3, "provisioningDelay": 1}],
}
OBJECTS = (
    node("a", cpu=4),
    node("b", cpu=4),
    node("c", cpu=8, labels={"zone": "z"}),
    pod("r", node="a", cpu=2, priority=0),
    pod("p", cpu=1),
    pod("q", cpu=3, priority=100),
    pod("big", cpu=8, priority=50),
)


def write_files(folder: Path) -> None:
    """A file of every kind that a Run names."""
    listed = {"kind": "List", "apiVersion": "v1"}
    (folder / "cluster.json").write_text(json.dumps({**listed, "items": OBJECTS}))
    (folder / "other.json").write_text(json.dumps({**listed, "items": OBJECTS[1:]}))
    (folder / "packing.yaml").write_text(PACKING)
    (folder / "default.yaml").write_text(HEADER)
    (folder / "last.py").write_text(PLUGIN)
    (folder / "week.json").write_text(json.dumps(TIMELINE))
    (folder / "groups.json").write_text(json.dumps(AUTOSCALER))
    (folder / "scenario.yaml").write_text(
        "apiVersion: ksched/v1\nkind: Scenario\nchanges: [cordon c]\n"
    )


def runs(folder: Path) -> st.SearchStrategy[Run]:
    """Any axis with any other, at one instant."""
    states = st.sampled_from([("cluster.json",), ("other.json",)])
    changes = st.lists(
        st.sampled_from(
            [
                ChangeSource(line="cordon b"),
                ChangeSource(line="reschedule --all"),
                ChangeSource(scenario=str(folder / "scenario.yaml")),
                ChangeSource(apply=pod("new", cpu=1)),
            ]
        ),
        max_size=2,
    )
    path = "profiles[0].plugins.multiPoint.enabled[NodeResourcesFit].weight"
    patches = st.lists(st.builds(Patch, st.just(path), st.integers(1, 9)), max_size=1)
    ties = st.sampled_from([("name", None), ("random", 1), ("random", 2)])
    drawn = st.builds(
        Run,
        states=states.map(lambda names: tuple(str(folder / name) for name in names)),
        changes=changes.map(tuple),
        configuration=st.sampled_from(
            ["", str(folder / "packing.yaml"), str(folder / "default.yaml")]
        ),
        patches=patches.map(tuple),
        plugins=st.sampled_from([(), (str(folder / "last.py"),)]),
        kubernetes_version=st.sampled_from(["1.34", "1.35", "1.36"]),
        preemption=st.booleans(),
        retries=st.booleans(),
        cache=st.booleans(),
    )
    return st.builds(lambda run, tie: replace(run, tie_break=tie[0], seed=tie[1]), drawn, ties)


def decided(run: Run, inputs: Inputs | None = None) -> Mapping[str, Any]:
    """What comes of a Run."""
    simulation = Opener([run], inputs).simulation(run)
    record = simulation.run()
    simulation.close()
    return {
        "placements": dict(record.placements),
        "pending": list(record.pending),
        "evicted": [eviction.pod for eviction in record.evicted],
        "messages": [attempt.message for attempt in record.attempts],
    }


def replayed_at_once(run: Run, folder: Path) -> Mapping[str, str]:
    """Where the pods of a Run are after a replay in which nothing happens but the beginning."""
    timeline = folder / "nothing.json"
    timeline.write_text(json.dumps({**TIMELINE, "events": []}))
    over_time = replace(run, timeline=str(timeline), evict_at_once=True)
    replay = Opener([over_time]).replay(over_time)
    replay.run()
    return {key: pod.pod.node_name for key, pod in replay.cluster.bound.items()}
