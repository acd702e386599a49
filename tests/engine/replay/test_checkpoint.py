"""Replays that are interrupted and gone on with."""

from __future__ import annotations

import json
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.engine.replay.checkpoint import (
    read_checkpoint,
    resume,
    take_checkpoint,
    with_digest,
)
from ksched_cli.engine.replay.records import PodRecord
from ksched_cli.engine.replay.replay import Replay, ReplayOptions
from ksched_cli.engine.scheduling_cycle import RandomChoice, first_by_name
from ksched_cli.engine.simulation import Options
from ksched_cli.errors import InputError
from ksched_cli.report.replay import document
from ksched_cli.scenario.timeline import read_timeline
from tests.engine.replay.claims import (
    DEVICE_CLASS,
    STORAGE_CLASS,
    claiming,
    device_claim,
    devices,
    mounting,
    volume,
    volume_claim,
)
from tests.replays import Plain, autoscaler_of, node, pod, state_of, world_of

OBJECTS = [node("a"), node("b", "2"), pod("first", nodeName="a"), pod("gated", x=1)]
OBJECTS[-1]["spec"] = {**pod("gated")["spec"], "schedulingGates": [{"name": "g"}]}
EVENTS: list[Plain] = [
    {"at": 0, "pod": pod("p0"), "runsFor": 40},
    {"at": 0.5, "pod": pod("p1", priority=1), "runsFor": 90},
    {"at": 1, "pod": pod("p2"), "runsFor": 5},
    {"at": 2, "pod": pod("high", "2", priority=9, terminationGracePeriodSeconds=3)},
    {"at": 9, "pod": pod("never", "7")},
    {"at": 20, "put": node("c")},
    {"at": 30, "put": pod("gated")},
    {"at": 35, "delete": {"kind": "Node", "name": "a"}},
    {"at": 50, "delete": {"kind": "Pod", "name": "high"}, "gracePeriod": 7},
    {"at": 400, "change": "cordon b"},
]
SCALING = {
    "nodeGroups": [{"name": "g", "like": "b", "maxSize": 2, "provisioningDelay": 5}],
    "scaleDown": {"unneededTime": 60, "delayAfterAdd": 100},
}


HOSTS = [node(name, "4", labels={"kubernetes.io/hostname": name}) for name in "ab"]
WITH_CLAIMS = [
    *HOSTS, STORAGE_CLASS, volume("pv-a", "a"), volume("pv-b", "b"),
    *map(volume_claim, ("c1", "c2", "c3")),
    DEVICE_CLASS, devices("a"), devices("b"), *map(device_claim, ("d1", "d2", "d3")),
]  # fmt: skip
# Both volumes, and both devices, are taken: the third pod of each kind fits nowhere, whatever
# changes, until there is another.
CLAIM_EVENTS: list[Plain] = [
    *({"at": i, "pod": mounting(f"v{i}", f"c{i}"), "runsFor": 30} for i in (1, 2)),
    *({"at": i, "pod": claiming(f"d{i}", f"d{i}")} for i in (1, 2)),
    {"at": 5, "pod": mounting("v3", "c3")},
    {"at": 6, "pod": claiming("d3", "d3")},
    {"at": 20, "put": node("other", "4")},
    {"at": 40, "change": "label nodes a x=y"},
    {"at": 50, "pod": mounting("again", "c1")},
    {"at": 60, "put": volume("pv-more", "b")},
]


PORT = {"containers": [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 80}]}]}


def on_port(name: str, **spec: Any) -> Plain:
    return pod(name, **{**PORT, **spec})


# Of what a replay remembers beside its pods and queue: objects, and events.
MEMORIES: dict[str, tuple[list[Plain], list[Plain]]] = {
    "ports": (
        [node("a"), node("b"), on_port("first", nodeName="a")],
        [
            {"at": 1, "pod": on_port("p1"), "runsFor": 50},
            {"at": 9, "pod": on_port("p2"), "runsFor": 50},
            # Two pods with a port of one node, and one of them leaves: the port is free.
            {"at": 12, "pod": on_port("twin", nodeName="b"), "runsFor": 3},
            {"at": 20, "pod": on_port("p3"), "runsFor": 10},
            {"at": 30, "put": node("c")},
        ],
    ),
    "pods of nodes that are not there": (
        [node("a"), pod("lost", nodeName="z"), pod("freed", nodeName="z")],
        [
            {"at": 1, "pod": pod("stray", nodeName="y")},
            {"at": 2, "delete": {"kind": "Pod", "name": "freed"}},
            {"at": 5, "put": node("z", "2")},
            {"at": 6, "pod": pod("p1"), "runsFor": 5},
            {"at": 8, "put": node("y")},
            {"at": 9, "pod": pod("p2"), "runsFor": 5},
        ],
    ),
    "the order in which nodes were noticed": (
        [node("a"), node("b"), node("c")],
        [
            {"at": 1, "delete": {"kind": "Node", "name": "a"}},
            {"at": 2, "put": node("a")},
            {"at": 3, "put": node("b", labels={"topology.kubernetes.io/zone": "z"})},
            {"at": 4, "put": node("b")},
            *[{"at": 5 + i, "pod": pod(f"p{i}", "400m"), "runsFor": 30} for i in range(4)],
        ],
    ),
}


class StopHere(Exception):  # noqa: N818  # no error
    pass


class Bench:
    """Replays the events, and stops after an instant to go on in another replay."""

    def __init__(
        self,
        folder: Path,
        scaling: Plain | None = None,
        objects: Sequence[Plain] = OBJECTS,
        events: Sequence[Plain] = EVENTS,
        *,
        draws: bool = False,
    ) -> None:
        self.draws = draws
        self.state = state_of(folder, *objects)
        self.autoscaler = None if scaling is None else autoscaler_of(folder, self.state, scaling)
        self.path = folder / "timeline.json"
        header = {"apiVersion": "ksched/v1", "kind": "Timeline", "until": 700}
        self.path.write_text(json.dumps({**header, "events": list(events)}))

    def start(self, records: list[PodRecord], stop_after: int = -1) -> Replay:
        timeline = read_timeline(str(self.path), self.state)
        instants = iter(range(10_000))

        def on_instant(run: Replay) -> None:
            if next(instants) == stop_after:
                raise StopHere

        options = ReplayOptions(
            timeline.start, timeline.until, traces=True, on_record=records.append,
            on_instant=on_instant, autoscaler=self.autoscaler,
        )  # fmt: skip
        tie_break = RandomChoice(7) if self.draws else first_by_name
        world = world_of(self.state, options=Options(tie_break=tie_break))
        return Replay(world, timeline.events(), options)


def result(run: Replay, records: list[PodRecord]) -> dict[str, Any]:
    return document(run, "t", [*records, *run.log.live.values()], traces=True)


@pytest.mark.parametrize("scaling", [None, SCALING])
def test_a_replay_that_is_interrupted_anywhere_ends_as_one_that_is_not(
    tmp_path: Path, scaling: Plain | None
) -> None:
    expected = interrupted_anywhere(Bench(tmp_path, scaling))
    assert expected["summary"]["evicted"] or scaling
    if scaling is not None:
        assert {event["type"] for event in expected["autoscaler"]["events"]} == {
            "ScaleUp",
            "ScaleDown",
        }


def test_what_was_assumed_of_volumes_and_devices_is_gone_on_with(tmp_path: Path) -> None:
    expected = interrupted_anywhere(Bench(tmp_path, None, WITH_CLAIMS, CLAIM_EVENTS))
    placed = {each["pod"]: each["node"] for each in expected["pods"]}
    assert {name: placed[f"default/{name}"] for name in ("v1", "v2", "v3", "d1", "d2", "d3")} == {
        "v1": "a",
        "v2": "b",
        "v3": "b",
        "d1": "b",
        "d2": "a",
        "d3": None,
    }
    assert placed["default/again"] == "a"


@pytest.mark.parametrize("story", MEMORIES.values(), ids=MEMORIES)
def test_nothing_that_a_replay_remembers_is_lost(
    tmp_path: Path, story: tuple[list[Plain], list[Plain]]
) -> None:
    expected = interrupted_anywhere(Bench(tmp_path, None, *story))
    assert expected["summary"]["placed"] > 1


def test_draws_go_on_where_they_were(tmp_path: Path) -> None:
    events: list[Plain] = [{"at": i, "pod": pod(f"p{i}", "10m"), "runsFor": 9} for i in range(12)]
    nodes = [node(name) for name in "abcdef"]
    drawn = interrupted_anywhere(Bench(tmp_path, None, nodes, events, draws=True))
    names = [record["node"] for record in drawn["pods"]]
    assert names != sorted(names)


def interrupted_anywhere(bench: Bench) -> dict[str, Any]:
    """What comes out, which is the same wherever the replay is interrupted."""
    records: list[PodRecord] = []
    whole = bench.start(records)
    whole.run()
    expected = result(whole, records)
    interrupted = 0
    while True:
        records = []
        run = bench.start(records, interrupted)
        try:
            run.run()
        except StopHere:
            data = take_checkpoint(run, "f", records)
        else:
            break
        checkpoint = read_checkpoint(data, "file", "f")
        records = checkpoint.records
        again = bench.start(records)
        resume(again, checkpoint)
        again.run()
        assert result(again, records) == expected
        interrupted += 1
    assert interrupted > 6
    return expected


def test_what_is_no_checkpoint_of_this_replay_is_refused(tmp_path: Path) -> None:
    run = Bench(tmp_path).start([])
    data = take_checkpoint(run, "f", [])
    with pytest.raises(InputError, match="of another timeline"):
        read_checkpoint(data, "file", "g")
    with pytest.raises(InputError, match="no checkpoint"):
        read_checkpoint(b"no pickle", "file", "f")
    with pytest.raises(InputError, match="it is damaged"):
        read_checkpoint(data[:-9] + b"\x00" + data[-8:], "file", "f")
    with pytest.raises(InputError, match="no checkpoint of this version"):
        read_checkpoint(with_digest(pickle.dumps({})), "file", "f")


@pytest.mark.parametrize("harmful", [eval, read_timeline, Path])
def test_a_file_that_names_anything_else_is_refused(harmful: object) -> None:
    with pytest.raises(InputError, match="it names"):
        read_checkpoint(with_digest(pickle.dumps(harmful)), "file", "f")
