"""`--live` in all commands that take a state."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ksched_cli.testing import node, pod
from tests.commands.runners import Ksched
from tests.live.fake_api_server import ApiServer, write_kubeconfig

OBJECTS = (node("n"), pod("p", namespace="web"))


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiServer]:
    """A cluster that the kubeconfig names; it ends with the test."""
    server = ApiServer(OBJECTS)
    monkeypatch.setenv("KUBECONFIG", str(write_kubeconfig(tmp_path / "kubeconfig", server.url)))
    monkeypatch.chdir(tmp_path)
    yield server
    server.close()


@pytest.mark.parametrize(
    "command", [["schedule"], ["explain", "p"], ["drift"], ["capacity", "p"], ["shrink"]]
)
def test_every_command_about_a_state_answers_of_a_live_cluster(
    command: list[str], ksched: Ksched, cluster: ApiServer
) -> None:
    live = ksched(*command, "--live", "-o", "json")
    ksched("snapshot", "a.json")
    assert live == ksched(*command, "--state", "a.json", "-o", "json")
    assert live[1]


@pytest.mark.parametrize(
    ("version", "line"),
    [
        ("v1.36.9", "Kubernetes 1.36.4 (the cluster's API server is v1.36.9)"),
        ("v1.36.1+k3s1", "Kubernetes 1.36.1 (the cluster's API server is v1.36.1+k3s1)"),
        ("v1.35.3-gke.100", "Kubernetes 1.35.3 (the cluster's API server is v1.35.3-gke.100)"),
        ("what", "Kubernetes 1.37.2 (the newest that ksched knows)"),
    ],
)
def test_a_live_cluster_is_decided_as_the_newest_known_release_up_to_its_own(
    version: str, line: str, ksched: Ksched, cluster: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KSCHED_KUBERNETES_VERSION")
    cluster.version = version
    code, _, err = ksched("schedule", "--live")
    assert code == 0
    assert [each for each in err.splitlines() if "Kubernetes" in each] == [line]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--live", "--state", "a"], "--live cannot be combined with --state"),
        (["--context", "a"], "--context has no effect without --live"),
        (["--kubeconfig", "a"], "--kubeconfig has no effect without --live"),
        (["--live", "--context", "a"], 'no context "a"; there are: here'),
    ],
)
def test_options_of_live_clusters_are_refused_where_they_do_nothing(
    arguments: list[str], message: str, ksched: Ksched, cluster: ApiServer
) -> None:
    code, _, err = ksched("schedule", *arguments)
    assert (code, message in err) == (2, True)
