"""`ksched record` from the command line, and what its recordings are for."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.live import client
from ksched_cli.testing import node, pod
from tests.commands.runners import Ksched
from tests.commands.test_snapshot import ENDING, LASTING, PLACES
from tests.live.fake_api_server import (
    CLOSED,
    CUT,
    HANGS,
    SERVED,
    ApiServer,
    Outage,
    write_kubeconfig,
)
from tests.report.schemas import conforms
from tests.thorough import every


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiServer]:
    """A cluster that the kubeconfig names; it ends with the test."""
    server = ApiServer([node("node-of-mine")])
    monkeypatch.setenv("KUBECONFIG", str(write_kubeconfig(tmp_path / "kubeconfig", server.url)))
    monkeypatch.setattr(client, "BACKOFF_SECONDS", 0.0)
    monkeypatch.chdir(tmp_path)
    yield server
    server.close()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_and_what_was_recorded_can_be_replayed(
    number: signal.Signals, ksched: Ksched, cluster: ApiServer, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "ksched_cli", "record", "day.jsonl", "-o", "json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=dict(os.environ))
    web = pod("web")
    web["metadata"]["uid"] = "web"
    timeline, publishes = tmp_path / "day.jsonl", True
    while process.poll() is None and not (timeline.exists() and '"pod"' in timeline.read_text()):
        if publishes and timeline.exists():
            cluster.publish("ADDED", web)
            publishes = False
        threading.Event().wait(0.05)
    process.send_signal(number)
    printed, _ = process.communicate()
    assert process.returncode == 0
    (part,) = conforms(json.loads(printed), "record_result")["parts"]
    assert (part["timeline"], part["state"], part["events"]) == (
        "day.jsonl", "day.state.json", 1,
    )  # fmt: skip
    code, out, _ = ksched("replay", "day.jsonl", "--state", "day.state.json", "-o", "csv")
    assert (code, out.count("node-of-mine")) == (0, 1)


def test_it_ends_in_time_and_goes_on_in_another_part(
    ksched: Ksched, cluster: ApiServer, tmp_path: Path
) -> None:
    for _ in range(2):
        code, out, err = ksched("record", "day.jsonl.gz", "--for", "10ms")
        assert (code, err) == (0, "")
    assert "day.1.jsonl.gz  day.1.state.json.gz" in out
    names = sorted(path.name for path in tmp_path.glob("day*"))
    assert names == [
        "day.1.jsonl.gz", "day.1.state.json.gz", "day.jsonl.gz", "day.state.json.gz",
    ]  # fmt: skip


def test_names_are_renamed_from_the_beginning(
    ksched: Ksched, cluster: ApiServer, tmp_path: Path
) -> None:
    options = ("--redact-key", "key.json", "--for", "10ms")
    assert ksched("record", "day.jsonl", *options)[0] == 0
    written = (tmp_path / "day.state.json").read_text() + (tmp_path / "day.jsonl").read_text()
    assert "mine" not in written
    assert "mine" in json.loads((tmp_path / "key.json").read_text())["parts"]


def test_groups_are_recorded_and_renamed_where_their_gates_are_named(
    ksched: Ksched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    versions = {"PodGroup": "scheduling.k8s.io/v1beta1"}
    versions["CompositePodGroup"] = "scheduling.k8s.io/v1alpha3"
    served = {version: {kind: (f"{kind.lower()}s", True)} for kind, version in versions.items()}
    groups = [
        {
            "apiVersion": version,
            "kind": kind,
            "metadata": {"name": "mine", "namespace": "default", "uid": kind},
            "spec": {"parentCompositePodGroupName": "mine-too"},
        }
        for kind, version in versions.items()
    ]
    server = ApiServer([node("n"), *groups], served={**SERVED, **served})
    monkeypatch.setenv("KUBECONFIG", str(write_kubeconfig(tmp_path / "kubeconfig", server.url)))
    monkeypatch.chdir(tmp_path)
    gates = "GenericWorkload=true,TopologyAwareWorkloadScheduling=true,CompositePodGroup=true"
    options = ("--feature-gates", gates, "--redact", "--for", "10ms")
    assert ksched("record", "day.jsonl", *options)[0] == 0
    server.close()
    state = (tmp_path / "day.state.json").read_text()
    kinds = [item["kind"] for item in json.loads(state)["items"]]
    assert kinds == ["Node", "CompositePodGroup", "PodGroup"]
    assert "mine" not in state


@pytest.mark.parametrize(("name", "path"), every(3, [*LASTING], [*PLACES, "/api/v1/events"]))
def test_a_fault_that_lasts_at_the_beginning_is_one_message_and_no_file(
    name: str,
    path: str,
    ksched: Ksched,
    cluster: ApiServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    outage, message = LASTING[name]
    monkeypatch.setattr(client, "READ_SECONDS", 0.3 if outage == HANGS else client.READ_SECONDS)
    cluster.faults.refused = {path: outage}
    code, out, err = ksched("record", "day.jsonl", "--for", "10ms")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.endswith(message.format(path=path, kubeconfig=tmp_path / "kubeconfig") + "\n")
    assert [entry.name for entry in tmp_path.iterdir()] == ["kubeconfig"]


@pytest.mark.parametrize("path", [*PLACES, "/api/v1/events"])
@pytest.mark.parametrize("status", ENDING)
def test_what_is_refused_or_absent_is_a_warning_where_there_is_a_state_without_it(
    status: int, path: str, ksched: Ksched, cluster: ApiServer, tmp_path: Path
) -> None:
    cluster.faults.refused = {path: status}
    code, _, err = ksched("record", "day.jsonl", "--for", "10ms")
    ends = path in ENDING[status]
    assert (code, err.count("\n")) == (2 if ends else 0, 1)
    assert (tmp_path / "day.jsonl").exists() == (not ends)


@pytest.mark.parametrize(("outage", "path"), every(2, [429, 500, CLOSED, CUT], PLACES))
def test_a_fault_that_passes_at_the_beginning_changes_nothing(
    path: str, outage: Outage, ksched: Ksched, cluster: ApiServer, tmp_path: Path
) -> None:
    cluster.faults.passing = {path: [outage, outage]}
    assert ksched("record", "day.jsonl", "--for", "10ms")[0] == 0
    items = json.loads((tmp_path / "day.state.json").read_text())["items"]
    assert [item["kind"] for item in items] == ["Node"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("day.json",), "a recording is JSON lines; name it *.jsonl or *.jsonl.gz"),
        (("day.jsonl", "--for", "a day"), "expected a duration such as 24h or 90m"),
        (("day.jsonl", "--for", "0s"), "expected a duration above 0"),
        (("day.jsonl", "--part-size", "large"), "expected a size such as 100Mi"),
    ],
)
def test_options_that_cannot_be(
    arguments: tuple[str, ...], message: str, ksched: Ksched, cluster: ApiServer
) -> None:
    code, _, err = ksched("record", *arguments)
    assert (code, message in err) == (2, True)


def test_what_kubectl_printed_is_recorded_and_can_be_audited(
    ksched: Ksched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`p` goes to the larger node, `q` to the smaller one, which is worse."""
    monkeypatch.chdir(tmp_path)

    def seen(kind: str, obj: dict[str, Any], revision: int, **spec: Any) -> str:
        metadata = {**obj["metadata"], "resourceVersion": str(revision)}
        created = f"2026-01-01T00:{revision:02}:00Z"
        metadata.setdefault("creationTimestamp", created)
        condition = {"type": "PodScheduled", "status": "True", "lastTransitionTime": created}
        status = {**obj.get("status", {}), **({"conditions": [condition]} if spec else {})}
        changed = {**obj, "metadata": metadata, "spec": {**obj["spec"], **spec}, "status": status}
        return json.dumps({"type": kind, "object": changed})

    nodes = (node("a", cpu=2), node("b", cpu=8))
    Path("nodes.json").write_text("\n".join(seen("ADDED", each, 1) for each in nodes))
    lines = [seen("ADDED", pod("old", node="b"), 2)]
    for revision, (name, on) in enumerate((("p", "b"), ("q", "a"))):
        came = pod(name, cpu=1, metadata={"creationTimestamp": f"2026-01-01T00:1{revision}:00Z"})
        lines.append(seen("ADDED", came, 10 + 2 * revision))
        lines.append(seen("MODIFIED", came, 11 + 2 * revision, nodeName=on))
    Path("pods.json").write_text("\n".join(lines))
    code, out, err = ksched("record", "day.jsonl", "--from", "nodes.json", "--from", "pods.json")
    assert (code, err) == (0, "")
    assert "recorded 4 events of nodes.json, pods.json" in out
    code, out, _ = ksched("audit", "--timeline", "day.jsonl", "-o", "json")
    answer = json.loads(out)
    assert (code, [each["pod"] for each in answer["differ"]]) == (1, ["default/q"])
    assert answer["agree"] == 1


def test_options_about_a_cluster_do_not_go_with_files(ksched: Ksched, tmp_path: Path) -> None:
    for option in (("--for", "1h"), ("--redact",), ("--part-size", "1Mi")):
        code, _, err = ksched("record", tmp_path / "day.jsonl", "--from", "a.json", *option)
        assert (code, f"cannot be combined with {option[0]}" in err) == (2, True)
    code, _, err = ksched("record", tmp_path / "day.jsonl", "--state", "a.json")
    assert (code, "--state requires --from" in err) == (2, True)
