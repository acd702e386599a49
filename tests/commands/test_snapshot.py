"""`ksched snapshot` from the command line."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ksched_cli.live import client
from ksched_cli.testing import node, pod
from tests.commands.runners import Ksched
from tests.live.fake_api_server import (
    CLOSED,
    CUT,
    HALF,
    HANGS,
    SERVED,
    ApiServer,
    Outage,
    write_kubeconfig,
)
from tests.report.schemas import conforms
from tests.thorough import every

OBJECTS = (node("n"), pod("p", namespace="web"))


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiServer]:
    """A cluster that the kubeconfig names; it ends with the test."""
    server = ApiServer(OBJECTS)
    monkeypatch.setenv("KUBECONFIG", str(write_kubeconfig(tmp_path / "kubeconfig", server.url)))
    monkeypatch.setattr(client, "BACKOFF_SECONDS", 0.0)
    monkeypatch.chdir(tmp_path)
    yield server
    server.close()


def test_a_snapshot_is_a_state(ksched: Ksched, cluster: ApiServer, tmp_path: Path) -> None:
    code, out, err = ksched("snapshot", "cluster.json.gz", "-o", "json")
    assert (code, err) == (0, "")
    result = conforms(json.loads(out), "snapshot_result")
    assert result["bytes"] == (tmp_path / "cluster.json.gz").stat().st_size
    assert gzip.decompress((tmp_path / "cluster.json.gz").read_bytes())
    code, out, _ = ksched("schedule", "--state", "cluster.json.gz", "-o", "json")
    assert json.loads(out)["placements"] == {"web/p": "n"}


@pytest.mark.parametrize(
    ("gates", "kinds"), [((), []), (("--feature-gates", "GenericWorkload=true"), ["PodGroup"])]
)
def test_pod_groups_are_read_where_their_gate_is_named(
    gates: tuple[str, ...],
    kinds: list[str],
    ksched: Ksched,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    version = "scheduling.k8s.io/v1alpha2"
    metadata = {"name": "g", "namespace": "default", "uid": "g"}
    group = {"apiVersion": version, "kind": "PodGroup", "metadata": metadata, "spec": {}}
    served = {**SERVED, version: {"PodGroup": ("podgroups", True)}}
    server = ApiServer([node("n"), group], served=served)
    monkeypatch.setenv("KUBECONFIG", str(write_kubeconfig(tmp_path / "kubeconfig", server.url)))
    _, out, _ = ksched("snapshot", *gates)
    server.close()
    assert [item["kind"] for item in json.loads(out)["items"]] == ["Node", *kinds]


def test_without_a_file_it_is_printed(ksched: Ksched, cluster: ApiServer) -> None:
    for arguments in ((), ("-",)):
        _, out, _ = ksched("snapshot", *arguments)
        assert [item["kind"] for item in json.loads(out)["items"]] == ["Node", "Pod"]


def test_the_summary_is_no_part_of_what_is_printed(ksched: Ksched, cluster: ApiServer) -> None:
    code, _, err = ksched("snapshot", "-o", "json")
    assert (code, "-o json shows the summary, which requires FILE" in err) == (2, True)


@pytest.mark.parametrize("file", ["cluster.json", "-"])
def test_a_server_that_dies_leaves_no_file(
    file: str, ksched: Ksched, cluster: ApiServer, tmp_path: Path
) -> None:
    cluster.faults.dies_after = 12
    code, out, err = ksched("snapshot", file)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert "does not answer while objects of kind" in err
    assert [path.name for path in tmp_path.iterdir()] == ["kubeconfig"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--events", "--redact"], "--events cannot be combined with --redact"),
        (["--events", "--state", "a.json"], "--events has no effect with --state"),
    ],
)
def test_events_are_of_clusters_and_are_not_renamed(
    options: list[str], message: str, ksched: Ksched, cluster: ApiServer
) -> None:
    code, _, err = ksched("snapshot", "b.json", *options)
    assert (code, message in err) == (2, True)


def test_credentials_that_are_refused_are_one_message_and_leave_no_file(
    ksched: Ksched, cluster: ApiServer, tmp_path: Path
) -> None:
    cluster.faults.token = "another"
    code, out, err = ksched("snapshot", "a.json")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "401 Unauthorized" in err
    assert [path.name for path in tmp_path.iterdir()] == ["kubeconfig"]


def test_a_context_that_is_not_there_is_an_error(ksched: Ksched, cluster: ApiServer) -> None:
    code, _, err = ksched("snapshot", "a.json", "--context", "prod")
    assert (code, err.endswith('no context "prod"; there are: here\n')) == (2, True)


def test_missing_rights_are_told_once_and_not_to_readers_of_the_file(
    ksched: Ksched, cluster: ApiServer
) -> None:
    paths = ("csinodes", "csidrivers", "storageclasses")
    cluster.faults.refused = {f"/apis/storage.k8s.io/v1/{path}": 403 for path in paths}
    code, _, err = ksched("snapshot", "a.json")
    assert (code, err.count("\n")) == (0, 1)
    assert err.startswith("warning: no right to list StorageClass, CSINode, CSIDriver: ")
    assert ksched("schedule", "--live")[2].endswith(f"\n{err}")
    assert ksched("schedule", "--state", "a.json")[2] == ""


def test_readers_of_the_file_are_told_that_it_has_one_namespace(
    ksched: Ksched, cluster: ApiServer
) -> None:
    cluster.faults.refused = {"/api/v1/pods": 403}
    _, _, err = ksched("snapshot", "a.json", "-n", "web")
    assert err.startswith("warning: listed only in namespace web: Pod: ")
    assert ksched("schedule", "--state", "a.json")[2] == err


# What is wrong, and the end of the message.
LASTING: dict[str, tuple[Outage, str]] = {
    "401": (401, "401 no access to {path}"),
    "410": (410, "{path}: 410 no access to {path}"),
    "429": (429, "{path}: 429 no access to {path}"),
    "500": (500, "{path}: 500 no access to {path}"),
    "503": (503, "{path}: 503 no access to {path}"),
    "closed": (CLOSED, "(context here of {kubeconfig})"),
    "cut": (CUT, "(context here of {kubeconfig})"),
    "hangs": (HANGS, "Read timed out. (read timeout=0.3) (context here of {kubeconfig})"),
    "half": (HALF, "Input data was truncated"),
}
PLACES = [
    "/apis",
    "/api/v1",
    "/apis/policy/v1",
    "/api/v1/nodes",
    "/api/v1/pods",
    "/apis/policy/v1/poddisruptionbudgets",
    "/apis/resource.k8s.io/v1/resourceclaims",
]


@pytest.mark.parametrize(("name", "path"), every(3, [*LASTING], PLACES))
def test_a_fault_that_lasts_is_one_message_and_leaves_the_old_file(
    name: str,
    path: str,
    ksched: Ksched,
    cluster: ApiServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    outage, message = LASTING[name]
    monkeypatch.setattr(client, "READ_SECONDS", 0.3 if outage == HANGS else client.READ_SECONDS)
    old = tmp_path / "a.json.gz"
    old.write_bytes(b"old")
    cluster.faults.refused = {path: outage}
    code, out, err = ksched("snapshot", old.name)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.endswith(message.format(path=path, kubeconfig=tmp_path / "kubeconfig") + "\n")
    assert old.read_bytes() == b"old"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a.json.gz", "kubeconfig"]


# Status → the places that end with it. Pods that may not be listed may be in one namespace.
ENDING = {
    403: ["/apis", "/api/v1", "/apis/policy/v1", "/api/v1/nodes"],
    404: ["/apis", "/api/v1", "/api/v1/nodes", "/api/v1/pods"],
}


@pytest.mark.parametrize("path", PLACES)
@pytest.mark.parametrize("status", ENDING)
def test_what_is_refused_or_absent_is_a_warning_where_there_is_a_state_without_it(
    status: int, path: str, ksched: Ksched, cluster: ApiServer, tmp_path: Path
) -> None:
    old = tmp_path / "a.json"
    old.write_text("old")
    cluster.faults.refused = {path: status}
    code, _, err = ksched("snapshot", old.name)
    assert (code, err.count("\n"), old.read_text() == "old") == (
        (2, 1, True) if path in ENDING[status] else (0, 1, False)
    )


@pytest.mark.parametrize(
    ("outage", "path"), every(2, [429, 500, CLOSED, CUT], ["/version", *PLACES])
)
def test_a_fault_that_passes_changes_nothing(
    outage: Outage, path: str, ksched: Ksched, cluster: ApiServer, tmp_path: Path
) -> None:
    cluster.faults.passing = {path: [outage, outage]}
    assert ksched("snapshot", "a.json")[0] == 0
    items = json.loads((tmp_path / "a.json").read_text())["items"]
    assert [item["kind"] for item in items] == ["Node", "Pod"]


@pytest.mark.parametrize("outage", [CUT, 410, 500])
def test_a_list_that_breaks_in_its_middle_leaves_no_file(
    outage: Outage, ksched: Ksched, cluster: ApiServer, tmp_path: Path
) -> None:
    cluster.page = 1
    cluster.objects += [pod(f"q{number}") for number in range(3)]
    cluster.faults.passing = {"/api/v1/pods": [None, *[outage] * 9]}
    code, out, _ = ksched("snapshot", "a.json")
    assert (code, out) == (2, "")
    assert [path.name for path in tmp_path.iterdir()] == ["kubeconfig"]
