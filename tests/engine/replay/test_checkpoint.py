"""Replays that are interrupted and resumed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.cluster.objects.message_pack import pack
from ksched_cli.engine.replay.checkpoint import read_checkpoint, take_checkpoint, write_file
from ksched_cli.errors import InputError, UsageError
from tests.engine.replay.interruptions import (
    CLAIM_EVENTS,
    MEMORIES,
    SCALING,
    WITH_CLAIMS,
    Bench,
    content_of,
    interrupted_anywhere,
    placed,
    resumed,
)
from tests.replays import Plain, node, pod

# -- what a replay remembers ----------------------------------------------------------------------


@pytest.mark.parametrize("scaling", [None, SCALING])
def test_a_replay_that_is_interrupted_anywhere_ends_as_one_that_is_not(
    tmp_path: Path, scaling: Plain | None
) -> None:
    expected = interrupted_anywhere(Bench(tmp_path, scaling=scaling))
    assert any(attempt["nominatedNode"] for attempt in expected["attempts"])
    if scaling is not None:
        assert {event["type"] for event in expected["autoscaler"]["events"]} == {
            "ScaleUp",
            "ScaleDown",
        }


def test_what_was_assumed_of_volumes_and_devices_is_remembered(tmp_path: Path) -> None:
    expected = interrupted_anywhere(Bench(tmp_path, WITH_CLAIMS, CLAIM_EVENTS))
    nodes = placed(expected)
    assert {name: nodes[name] for name in ("v1", "v2", "v3", "d1", "d2", "d3")} == {
        "v1": "a",
        "v2": "b",
        "v3": "b",
        "d1": "b",
        "d2": "a",
        "d3": None,
    }
    assert nodes["again"] == "a"


@pytest.mark.parametrize("story", MEMORIES.values(), ids=MEMORIES)
def test_nothing_that_a_replay_remembers_is_lost(
    tmp_path: Path, story: tuple[list[Plain], list[Plain]]
) -> None:
    expected = interrupted_anywhere(Bench(tmp_path, *story))
    assert expected["summary"]["placed"] > 1


def test_draws_go_on_where_they_were(tmp_path: Path) -> None:
    events: list[Plain] = [{"at": i, "pod": pod(f"p{i}", "10m"), "runsFor": 9} for i in range(12)]
    nodes = [node(name) for name in "abcdef"]
    drawn = interrupted_anywhere(Bench(tmp_path, nodes, events, draws=True))
    names = [record["node"] for record in drawn["pods"]]
    assert names != sorted(names)


def test_a_victim_that_leaves_at_once_does_so_after_an_interruption(tmp_path: Path) -> None:
    expected = interrupted_anywhere(Bench(tmp_path, at_once=True))
    assert expected["summary"]["evicted"]


def test_a_ranking_of_nodes_is_used_before_the_replay_is_interrupted(tmp_path: Path) -> None:
    """Pods that each fill a node come together, and some before the ranking is too old."""
    times = (1, 1, 1, 1.2, 1.4, 2, 3, 5, 5.1, 9)
    events: list[Plain] = [
        {"at": at, "pod": pod(f"p{i}"), "runsFor": 4} for i, at in enumerate(times)
    ]
    nodes = [node(name) for name in "abcdef"]
    arguments = {"name": "PodTopologySpread", "args": {"defaultingType": "List"}}
    profiles = [{"pluginConfig": [arguments]}]
    bench = Bench(tmp_path, nodes, events, minor="1.35", profiles=profiles)
    expected = interrupted_anywhere(bench)
    assert expected["waiting instants"]


def test_a_uid_is_of_a_single_pod_after_an_interruption_too(tmp_path: Path) -> None:
    first, second = pod("first"), pod("second")
    first["metadata"]["uid"] = second["metadata"]["uid"] = "u"
    events: list[Plain] = [{"at": 1, "pod": first}, {"at": 9, "pod": second}]
    bench = Bench(tmp_path, [node("a")], events)
    run = bench.stop(1)
    for each in (bench.start(), resumed(bench, take_checkpoint(run, "f"))):
        with pytest.raises(UsageError, match="pod default/second has the UID of pod default/first"):
            each.run()


def test_a_pod_that_a_change_made_pending_again_is_written_as_such(tmp_path: Path) -> None:
    """Its manifest told of a node and an address."""
    gated = pod("gated", nodeName="a", schedulingGates=[{"name": "g"}])
    gated["status"] = {"phase": "Running", "podIP": "10.0.0.1"}
    events: list[Plain] = [
        {"at": 1, "change": "drain a"},
        *({"at": at, "pod": pod(f"p{at}")} for at in range(2, 9)),
    ]
    expected = interrupted_anywhere(Bench(tmp_path, [node("a"), node("b"), gated], events))
    assert b"10.0.0.1" not in expected["state"]
    assert placed(expected)["gated"] is None


def test_a_time_beyond_the_calendar_is_not_written(tmp_path: Path) -> None:
    victim = pod("v", "2", nodeName="b", terminationGracePeriodSeconds=2**50)
    events: list[Plain] = [{"at": 1, "pod": pod("p", "2", priority=9)}]
    run = Bench(tmp_path, [node("b", "2"), victim], events).stop(1)
    with pytest.raises(UsageError, match="--checkpoint: a time or a sum of times is too large"):
        take_checkpoint(run, "f")


# -- what is refused ------------------------------------------------------------------------------


def test_what_is_no_checkpoint_of_this_replay_is_refused(tmp_path: Path) -> None:
    data = take_checkpoint(Bench(tmp_path).start(), "f")
    with pytest.raises(InputError, match="of another timeline"):
        read_checkpoint(data, "file", "g")
    for other in (b"", b"else", b"\xc1", pack({}), pack(["ksched checkpoint"]), data + b"\0"):
        with pytest.raises(InputError, match="this is not a checkpoint"):
            read_checkpoint(other, "file", "f")
    later = pack(["ksched checkpoint", 99, "f", b"", {}])
    with pytest.raises(InputError, match="of another version of ksched"):
        read_checkpoint(later, "file", "f")
    for place in range(len(data)):
        with pytest.raises(InputError):
            read_checkpoint(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :], "x", "f")


def forged(data: bytes, change: Callable[[dict[str, Any]], object]) -> bytes:
    """A checkpoint with the digest that it has to have, and another content."""
    content = content_of(data)
    change(content)
    return write_file("f", pack(content))


@pytest.mark.parametrize("change", [
    lambda content: content.update(running=[99]),
    lambda content: content.update(strays=[-1]),
    lambda content: content.update(bound=["default/none"]),
    lambda content: content.update(queued=[[0, [1]]]),
    lambda content: content.update(now=2**63),
    lambda content: content.update(nominated=[["a", "none"]]),
    lambda content: content.update(ports={"none": [{"ip": "", "protocol": "", "port": 1}]}),
    lambda content: content.update(draws=[3, [1, 2], None]),
    lambda content: content["log"][0].clear(),
    lambda content: content["objects"][3].clear(),
    lambda content: content["objects"][3][0].__setitem__(1, 99),
    lambda content: content["objects"][3][0].__setitem__(0, {"creationTimestamp": "never"}),
    lambda content: content["memories"].__setitem__(1, [[["none", "none"], b"\x80"]]),
])  # fmt: skip
def test_a_checkpoint_whose_parts_contradict_each_other_is_refused(
    tmp_path: Path, change: Callable[[dict[str, Any]], object]
) -> None:
    bench = Bench(tmp_path, draws=True)
    run = bench.stop(7)
    data = forged(take_checkpoint(run, "f"), change)
    with pytest.raises(InputError, match="this is not a checkpoint: "):
        resumed(bench, data)


@pytest.mark.parametrize("change", [
    lambda content: content.update(groups=[]),
    lambda content: content["groups"][0].__setitem__(0, ["default", "none"]),
    lambda content: content.update(incomplete=["default/r"]),
])  # fmt: skip
def test_a_group_without_its_pods_is_refused(
    tmp_path: Path, change: Callable[[dict[str, Any]], object]
) -> None:
    group = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "red"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}},
    }
    member = pod("r", schedulingGroup={"podGroupName": "red"})
    gates = "GenericWorkload=true"
    bench = Bench(tmp_path, [group], [{"at": 0, "pod": member}], gates=gates, minor="1.37")
    run = bench.stop(0)
    data = forged(take_checkpoint(run, "f"), change)
    with pytest.raises(InputError, match="this is not a checkpoint: "):
        resumed(bench, data)
