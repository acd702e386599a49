"""Recordings from kubectl's watches and from audit logs."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.errors import InputError, UsageError
from ksched_cli.live.other_records import record_files
from ksched_cli.live.snapshot_file import RecordingFile
from ksched_cli.testing import Manifest, node, pod

Write = Callable[..., str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """The path of a file of these lines."""

    def write(name: str, *lines: dict[str, Any]) -> str:
        path = tmp_path / name
        text = "".join(f"{json.dumps(line)}\n" for line in lines).encode()
        path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
        return str(path)

    return write


def time(second: int) -> str:
    return f"2026-01-01T00:00:{second:02}Z"


def versioned(manifest: Manifest, revision: int, second: int = 0, **status: Any) -> Manifest:
    created = {"creationTimestamp": time(second)}
    metadata = {**created, **manifest["metadata"], "resourceVersion": str(revision)}
    return {**manifest, "metadata": metadata, "status": {**manifest.get("status", {}), **status}}


def bound(manifest: Manifest, on: str, revision: int, second: int) -> Manifest:
    """As it is right after its binding."""
    condition = {"type": "PodScheduled", "status": "True", "lastTransitionTime": time(second)}
    spec = {**manifest["spec"], "nodeName": on}
    return versioned({**manifest, "spec": spec}, revision, conditions=[condition])


def watched(kind: str, obj: Manifest) -> dict[str, Any]:
    """As kubectl prints it."""
    return {"type": kind, "object": obj}


def recorded(
    folder: Path, *paths: str, states: tuple[str, ...] = ()
) -> tuple[list[Manifest], list[dict[str, Any]], list[str]]:
    """The objects to begin with, the events, and the warnings."""
    warnings: list[str] = []
    record_files(RecordingFile(str(folder / "day.jsonl")), paths, states, warnings.append)
    _, *events = map(json.loads, (folder / "day.jsonl").read_text().splitlines())
    return json.loads((folder / "day.state.json").read_text())["items"], events, warnings


P, Q = (pod(name, cpu=1, metadata={"uid": f"default/{name}"}) for name in "pq")


def test_watches_of_several_resources_are_one_recording(write: Write, tmp_path: Path) -> None:
    """In the order of etcd's revisions; kubectl lists first what there is, sorted by name."""
    nodes = write(
        "nodes.json",
        watched("ADDED", versioned(node("a"), 7)),
        watched("ADDED", versioned(node("b"), 3)),
        watched("MODIFIED", versioned(node("b", unschedulable=True), 13)),
        watched("DELETED", versioned(node("b", unschedulable=True), 16)),
    )
    p, q = versioned(P, 11, 20), versioned(Q, 14, 30)
    pods = write(
        "pods.json.gz",
        watched("ADDED", versioned(pod("old", node="a"), 5)),
        watched("ADDED", p),
        watched("MODIFIED", bound(p, "b", 12, 21)),
        watched("ADDED", q),
        watched("MODIFIED", bound(q, "a", 15, 31)),
        watched("DELETED", bound(p, "b", 17, 21)),
    )
    scheduled = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e"},
        "reason": "Scheduled",
    }
    notes = write("events.json", watched("ADDED", versioned(scheduled, 4)))
    objects, events, warnings = recorded(tmp_path, nodes, pods, notes)
    assert [each["metadata"]["name"] for each in objects] == ["a", "b", "old"]
    assert [[*event][1] for event in events] == [
        "pod", "decision", "put", "pod", "decision", "delete", "delete"
    ]  # fmt: skip
    assert [event["at"] for event in events] == [20, 21, 21, 30, 31, 31, 31]
    decisions = [event["decision"] for event in events if "decision" in event]
    assert [(each["name"], each["node"]) for each in decisions] == [("p", "b"), ("q", "a")]
    assert warnings == []


def test_a_recording_without_nodes_is_refused(write: Write, tmp_path: Path) -> None:
    pods = write("pods.json", watched("ADDED", versioned(P, 1)))
    with pytest.raises(UsageError, match="no nodes at the beginning: add a watch of nodes"):
        recorded(tmp_path, pods)
    assert not [*tmp_path.glob("day*")]


def test_other_kinds_are_left_out(write: Write, tmp_path: Path) -> None:
    nodes = write("nodes.json", watched("ADDED", versioned(node("a"), 1)))
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    others = write("secrets.json", watched("ADDED", versioned(secret, 2)))
    objects, events, warnings = recorded(tmp_path, nodes, others)
    assert (len(objects), events) == (1, [])
    assert [others in line and "does not read" in line for line in warnings] == [True]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ({"kind": "Pod"}, "this is no event"),
        (watched("ERROR", {"message": "too old"}), "ended with an event of type ERROR: too old"),
        (watched("ADDED", {"kind": "Pod"}), "an object with a name is expected"),
        (watched("ADDED", {"kind": "Pod", "metadata": {"name": "p"}}), "no resourceVersion"),
    ],
)
def test_what_is_no_event_is_refused_with_its_line(
    line: dict[str, Any], problem: str, write: Write, tmp_path: Path
) -> None:
    path = write("nodes.json", watched("ADDED", versioned(node("a"), 1)), line)
    if "object" in line:
        line["object"].setdefault("kind", "Pod")
        path = write("nodes.json", watched("ADDED", versioned(node("a"), 1)), line)
    with pytest.raises(InputError, match=problem) as error:
        recorded(tmp_path, path)
    assert ":2" in str(error.value)


# -- audit logs -----------------------------------------------------------------------------------


def request(
    second: int, verb: str, resource: str, name: str = "", *, sub: str = "", **about: Any
) -> dict[str, Any]:
    """As an API server logs it when the response is complete."""
    target = {"resource": resource, "name": name, "apiVersion": "v1"}
    if resource != "nodes":
        target["namespace"] = "default"
    return {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "RequestResponse",
        "auditID": str(second),
        "stage": "ResponseComplete",
        "requestURI": f"/api/v1/namespaces/default/{resource}/{name}",
        "verb": verb,
        "user": {"username": "someone"},
        "objectRef": {**target, **({"subresource": sub} if sub else {})},
        "responseStatus": {"code": 200},
        "requestReceivedTimestamp": f"2026-01-01T00:00:{second:02}.000000Z",
        "stageTimestamp": f"2026-01-01T00:00:{second:02}.500000Z",
        **about,
    }


def binding(second: int, name: str, on: str) -> dict[str, Any]:
    body = {
        "kind": "Binding",
        "apiVersion": "v1",
        "metadata": {"name": name, "namespace": "default", "uid": f"default/{name}"},
        "target": {"kind": "Node", "name": on},
    }
    return request(second, "create", "pods", name, sub="binding", requestObject=body)


def test_an_audit_log_has_creations_bindings_and_deletions(write: Write, tmp_path: Path) -> None:
    """The kubelet deletes a pod for good; whoever asked for it before has it leave."""
    state = write("before.json", node("a"), node("b"))
    log = write(
        "audit.log",
        request(1, "create", "pods", responseObject=P),
        binding(2, "p", "b"),
        request(3, "get", "pods", "p", responseObject=P),
        request(4, "create", "pods", responseObject=Q, responseStatus={"code": 409}),
        request(4, "create", "pods", responseObject=Q, requestURI="/api/v1/pods?dryRun=All"),
        request(5, "patch", "nodes", "a", responseObject=node("a", unschedulable=True)),
        request(6, "delete", "pods", "p", requestObject={"gracePeriodSeconds": 30}),
        request(7, "delete", "pods", "p", requestObject={"gracePeriodSeconds": 0}),
        request(8, "delete", "nodes", "b", responseObject={"kind": "Status"}),
    )
    objects, events, warnings = recorded(tmp_path, log, states=(state,))
    assert len(objects) == 2
    assert [(int(event["at"]), [*event][1]) for event in events] == [
        (0, "pod"), (1, "decision"), (4, "put"), (6, "delete"), (7, "delete")
    ]  # fmt: skip
    assert events[1]["decision"]["node"] == "b"
    assert warnings == []


def test_a_deleted_pod_without_a_grace_period_is_gone_at_once(write: Write, tmp_path: Path) -> None:
    state = write("before.json", node("a"), pod("p", node="a"))
    about = {"deletionTimestamp": time(1), "deletionGracePeriodSeconds": 0}
    answer = pod("p", node="a", metadata={"uid": "default/p", **about})
    log = write("audit.log", request(1, "delete", "pods", "p", responseObject=answer))
    (event,) = recorded(tmp_path, log, states=(state,))[1]
    assert event["delete"]["name"] == "p"


def test_a_victim_that_the_scheduler_deletes_is_preempted(write: Write, tmp_path: Path) -> None:
    state = write("before.json", node("a"), pod("low", node="a"))
    victim = {
        "kind": "Event",
        "apiVersion": "events.k8s.io/v1",
        "reason": "Preempted",
        "regarding": {"namespace": "default", "name": "low", "uid": "default/low"},
        "note": "Preempted by pod default/p on node a",
    }
    user = {"username": "system:kube-scheduler"}
    log = write(
        "audit.log",
        request(1, "delete", "pods", "low", user=user, requestObject={"gracePeriodSeconds": 9}),
        request(2, "create", "events", requestObject=victim),
        request(3, "delete", "pods", "low", requestObject={"gracePeriodSeconds": 0}),
    )
    _, events, _ = recorded(tmp_path, log, states=(state,))
    first, evicted, last = events
    assert (first["gracePeriod"], first["preempted"], last["preempted"]) == (9, True, True)
    assert evicted["decision"]["evictedFor"] == "default/p"


def test_what_the_level_of_a_log_leaves_out_is_told(write: Write, tmp_path: Path) -> None:
    state = write("before.json", node("a"))
    log = write(
        "audit.log",
        request(1, "create", "pods"),
        request(2, "create", "pods", requestObject=P, name="p"),
        request(3, "create", "pods", "p", sub="binding"),
        request(4, "deletecollection", "pods"),
    )
    _, events, warnings = recorded(tmp_path, log, states=(state,))
    assert [[*event][1] for event in events] == ["pod"]
    assert warnings == [
        "1 new pods are unknown: log them at level RequestResponse",
        "1 pods have no defaults: log them at level RequestResponse",
        "1 bindings have no node: log pods/binding at level Request",
        "1 requests deleted several pods at once, without their names",
    ]


def test_an_audit_log_needs_the_state_before(write: Write, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="does not show what there was at its beginning"):
        recorded(tmp_path, write("audit.log", binding(1, "p", "a")))


def test_logs_and_watches_are_not_mixed(write: Write, tmp_path: Path) -> None:
    log = write("audit.log", binding(1, "p", "a"))
    nodes = write("nodes.json", watched("ADDED", versioned(node("a"), 1)))
    with pytest.raises(UsageError, match="is an audit log and"):
        recorded(tmp_path, log, nodes, states=(write("state.json", node("a")),))
