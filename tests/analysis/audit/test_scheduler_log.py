"""Reading kube-scheduler's log."""

import gzip
import json
from collections.abc import Callable

import pytest

from ksched_cli.analysis.audit.decisions import LogEvent, LogLine, read_log, read_logs
from ksched_cli.errors import InputError

TEXT = """\
I1122 09:49:26.433718   10085 schedule_one.go:100] "Attempting to schedule pod" pod="default/p"
I1122 09:49:26.444718   10085 default_binder.go:53] "Attempting to bind pod to node" pod="default/p"
I1122 09:49:27.000001   10085 eventhandlers.go:355] "Delete event for scheduled pod" pod="shop/q"
I1122 09:49:27.100001   10085 eventhandlers.go:219] "Delete event for unscheduled pod" pod="shop/r"
"""
JSON = (
    '{"ts":1763804966.4,"caller":"scheduler/schedule_one.go:100",'
    '"msg":"Attempting to schedule pod","v":3,"pod":{"name":"p","namespace":"default"}}'
)


def test_attempts_and_departures_are_read_in_their_order() -> None:
    assert read_log(TEXT.splitlines()) == [
        LogLine(LogEvent.ATTEMPT, "default/p"),
        LogLine(LogEvent.DEPARTURE, "shop/q"),
        LogLine(LogEvent.REMOVAL, "shop/r"),
    ]


def test_room_that_is_made_for_a_pod_is_read_though_the_node_comes_first() -> None:
    event = '"the target node for the preemption is determined" node="node-1" pod="default/p"'
    assert read_log([f"I1122 09:49:26.5 1 preemption.go:293] {event}"]) == [
        LogLine(LogEvent.PREEMPTION, "default/p", "node-1")
    ]


def test_a_log_in_json_is_read_too() -> None:
    assert read_log([JSON]) == [LogLine(LogEvent.ATTEMPT, "default/p")]


def test_nodes_and_messages_in_json_are_read_as_in_text() -> None:
    node = '{"ts":1.0,"msg":"Add event for node","v":3,"node":{"name":"node-025"}}'
    refusal = (
        '{"ts":2.0,"msg":"Unable to schedule pod; no fit; waiting","v":2,'
        '"pod":{"name":"p","namespace":"d"},"err":"taint {a: \\"b\\"}."}'
    )
    assert read_log([node, refusal]) == [
        LogLine(LogEvent.NODE, "", "node-025"),
        LogLine(LogEvent.REFUSAL, "d/p", message='taint {a: "b"}.'),
    ]


ATTEMPT = (
    'I1122 09:49:26.433718 1 schedule_one.go:100] "Attempting to schedule pod" pod="default/p"'
)
STAMP = "2026-11-22T09:49:26.433718123Z"


@pytest.mark.parametrize(
    "text",
    [
        f"{STAMP} stderr F {ATTEMPT}",
        f"{STAMP} stderr P {ATTEMPT[:60]}\n{STAMP} stderr F {ATTEMPT[60:]}",
        f"{STAMP[:-1]}+02:00 stdout F:tag {JSON}",
        f"{STAMP} {ATTEMPT}",
        json.dumps({"log": f"{ATTEMPT}\n", "stream": "stderr", "time": STAMP}),
        json.dumps({"log": f"{JSON}\n", "stream": "stderr", "time": STAMP}),
    ],
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_what_a_container_runtime_adds_is_taken_off(
    text: str, pack: Callable[[bytes], bytes]
) -> None:
    assert read_logs([(pack(text.encode()), "log")]) == [LogLine(LogEvent.ATTEMPT, "default/p")]


@pytest.mark.parametrize(
    "files",
    [
        ("I1122 09:49:27.0 1 a", "I1122 10:00:00.0 1 a"),
        ("I1231 23:59:59.0 1 a", "I0101 00:00:00.0 1 a"),
        (f"{STAMP} stderr F I0930 09:49:27.0 1 a", "I1001 09:49:27.0 1 a"),
        ('{"ts":1763804966433.7,"msg":"a"}', '{"ts":1763804976433.7,"msg":"a"}'),
    ],
)
def test_files_of_a_rotated_log_are_in_the_order_of_their_times(files: tuple[str, str]) -> None:
    data = [
        (f'{first}\nI1 1 a.go:1] "Attempting to schedule pod" pod="d/{name}"'.encode(), name)
        for name, first in zip("pq", files, strict=True)
    ]
    for order in (data, data[::-1]):
        assert [line.pod for line in read_logs(order)] == ["d/p", "d/q"]


def test_gzip_that_is_not_whole_is_an_error() -> None:
    with pytest.raises(InputError, match=r"not gzip: .*is the file complete"):
        read_logs([(gzip.compress(ATTEMPT.encode())[:-9], "a.log.gz")])


EVICTIONS = """\
I1 1 a.go:1] "Start the preemption asynchronously" preemptor="d/p" node="a" numVictims=2 n=1
I1 1 a.go:1] "Victim Pod is already deleted, skipping the API call for it" preemptor="d/p" \
node="a" victim="d/v"
I1 1 a.go:1] "Preemptor Pod preempted victim Pod" preemptor="d/p" victim="d/w" node="a"
I1 1 a.go:1] "Victim Pod is already deleted" preemptor="d/p" victim="d/x" node="a"
I1 1 a.go:1] "Unable to schedule pod; no fit; waiting" pod="d/p" err="taint {a: \\"b\\"}."
"""


def test_evictions_and_refusals_are_read() -> None:
    assert read_log(EVICTIONS.splitlines()) == [
        LogLine(LogEvent.EVICTION, "d/p", "a", victim_count=2),
        LogLine(LogEvent.LEAVING, "d/v", "a", "d/p"),
        LogLine(LogEvent.VICTIM, "d/w", "a", "d/p"),
        LogLine(LogEvent.VICTIM, "d/x", "a", "d/p"),
        LogLine(LogEvent.REFUSAL, "d/p", message='taint {a: "b"}.'),
    ]


@pytest.mark.parametrize(
    "message", ["Updating pod condition", "Updating pod condition and nominated node name"]
)
def test_statuses_are_written_by_calls_aside_or_at_once(message: str) -> None:
    line = f'I1 1 a.go:1] "{message}" pod="d/p" conditionType="PodScheduled"'
    assert read_log([line]) == [LogLine(LogEvent.WRITING, "d/p")]


def test_nodes_are_read_as_they_are_noticed() -> None:
    line = 'I1 1 eventhandlers.go:63] "Add event for node" node="node-025"'
    assert read_log([line]) == [LogLine(LogEvent.NODE, "", "node-025")]


def test_other_lines_are_passed_over() -> None:
    assert read_log(["", "panic: no", '{"msg":"started"}']) == []
