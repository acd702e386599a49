"""Extenders and plugins of a replay that is interrupted and resumed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ksched_cli.api import (
    SUCCESS,
    Code,
    CycleState,
    Handle,
    NodeInfo,
    Nodes,
    PermitPlugin,
    Plugin,
    PodInfo,
    PreFilterPlugin,
    PreFilterResult,
    ScorePlugin,
    Status,
)
from ksched_cli.engine.replay.checkpoint import take_checkpoint
from ksched_cli.errors import PluginDefectError
from tests.engine.replay.interruptions import Bench, interrupted_anywhere, placed, resumed
from tests.extenders.fixtures import Serve
from tests.replays import Plain, node, pod


def test_extenders_are_asked_the_same_after_an_interruption(tmp_path: Path, serve: Serve) -> None:
    def answer(data: Any) -> Any:
        return {"nodes": data["nodes"]}

    server = serve({"/filter": answer})
    extender = {"urlPrefix": server.url, "filterVerb": "filter"}
    bench = Bench(tmp_path, until=60, extenders=[extender])
    bench.start().run()
    calls = [call.data for call in server.calls]
    server.calls.clear()
    run = bench.stop(5)
    before = len(server.calls)
    again = resumed(bench, take_checkpoint(run, "f"))
    again.run()
    assert [call.data for call in server.calls] == calls
    assert 0 < before < len(calls)
    interrupted_anywhere(bench)


class Pairs(PermitPlugin):
    """Pods of one team wait until there are two of them."""

    name = "Pairs"

    def __init__(self, args: Any, handle: Handle) -> None:
        self._waiting = handle.waiting

    def permit(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> tuple[Status, float]:
        team = pod.labels.get("team")
        others = [other for other in self._waiting if other.pod.labels.get("team") == team]
        if team is None or others:
            for other in others:
                other.allow(self.name)
            return SUCCESS, 0
        return Status(Code.WAIT), 20


def test_a_replay_is_not_interrupted_while_pods_wait_for_others(tmp_path: Path) -> None:
    def member(name: str, team: str) -> Plain:
        plain = pod(name, "100m")
        plain["metadata"]["labels"] = {"team": team}
        return plain

    events: list[Plain] = [
        {"at": 1, "pod": member("a1", "a"), "runsFor": 50},
        {"at": 5, "pod": member("a2", "a"), "runsFor": 50},
        {"at": 9, "pod": member("b1", "b"), "runsFor": 50},  # alone for longer than Permit waits
        {"at": 40, "pod": member("b2", "b"), "runsFor": 50},
        *({"at": 2 + i, "pod": pod(f"p{i}", "100m"), "runsFor": 5} for i in range(6)),
    ]
    expected = interrupted_anywhere(Bench(tmp_path, [node("n", "4")], events, plugins=[Pairs]))
    attempts = [(each["pod"], each["result"]) for each in expected["attempts"]]
    assert ("default/a1", "waiting") in attempts
    assert ("default/b1", "unschedulable") in attempts or ("default/b1", "error") in attempts
    assert expected["waiting instants"]
    assert all(placed(expected).values())


class Turns(ScorePlugin, PreFilterPlugin):
    """Each attempt prefers the next node, beginning with the node whose number is that of the pods
    that the cluster had when the plugin was made; and it writes down when each pod was tried."""

    name = "Turns"
    assumed_type = dict[str, list[float]]

    def __init__(self, args: Any, handle: Handle) -> None:
        self._handle = handle
        self.diary: dict[str, list[float]] = {}

    def assumed(self) -> dict[str, list[float]]:
        return self.diary

    def assume(self, assumed: dict[str, list[float]]) -> None:
        self.diary = assumed

    def pre_filter(
        self, state: CycleState, pod: PodInfo, nodes: Nodes
    ) -> tuple[PreFilterResult | None, Status]:
        self.diary.setdefault(pod.key, []).append(self._handle.clock.now)
        return None, SUCCESS

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        turn = sum(map(len, self.diary.values())) + len(self._handle.cluster.pods)
        return 100 if node.row == turn % len(node.snapshot) else 0


def test_a_plugin_remembers_what_it_says_and_sees_the_cluster_that_it_saw(tmp_path: Path) -> None:
    events: list[Plain] = [
        *({"at": i, "pod": pod(f"p{i}", "10m"), "runsFor": 9} for i in range(9)),
        {"at": 9, "put": node("d", "8")},
        *({"at": i, "pod": pod(f"p{i}", "10m"), "runsFor": 9} for i in range(10, 16)),
    ]
    nodes = [node(name, "8") for name in "abc"]
    expected = interrupted_anywhere(Bench(tmp_path, nodes, events, plugins=[Turns]))
    assert [*placed(expected).values()][:9] == [*"bcabcabca"]
    assert "d" in placed(expected).values()


class Tells(Plugin):
    """Has a memory of another type than it says."""

    assumed_type = dict[str, int]

    def assumed(self) -> Any:
        return {"a": "b"}

    def assume(self, assumed: Any) -> None:
        raise AssertionError


class Fails(Tells):
    def assumed(self) -> Any:
        return {"a": object()}


@pytest.mark.parametrize(
    ("memory", "problem"), [(Tells, "Expected `int`, got `str`"), (Fails, "TypeError")]
)
def test_a_plugin_whose_memory_could_not_be_given_back_is_a_defect(
    tmp_path: Path, memory: type[Tells], problem: str
) -> None:
    plugin = type("Broken", (memory, Pairs), {"name": "Broken"})
    run = Bench(tmp_path, plugins=[plugin]).start()
    with pytest.raises(PluginDefectError, match=f"Broken failed in assumed: .*{problem}"):
        take_checkpoint(run, "f")
