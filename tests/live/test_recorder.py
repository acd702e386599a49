"""A live cluster as a timeline: what is written of what happens, and of what goes wrong."""

import json
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from ksched_cli.errors import KschedError
from ksched_cli.live import recorder as recorder_module
from ksched_cli.live import watch
from ksched_cli.live.client import ClusterError
from ksched_cli.live.recorder import Recorder, RecordingLimits
from ksched_cli.live.snapshot_file import parts
from ksched_cli.testing import node, pod
from tests.live.fake_api_server import (
    CLOSED,
    CUT,
    EXPIRED,
    HALF,
    HANGS,
    ApiServer,
    Manifest,
    Outage,
)
from tests.live.fixtures import Connect, Serve

PODS = "/api/v1/pods"
NODES = "/api/v1/nodes"
EVENTS = "/api/v1/events"


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is waited for."""
    monkeypatch.setattr(recorder_module, "HOLD_SECONDS", 0.01)
    monkeypatch.setattr(recorder_module, "_IDLE_SECONDS", 0.05)
    monkeypatch.setattr(watch, "LEAST_BACKOFF_SECONDS", 0.01)
    monkeypatch.setattr(watch, "MOST_BACKOFF_SECONDS", 0.05)


@pytest.fixture
def server(serve: Serve) -> ApiServer:
    return serve(node("n"), own(pod("first")))


class Recording:
    """Records in a folder. warnings: the recorder's"""

    def __init__(self, client: Any, folder: Path) -> None:
        self.client, self.folder = client, folder
        self.warnings: list[str] = []

    def __call__(
        self, count: int, *steps: Callable[[], None], **options: Any
    ) -> list[dict[str, Any]]:
        """The events, without their times, once there are so many; after each of the first ones
        the next step is taken."""
        coming = list(steps)

        def is_over() -> bool:
            written = sum(part.events for part in recorder.parts)
            if coming and written >= len(steps) - len(coming):
                coming.pop(0)()
            return not coming and written >= count

        files = parts(str(self.folder / "day.jsonl"))
        options = {"limits": RecordingLimits(is_interrupted=is_over), **options}
        recorder = Recorder(self.client, "", files, warn=self.warnings.append, **options)
        recorder.run()
        return events_of([Path(part.path) for part in recorder.parts])


@pytest.fixture
def record(server: ApiServer, connected: Connect, tmp_path: Path) -> Recording:
    return Recording(connected(server), tmp_path)


def events_of(paths: Sequence[Path]) -> list[dict[str, Any]]:
    lines = [line for path in paths for line in path.read_text().splitlines()[1:]]
    return [{k: v for k, v in json.loads(line).items() if k != "at"} for line in lines]


def own(manifest: Manifest, uid: str = "", **status: Any) -> Manifest:
    """A pod with a UID, as the API server gives it."""
    metadata = {"uid": uid or manifest["metadata"]["name"], **manifest["metadata"]}
    return {**manifest, "metadata": metadata, "status": {"phase": "Pending", **status}}


def placed(manifest: Manifest, node_name: str = "n") -> Manifest:
    return {**manifest, "spec": {**manifest["spec"], "nodeName": node_name}}


def about(name: str, **rest: str) -> dict[str, str]:
    return {"namespace": "default", "name": name, "uid": name, **rest}


def test_a_pod_comes_is_placed_ends_and_goes(server: ApiServer, record: Recording) -> None:
    web = own(pod("web"))
    done = {**placed(web), "status": {"phase": "Succeeded"}}
    events = record(
        3,
        lambda: server.publish("ADDED", web),
        lambda: server.publish("MODIFIED", placed(web)),
        lambda: server.publish("MODIFIED", done),
        lambda: server.publish("DELETED", done),
    )
    assert events[0]["pod"]["metadata"]["name"] == "web"
    assert "nodeName" not in events[0]["pod"]["spec"]
    assert events[1] == {"decision": about("web", node="n")}
    assert (events[2]["end"], events[2]["ranFor"] >= 0, len(events)) == ("default/web", True, 3)


def test_when_a_pod_started_is_recorded_for_who_ranks_victims(
    server: ApiServer, record: Recording
) -> None:
    web, start = own(pod("web")), "2026-01-01T00:00:05Z"
    events = record(
        3,
        lambda: server.publish("ADDED", web),
        lambda: server.publish("MODIFIED", placed(web)),
        lambda: server.publish("MODIFIED", placed(own(pod("web"), startTime=start))),
    )
    assert events[1] == {"decision": about("web", node="n")}
    assert events[2]["put"]["status"] == {"startTime": start}


def test_a_pod_runs_from_its_decision_to_its_end_however_late_these_were_noticed(
    server: ApiServer, record: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pod's arrival is noticed later than its decision."""
    late = [0.3]

    def clock() -> float:
        return time.time() + (late.pop() if server.events and late else 0.0)

    monkeypatch.setattr(watch, "CLOCK", SimpleNamespace(now=clock))
    web = own(pod("web"))
    done = {**placed(web), "status": {"phase": "Succeeded"}}

    def decide() -> None:
        server.publish("ADDED", web)
        server.publish("MODIFIED", placed(web))

    record(3, decide, lambda: None, lambda: server.publish("MODIFIED", done))
    _, decision, end = map(json.loads, (tmp_path / "day.jsonl").read_text().splitlines()[1:])
    assert end["ranFor"] == pytest.approx(end["at"] - decision["at"], abs=1e-5)


def test_a_clock_that_is_set_back_delays_nothing_and_times_go_on(
    server: ApiServer, record: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hour, wall = [0.0], time.time

    def set_back() -> None:
        server.publish("ADDED", own(pod("before")))
        hour[0] = 3600.0
        server.publish("ADDED", own(pod("after")))

    monkeypatch.setattr(time, "time", lambda: wall() - hour[0])
    begun = time.monotonic()
    record(3, set_back, lambda: None, lambda: server.publish("ADDED", own(pod("late"))))
    assert time.monotonic() - begun < 60
    lines = (tmp_path / "day.jsonl").read_text().splitlines()[1:]
    times = [json.loads(line)["at"] for line in lines]
    assert times == sorted(times)
    assert len({*times}) == 3
    assert times[-1] < 60


def test_a_refusal_with_its_nomination_is_a_decision(server: ApiServer, record: Recording) -> None:
    condition = {"type": "PodScheduled", "status": "False", "message": "0/1 nodes"}
    refused = own(pod("first"), nominatedNodeName="n", conditions=[condition])
    (event,) = record(1, lambda: server.publish("MODIFIED", refused))
    assert event == {"decision": about("first", nominatedNode="n", message="0/1 nodes")}


def eviction(name: str) -> Manifest:
    """The scheduler's event."""
    return {
        "kind": "Event", "apiVersion": "v1", "metadata": {"name": name, "namespace": "default"},
        "reason": "Preempted", "message": "Preempted by pod UID on node n",
        "involvedObject": {"namespace": "default", "name": "first", "uid": "first"},
    }  # fmt: skip


def test_evictions_are_listed_where_the_revision_of_their_watch_is_forgotten(
    server: ApiServer, record: Recording
) -> None:
    """As happens every ten minutes where nobody is evicted: events have no bookmarks."""
    server.faults.watches = {EVENTS: [EXPIRED]}
    first = [eviction("a"), eviction("b")]

    def publish(path: str) -> None:
        if path == EVENTS and first:
            server.publish("ADDED", first.pop())

    server.watches_begin = publish  # type: ignore[method-assign]
    decision = {"decision": about("first", node="n", evictedFor="UID")}
    nothing, later = lambda: None, lambda: server.publish("ADDED", eviction("c"))
    events = record(3, nothing, nothing, later)
    assert events == [decision] * 3, "each eviction is there once, and there is no gap"
    lists = [each for each in server.requests if f"{EVENTS}?" in each and "watch=" not in each]
    assert all("fieldSelector=reason" in each for each in lists)


def test_a_victim_of_the_scheduler_is_marked(server: ApiServer, record: Recording) -> None:
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    victim = placed(own(pod("first"), conditions=[condition]))
    victim["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    events = record(
        4,
        lambda: server.publish("MODIFIED", placed(own(pod("first")))),
        lambda: server.publish("MODIFIED", victim),
        lambda: server.publish("ADDED", eviction("e")),
        lambda: server.publish("DELETED", victim),
    )
    target = {"kind": "Pod", "namespace": "default", "name": "first"}
    assert events[1:] == [
        {"delete": target, "gracePeriod": 30, "preempted": True},
        {"decision": about("first", node="n", evictedFor="UID")},
        {"delete": target, "preempted": True},
    ]


def test_what_nobody_reads_is_no_event(server: ApiServer, record: Recording) -> None:
    beat = {"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-01T00:00:10Z"}
    steps = [{**node("n"), "status": {**node("n")["status"], "conditions": [beat]}}, node("m")]

    def publish() -> None:
        for step in steps:
            server.publish("MODIFIED", step)

    events = record(1, publish)
    assert [event["put"]["metadata"]["name"] for event in events] == ["m"]


def test_volumes_that_wait_for_a_pod_are_what_was_decided(
    server: ApiServer, record: Recording
) -> None:
    def claim(name: str, storage_class: str) -> Manifest:
        spec = {"storageClassName": storage_class, "volumeName": "v"}
        metadata = {"name": name, "namespace": "default", "uid": name}
        return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata,
                "spec": spec}  # fmt: skip

    server.objects.append({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "late"},
        "provisioner": "x", "volumeBindingMode": "WaitForFirstConsumer",
    })  # fmt: skip
    events = record(
        2,
        lambda: server.publish("ADDED", claim("a", "late")),
        lambda: server.publish("ADDED", claim("b", "soon")),
    )
    assert [event.get("decided", False) for event in events] == [True, False]


@pytest.mark.parametrize("outage", [429, 500, 503, CUT, HALF, CLOSED, HANGS])
def test_a_watch_that_breaks_loses_nothing(
    outage: Outage,
    server: ApiServer,
    record: Recording,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if outage == HANGS:
        monkeypatch.setattr(watch, "SILENT_SECONDS", 0.3)
    server.faults.watches = {PODS: [outage, outage]}
    coming = [own(pod("web"))]

    def is_over() -> bool:
        if coming:
            server.publish("ADDED", coming.pop())
        return '"web"' in (tmp_path / "day.jsonl").read_text()

    events = record(0, limits=RecordingLimits(is_interrupted=is_over))
    gaps = [event["gap"] for event in events if event.get("gap", {}).get("kind") == "Pod"]
    assert not any("relisted" in gap for gap in gaps)
    assert bool(gaps) == (outage != CLOSED)  # a watch that ends in order is no gap
    assert [event["pod"]["metadata"]["name"] for event in events if "pod" in event] == ["web"]


def test_a_gap_stands_after_what_was_noticed_before_it(
    server: ApiServer, record: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder_module, "HOLD_SECONDS", 1.0)
    monkeypatch.setattr(watch, "LEAST_BACKOFF_SECONDS", 0.1)
    server.faults.watches = {NODES: [CUT]}

    def publish() -> None:
        server.publish("ADDED", own(pod("web")))
        server.publish("MODIFIED", node("m"))

    events = record(3, publish)
    assert [next(iter(event)) for event in events] == ["pod", "gap", "put"]


def test_a_watch_without_bookmarks_ends_before_it_seems_to_hang(
    server: ApiServer, record: Recording
) -> None:
    record(1, lambda: server.publish("ADDED", own(pod("web"))))
    seconds = {
        urlsplit(target).path.rpartition("/")[2]: int(
            parse_qs(urlsplit(target).query)["timeoutSeconds"][0]
        )
        for target in server.requests
        if "watch=1" in target
    }
    assert seconds.pop("events") < watch.SILENT_SECONDS < min(seconds.values())


@pytest.mark.parametrize("relisting", [None, 500, CUT, HALF])
@pytest.mark.parametrize("outage", [EXPIRED, 410])
def test_a_forgotten_revision_is_a_gap_and_what_is_there_is_listed(
    outage: Outage, relisting: Outage, server: ApiServer, record: Recording
) -> None:
    """relisting: what is wrong with the first lists after"""
    server.faults.watches = {PODS: [outage]}
    first, watched = server.objects[1], server.watches_begin

    def forget(path: str) -> None:
        if path == PODS and first in server.objects:
            server.forget(first)
            server.objects.append(own(pod("late")))
            server.faults.passing = {PODS: [relisting] * 9}
        watched(path)

    server.watches_begin = forget  # type: ignore[method-assign]
    gap, *changes = record(3)
    assert gap["gap"]["relisted"] is True
    assert [next(iter(event)) for event in changes] == ["pod", "delete"]


@pytest.mark.parametrize("status", [401, 403, 404])
def test_without_pods_a_recording_ends_and_stays(
    status: int, server: ApiServer, record: Recording, tmp_path: Path
) -> None:
    server.faults.watches = {PODS: [status]}
    with pytest.raises(ClusterError, match=str(status)):
        record(1)
    assert json.loads((tmp_path / "day.jsonl").read_text())["kind"] == "Timeline"


@pytest.mark.parametrize("status", [403, 404])
def test_another_kind_that_goes_is_a_warning(
    status: int, server: ApiServer, record: Recording
) -> None:
    server.faults.watches = {"/api/v1/services": [status]}

    record(0, limits=RecordingLimits(is_interrupted=lambda: bool(record.warnings)))
    assert record.warnings[0].startswith("Service is not watched any more: ")


def test_a_cluster_that_does_not_answer_at_first_leaves_no_file(
    server: ApiServer, record: Recording, tmp_path: Path
) -> None:
    server.faults.refused = {"/api/v1/nodes": 500}
    with pytest.raises(KschedError, match="500"):
        record(1)
    assert [path.name for path in tmp_path.iterdir()] == ["kubeconfig"]


def test_a_large_timeline_goes_on_in_another_part(
    server: ApiServer, record: Recording, tmp_path: Path
) -> None:
    coming = [own(pod(f"p{number}")) for number in range(4)]

    def is_over() -> bool:
        if coming:
            server.publish("ADDED", coming.pop())
        return len(arrivals()) == 4

    def arrivals() -> list[str]:
        events = events_of(list(tmp_path.glob("day*.jsonl")))
        return [event["pod"]["metadata"]["name"] for event in events]

    record(0, limits=RecordingLimits(part_bytes=300, is_interrupted=is_over))
    assert sorted(arrivals()) == ["p0", "p1", "p2", "p3"]
    state = json.loads((tmp_path / "day.1.state.json").read_text())
    assert {item["kind"] for item in state["items"]} == {"Node", "Pod"}


def test_a_finalizer_that_comes_before_the_devices_is_no_event(
    server: ApiServer, record: Recording
) -> None:
    def claim(**fields: Any) -> Manifest:
        metadata = {"name": "c", "namespace": "default", "uid": "c", **fields}
        version = "resource.k8s.io/v1"
        return {"apiVersion": version, "kind": "ResourceClaim", "metadata": metadata, "spec": {}}

    server.objects.append(claim())

    def publish() -> None:
        server.publish("MODIFIED", claim(finalizers=["resource.kubernetes.io/delete-protection"]))
        server.publish("DELETED", claim())

    (event,) = record(1, publish)
    assert event == {"delete": {"kind": "ResourceClaim", "namespace": "default", "name": "c"}}


def test_labels_that_a_binding_copies_from_the_node_are_no_change(
    server: ApiServer, record: Recording
) -> None:
    first = placed(own(pod("first")))
    first["metadata"]["labels"] = {"topology.kubernetes.io/zone": "z"}
    assert record(1, lambda: server.publish("MODIFIED", first)) == [
        {"decision": about("first", node="n")}
    ]


def paused(server: ApiServer, record: Recording, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long the watch of nodes pauses before each of the first attempts, as its backoff says."""
    monkeypatch.setattr(watch, "LEAST_BACKOFF_SECONDS", 0.8)
    monkeypatch.setattr(watch, "MOST_BACKOFF_SECONDS", 30.0)
    monkeypatch.setattr(random, "random", lambda: 0.5)
    seconds: list[float] = []
    wait = threading.Event.wait

    def note(event: threading.Event, timeout: float | None = None) -> bool:
        if threading.current_thread().name == "watch nodes" and timeout and timeout > 0.5:
            seconds.append(timeout)
            timeout = 0.0
        return wait(event, timeout)

    monkeypatch.setattr(threading.Event, "wait", note)
    record(0, limits=RecordingLimits(is_interrupted=lambda: len(seconds) >= 7))
    return seconds[:7]


@pytest.mark.parametrize("outage", [EXPIRED, 410, 500, CLOSED])
def test_a_server_that_ends_every_watch_is_asked_less_and_less(
    outage: Outage, server: ApiServer, record: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Upstream: client-go's reflector, 0.8 s to 30 s, and up to twice that at random."""
    server.faults.watches = {NODES: [outage] * 100}
    expected = [1.5 * base for base in (0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0)]
    assert paused(server, record, monkeypatch) == pytest.approx(expected)


def test_after_two_quiet_minutes_the_pauses_are_short_again(
    server: ApiServer, record: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "BACKOFF_RESET_SECONDS", -1.0)
    server.faults.watches = {NODES: [EXPIRED] * 100}
    assert {*paused(server, record, monkeypatch)} == {0.8 * 1.5}


@pytest.mark.parametrize(
    ("event", "problem"),
    [
        ({"type": "DELETED", "object": {"metadata": {}}}, "DELETED of an object without a name"),
        ({"type": "DELETED", "object": {}}, "DELETED of an object without a name"),
        ({"type": "ADDED", "object": {"metadata": {"name": "x"}}}, "without a namespace"),
        ({"type": "MODIFIED", "object": {"metadata": None}}, "a malformed event: "),
        ({"type": "MODIFIED", "object": 5}, "a malformed event: "),
        ({"type": "MODIFIED", "object": {**pod("x"), "spec": 1}}, "a malformed event: "),
        ({"type": "LOST", "object": {}}, "an event of type 'LOST'"),
    ],
)
def test_an_event_that_is_none_is_a_warning_and_a_gap(
    event: dict[str, Any], problem: str, server: ApiServer, record: Recording
) -> None:
    first, watched = server.objects[1], server.watched
    lines = [json.dumps(event)]

    def lines_of(path: str) -> Iterator[bytes]:
        if urlsplit(path).path == PODS and lines:
            server.forget(first)
            yield lines.pop().encode() + b"\n"
        else:
            yield from watched(path)

    server.watched = lines_of  # type: ignore[method-assign]
    gap, change = record(2)
    assert (gap["gap"]["kind"], gap["gap"]["relisted"]) == ("Pod", True)
    assert change == {"delete": {"kind": "Pod", "namespace": "default", "name": "first"}}
    (warning,) = record.warnings
    assert warning.startswith("the watch of pods reports ")
    assert problem in warning


def test_a_list_with_an_object_without_a_name_is_a_warning(
    server: ApiServer, record: Recording
) -> None:
    server.faults.watches = {PODS: [EXPIRED]}
    nameless = {"kind": "Pod", "metadata": {"namespace": "default"}}

    def lose(path: str) -> None:
        if path == PODS and not record.warnings and nameless not in server.objects:
            server.objects.append(nameless)

    server.watches_begin = lose  # type: ignore[method-assign]
    record(0, limits=RecordingLimits(is_interrupted=lambda: bool(record.warnings)))
    assert record.warnings[0].startswith("the list of pods has an object without a name")


def test_a_list_with_an_object_without_a_name_at_first_is_one_error(
    server: ApiServer, record: Recording
) -> None:
    server.objects.append({"kind": "Pod", "metadata": {"namespace": "default"}})
    with pytest.raises(ClusterError, match="the list of pods has an object without a name"):
        record(1)
