"""Timelines: what is read, and what is wrong with what is not."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any, cast

import pytest

from ksched_cli.cluster.loading.kinds import KINDS
from ksched_cli.cluster.state import ClusterState
from ksched_cli.errors import InputError
from ksched_cli.scenario.change import Change, apply_changes
from ksched_cli.scenario.nodes import Cordon, NodeChoice
from ksched_cli.scenario.timeline import (
    Arrival,
    Removal,
    Replacement,
    TimelineEvent,
    read_timeline,
)

HEAD = "apiVersion: ksched/v1\nkind: Timeline\n"
HEADER: dict[str, Any] = {
    "apiVersion": "ksched/v1",
    "kind": "Timeline",
    "templates": {
        "small": {
            "metadata": {"namespace": "batch", "labels": {"app": "x"}},
            "spec": {"containers": [{"name": "c"}]},
        }
    },
}


def events(tmp_path: Path, text: str, name: str = "timeline.yaml") -> list[TimelineEvent]:
    path = tmp_path / name
    path.write_text(text)
    return list(read_timeline(str(path), ClusterState()).events())


def lines(*entries: dict[str, Any]) -> str:
    return "\n".join(json.dumps(entry) for entry in (HEADER, *entries))


def test_events_are_sorted_by_time_and_those_of_one_time_stay_in_order(tmp_path: Path) -> None:
    text = HEAD + (
        'start: "2026-01-01T00:00:00Z"\n'
        "events:\n"
        "- {at: 2, delete: {kind: Pod, name: a}, gracePeriod: 1.5}\n"
        '- {at: "2026-01-01T00:00:01Z", put: {apiVersion: v1, kind: Node, metadata: {name: n1}}}\n'
        "- {at: 2, change: cordon n1}\n"
    )
    first, second, third = events(tmp_path, text)
    assert (first.at, second.at, third.at) == (1_000_000, 2_000_000, 2_000_000)
    assert isinstance(first.action, Replacement)
    assert first.action.kind is KINDS["Node"]
    assert isinstance(second.action, Removal)
    assert (second.action.namespace, second.action.name) == ("default", "a")
    assert second.action.grace == 1_500_000
    assert third.action == Cordon("cordon n1", NodeChoice(("n1",)))


def test_times_may_be_days_apart(tmp_path: Path) -> None:
    text = HEAD + (
        'start: "2026-02-27T23:00:00Z"\n'
        "events:\n"
        '- {at: "2026-03-01T00:00:00.25Z", change: cordon n1}\n'
        "- {at: 90.5, change: cordon n1}\n"
    )
    assert [each.at for each in events(tmp_path, text)] == [90_500_000, 90_000_250_000]
    timeline = read_timeline(str(tmp_path / "timeline.yaml"), ClusterState())
    moments = [timeline.moment(text) for text in ("90.5", "25h", "2026-03-01T00:00:00Z")]
    assert moments == [90_500_000, 90_000_000_000, 90_000_000_000]


@pytest.mark.parametrize("name", ["t.jsonl", "t.yaml"])
def test_the_share_that_was_read_rises_to_one(tmp_path: Path, name: str) -> None:
    path, changes = tmp_path / name, [{"at": at, "change": "cordon n1"} for at in range(3)]
    document = json.dumps({**HEADER, "events": changes})
    path.write_text(lines(*changes) if name == "t.jsonl" else document)
    timeline = read_timeline(str(path), ClusterState())
    shares = [timeline.share_read() for _ in timeline.events()]
    assert 0 < shares[0] <= shares[1] <= shares[2] <= 1
    assert timeline.share_read() == 1


def test_a_change_names_a_file_beside_the_timeline(tmp_path: Path) -> None:
    (tmp_path / "n1.yaml").write_text("apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n")
    (event,) = events(tmp_path, lines({"at": 1, "change": "apply -f n1.yaml"}), "t.jsonl")
    state, _ = apply_changes(ClusterState(), [cast(Change, event.action)])
    assert [node.name for node in state.nodes] == ["n1"]


def test_objects_that_plugins_read_are_deleted_with_or_without_their_group(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    names = ("Quota", "Quota.b.example.com")
    path.write_text(lines(*({"at": 1, "delete": {"kind": name, "name": "q"}} for name in names)))
    reads = frozenset({"Quota.a.example.com", "Quota.b.example.com", "Rate.example.com"})
    timeline = read_timeline(str(path), ClusterState(), reads=reads)
    kinds = [event.action.kind for event in timeline.events() if isinstance(event.action, Removal)]
    assert kinds == ["Quota", "Quota.b.example.com"]
    path.write_text(lines({"at": 1, "delete": {"kind": "Limit", "name": "q"}}))
    kinds_read = ", ".join(sorted(reads))
    with pytest.raises(InputError, match=f'of kind "Limit"; the plugins read {kinds_read}$'):
        list(read_timeline(str(path), ClusterState(), reads=reads).events())


def test_pods_of_equal_specs_share_one(tmp_path: Path) -> None:
    pods = [
        {"at": 0, "pod": {"metadata": {"name": name}, "spec": {"containers": [{"name": image}]}}}
        for name, image in (("a", "x"), ("b", "x"), ("c", "y"))
    ]
    specs = [
        event.action.pod.spec
        for event in events(tmp_path, lines(*pods), "t.jsonl")
        if isinstance(event.action, Arrival)
    ]
    assert specs[0] is specs[1]
    assert specs[1] is not specs[2]


@pytest.mark.parametrize("name", ["t.jsonl", "t.jsonl.gz"])
def test_lines_are_read_with_templates(tmp_path: Path, name: str) -> None:
    text = lines(
        {"at": 0, "pod": "a", "template": "small"},
        {"at": 0.5, "pod": "other/b", "template": "small", "runsFor": 60},
        {"at": 3, "pod": {"metadata": {"name": "c"}, "spec": {"containers": [{"name": "x"}]}}},
    )
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    read = list(read_timeline(str(path), ClusterState()).events())
    arrivals = [event.action for event in read]
    assert [event.at for event in read] == [0, 500_000, 3_000_000]
    assert all(isinstance(arrival, Arrival) for arrival in arrivals)
    pods = [arrival.pod for arrival in arrivals if isinstance(arrival, Arrival)]
    assert [pod.key for pod in pods] == ["batch/a", "other/b", "default/c"]
    assert pods[0].metadata.labels == {"app": "x"}
    assert pods[0].spec is pods[1].spec
    assert [arrival.work.runs_for for arrival in arrivals if isinstance(arrival, Arrival)] == [
        None,
        60_000_000,
        None,
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD + "event: []\n", ':3:1: event: unknown key "event"'),
        (
            HEAD + "events:\n- {at: 1}\n",
            ":4:3: events[0]: one of pod, put, delete, change, end, decision, gap is missing",
        ),
        (HEAD + "events:\n- {at: -1, change: cordon n}\n", "-1 is less than 0"),
        (HEAD + "events:\n- {at: 1, change: cordn n}\n", ":4:3: event 0: change"),
        (
            HEAD + "events:\n- {at: soon, change: cordon n}\n",
            '"soon" is not a time: expected a number',
        ),
        (
            HEAD + "events:\n- {at: 2026-01-01T00:00:00Z, change: cordon n}\n",
            "requires `start` in the timeline",
        ),
        (HEAD + "events:\n- {at: 1, change: {x: 1}}\n", ":4:3: event 0: change"),
        (HEAD + "start: soon\n", "expected a time in the years 1000 to 2999, such as"),
        (HEAD + "start: 2026-01-01T00:00:00.5Z\n", "whole seconds"),
        (HEAD + "events:\n- {at: 1, pod: a}\n", "a pod given by name requires a template"),
        (
            HEAD + "events:\n- {at: 1, pod: a, template: b}\n",
            'unknown template "b"; expected one of none',
        ),
        (HEAD + "events:\n- {at: 1, put: {kind: Thing}}\n", 'objects of kind "Thing"'),
        (HEAD + "events:\n- {at: 1, pod: {spec: {}}}\n", "expected a name"),
        (
            HEAD + "events:\n- at: 1\n  pod: {metadata: {name: a}, spec: {containers: 3}}\n",
            ":4:3: event 0: Pod a: spec.containers: ",
        ),
        ("kind: List\n", "Expected apiVersion: ksched/v1, kind: Timeline"),
    ],
)
def test_what_is_no_timeline_is_an_error_with_its_place(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(InputError) as error:
        events(tmp_path, text)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "the first line is not JSON"),
        ("{}\n", "apiVersion is missing"),
        (lines({"at": 2, "change": "cordon n"}, {"at": 1, "change": "cordon n"}), "sort the lines"),
        (f"{lines({'at': 2, 'chang': 'cordon n'}).rstrip()} {{}}\n", ":2:1: event 0: "),
        (lines({"at": 2, "chang": "cordon n"}), ":2:11: event 0: chang: unknown key"),
        (lines({"at": 2, "pod": "a", "change": "cordon n"}), "exactly one of pod, put, delete"),
        (lines({"at": 2, "template": "a", "change": "cordon n"}), "require pod"),
        (lines({"at": 2, "change": {}}), "expected {apply: OBJECT}"),
        (lines({"at": 2, "change": {"appl": {}}}), 'change "appl": expected {apply: OBJECT}'),
        (lines({"at": 2, "change": {"apply": [3]}}), "expected {apply: OBJECT}"),
        (lines({"at": 2, "change": {"apply": None}}), "expected {apply: OBJECT}"),
        (lines() + '\n{"at": 2, "put": 1e400}', ":2:1: event 0: Number out of range"),
    ],
)
def test_lines_that_are_not_valid_are_errors_with_their_number(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(InputError) as error:
        events(tmp_path, text, "t.jsonl")
    assert message in str(error.value)


def test_a_line_may_have_null_for_a_key_that_it_leaves_out(tmp_path: Path) -> None:
    """Tables are exported so. A key of a key, and a key of a document, may not be null."""
    exported = {"at": 2, "pod": None, "put": None, "change": "cordon n", "runsFor": None}
    (event,) = events(tmp_path, lines(exported), "t.jsonl")
    assert event.at == 2_000_000
    with pytest.raises(InputError, match=r'event 0: chang: unknown key "chang"'):
        events(tmp_path, lines({**exported, "chang": None}), "t.jsonl")
    with pytest.raises(InputError, match=r":2:.* event 0: decision.uid: expected a string"):
        events(
            tmp_path,
            lines({"at": 2, "decision": {"namespace": "a", "name": "b", "uid": None}}),
            "t.jsonl",
        )
    with pytest.raises(InputError, match=r"events\[0\]\.pod: expected a string or a mapping"):
        events(tmp_path, HEAD + "events:\n- {at: 2, pod: null, change: cordon n}\n")


@pytest.mark.parametrize("part", [slice(0, 5), slice(0, 20), slice(1, None)])
@pytest.mark.parametrize("name", ["t.jsonl.gz", "t.yaml.gz"])
def test_gzip_that_is_not_whole_is_an_error_with_the_name_of_the_file(
    tmp_path: Path, name: str, part: slice
) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(lines({"at": 2, "change": "cordon n"}).encode())[part])
    with pytest.raises(InputError, match=re.escape(name)):
        list(read_timeline(str(path), ClusterState()).events())


def read_whole(path: Path) -> tuple[int, list[str]]:
    """How many events there are, and the warnings."""
    warnings: list[str] = []
    timeline = read_timeline(str(path), ClusterState(), warn=warnings.append)
    return sum(1 for _ in timeline.events()), warnings


EVENTS = [{"at": at, "change": "label nodes n ä=\u2713 b=-1.5e7"} for at in (0, 0.25, 1e7)]


def test_a_timeline_that_is_cut_anywhere_is_read_up_to_its_last_whole_line(tmp_path: Path) -> None:
    path, whole = tmp_path / "t.jsonl", f"{lines(*EVENTS)}\n".encode()
    begin = whole.index(b"\n") + 1
    for end in range(begin, len(whole) + 1):
        path.write_bytes(whole[:end])
        # A line is whole without its newline, too.
        count = whole[: end + 1].count(b"\n") - 1
        is_cut = whole[end - 1 : end] != b"\n" and whole[end : end + 1] != b"\n"
        line = f"{path} is cut off after line {count + 1}; ksched reads it up to there"
        assert read_whole(path) == (count, [line] if is_cut else []), end


def test_a_packed_timeline_that_is_cut_is_read_up_to_where_it_was_flushed(tmp_path: Path) -> None:
    path, ends = tmp_path / "t.jsonl.gz", []
    with path.open("wb") as raw, gzip.GzipFile("", "wb", fileobj=raw) as file:
        for line in f"{lines(*EVENTS)}\n".encode().splitlines(keepends=True):
            file.write(line)
            file.flush()
            ends.append(raw.tell())
    whole = path.read_bytes()
    for end in range(ends[0], len(whole)):
        path.write_bytes(whole[:end])
        count, warnings = read_whole(path)
        assert count >= sum(end >= each for each in ends) - 1
        warning = f"{path} is cut off after line {count + 1}; ksched reads it up to there"
        assert warnings == [warning]
    path.write_bytes(whole)
    assert read_whole(path) == (len(EVENTS), [])


@pytest.mark.parametrize("last", ['{"at": 2, "change": cordon}', '{"at": 2, "put": 1e400}', "x"])
def test_a_last_line_that_is_wrong_is_not_one_that_is_cut_off(tmp_path: Path, last: str) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(f"{lines()}\n{last}")
    with pytest.raises(InputError, match=r"t\.jsonl:2:1"):
        read_whole(path)
