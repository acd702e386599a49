"""`ksched snapshot` from the command line."""

import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ksched_cli.testing import node, pod
from tests.commands.runners import Ksched, WriteState
from tests.live.fake_api_server import SERVED, ApiServer, write_kubeconfig
from tests.report.schemas import conforms

OBJECTS = (node("n"), pod("p", namespace="web"))


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiServer]:
    """A cluster that the kubeconfig names; it ends with the test."""
    server = ApiServer(OBJECTS)
    monkeypatch.setenv("KUBECONFIG", str(write_kubeconfig(tmp_path / "kubeconfig", server.url)))
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
    assert (code, "-o json is of the summary, which needs FILE" in err) == (2, True)


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
        (["--events", "--redact"], "--events and --redact exclude each other"),
        (["--events", "--state", "a.json"], "--events does nothing with --state"),
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


def test_warnings_are_printed_and_in_the_file(
    ksched: Ksched, cluster: ApiServer, tmp_path: Path
) -> None:
    cluster.faults.refused = {"/apis/storage.k8s.io/v1/csinodes": 403}
    code, _, err = ksched("snapshot", "a.json")
    assert (code, err.startswith("warning: CSINode: not listed: ")) == (0, True)
    _, _, err = ksched("schedule", "--state", "a.json")
    assert "warning: CSINode: not listed: " in err


def test_a_state_in_a_file_loads_nothing_of_the_client(write_state: WriteState) -> None:
    program = (
        f"import sys; sys.argv[1:] = ['schedule', '--state', {str(write_state(*OBJECTS))!r}]\n"
        "from ksched_cli.commands.main import main\n"
        "try:\n"
        "    main()\n"
        "except SystemExit as exit:\n"
        "    assert exit.code == 0\n"
        "assert not {'kubernetes', 'requests', 'ksched_cli.live.snapshot'} & set(sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert run.returncode == 0, run.stderr.decode()
