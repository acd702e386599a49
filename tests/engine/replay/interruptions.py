"""Replays that are interrupted and resumed, for tests."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ksched_cli.analysis.replay_result import replay_result
from ksched_cli.answers import document_of
from ksched_cli.engine.engine import Options
from ksched_cli.engine.replay.checkpoint import read_checkpoint, resume, take_checkpoint
from ksched_cli.engine.replay.records import Recreation
from ksched_cli.engine.replay.replay import Replay, ReplayOptions
from ksched_cli.engine.scheduling_cycle import RandomChoice, first_by_name
from ksched_cli.kube.gates import POD_GROUP_KINDS
from ksched_cli.report.replay import csv_text
from ksched_cli.scenario.objects import manifests
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
from tests.replays import Plain, autoscaler_of, cluster_of, node, pod, state_of

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


def in_set(name: str) -> Plain:
    """A pod that is held until its node is back."""
    manifest = pod(name)
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "s", "uid": "s"}
    manifest["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
    return manifest


# What a replay remembers beside its pods and queue: objects, and events.
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
    "nodes that have failed": (
        [
            *(
                node(name, labels={"topology.kubernetes.io/zone": name[0]})
                for name in ("a1", "a2", "b")
            )
        ],
        [
            *[{"at": 0, "pod": in_set(f"p{i}"), "runsFor": 200} for i in range(2)],
            {"at": 10, "change": "fail nodes -l topology.kubernetes.io/zone=a"},
            {"at": 70, "change": "fail nodes b"},
            {"at": 90, "change": "recover nodes b"},
            {"at": 600, "change": "recover nodes a1"},
        ],
    ),
    "pods of other schedulers, and those that were spared": (
        [node("a", "3"), pod("victim", nodeName="a"), pod("foreign", schedulerName="other")],
        [
            {"at": 1, "delete": {"kind": "Pod", "name": "victim"}, "preempted": True},
            {"at": 2, "pod": pod("victim")},
            {"at": 3, "decision": {"namespace": "default", "name": "foreign", "node": "a"}},
            *[{"at": 4, "pod": pod(f"p{i}"), "runsFor": 5} for i in range(3)],
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
    """Replays the events, and stops after an instant to go on in another replay. cluster: of what
    `cluster_of` makes it"""

    def __init__(
        self,
        folder: Path,
        objects: Sequence[Plain] = OBJECTS,
        events: Sequence[Plain] = EVENTS,
        *,
        scaling: Plain | None = None,
        draws: bool = False,
        at_once: bool = False,
        until: int = 700,
        evicted: str = "gone",
        **cluster: Any,
    ) -> None:
        self.draws, self.at_once, self.cluster = draws, at_once, cluster
        self.state = state_of(folder, *objects)
        self.autoscaler = None if scaling is None else autoscaler_of(folder, self.state, scaling)
        self.path = folder / "timeline.json"
        header = {"apiVersion": "ksched/v1", "kind": "Timeline", "until": until}
        self.recreation = Recreation(evicted)
        self.path.write_text(json.dumps({**header, "events": list(events)}))

    def start(self, on_instant: Callable[[Replay], None] | None = None) -> Replay:
        timeline = read_timeline(str(self.path), self.state, reads=POD_GROUP_KINDS)
        options = ReplayOptions(
            timeline.start, timeline.until, traces=True, keeps_records=True,
            on_instant=on_instant, autoscaler=self.autoscaler, evicts_at_once=self.at_once,
            recreation=self.recreation,
        )  # fmt: skip
        tie_break = RandomChoice(7) if self.draws else first_by_name
        cluster = cluster_of(self.state, options=Options(tie_break=tie_break), **self.cluster)
        return Replay(cluster, timeline.events(), options)

    def stop(self, after: int) -> Replay:
        instants = count()

        def stop(run: Replay) -> None:
            if next(instants) == after:
                raise StopHere

        run = self.start(stop)
        with pytest.raises(StopHere):
            run.run()
        return run


def result(run: Replay) -> dict[str, Any]:
    """All that a replay prints and writes."""
    state = b"\n".join(manifests(run.state()))
    return {
        **document_of(replay_result(run, "t", traces=True)),
        "csv": csv_text(replay_result(run, "t")),
        "state": state,
    }


def content_of(file: bytes) -> Any:
    return msgspec.msgpack.decode(file, strict=False)[-1]


def in_any_order(value: Any) -> Any:
    """Sets are written in any order; what comes out shows whether lists have theirs."""
    if isinstance(value, dict):
        return {key: in_any_order(item) for key, item in value.items()}
    return sorted(map(in_any_order, value), key=repr) if isinstance(value, list) else value


def interrupted_anywhere(bench: Bench) -> dict[str, Any]:
    """What comes out, which is the same wherever the replay is interrupted."""
    whole = bench.start()
    whole.run()
    expected = result(whole)
    checkpoints, waiting = [], 0

    def look(run: Replay) -> None:
        nonlocal waiting
        if run.is_resumable:
            checkpoints.append(take_checkpoint(run, "f"))
        else:
            waiting += 1

    run = bench.start(look)
    run.run()
    assert result(run) == expected
    for data in checkpoints:
        again = resumed(bench, data)
        twice = take_checkpoint(again, "f")
        assert in_any_order(content_of(twice)) == in_any_order(content_of(data))
        again.run()
        assert result(again) == expected
    assert len(checkpoints) > 6
    return {**expected, "waiting instants": waiting}


def resumed(bench: Bench, data: bytes) -> Replay:
    run = bench.start()
    resume(run, read_checkpoint(data, "file", "f"), "file")
    return run


def placed(result: dict[str, Any]) -> dict[str, str | None]:
    return {each["pod"].partition("/")[2]: each["node"] for each in result["pods"]}
