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
    code, out, err = ksched(*command, "--live", "-o", "json")
    ksched("snapshot", "a.json")
    assert (code, out) == ksched(*command, "--state", "a.json", "-o", "json")[:2]
    assert out
    assert err.startswith("reading context here of ")
    assert ksched(*command, "-o", "json") == (code, out, err)  # the cluster that kubectl names


def test_a_file_here_is_read_before_the_cluster_unless_a_context_is_named(
    ksched: Ksched, cluster: ApiServer
) -> None:
    ksched("snapshot", "cluster.json")
    assert ksched("schedule")[2].startswith("reading cluster.json")
    assert ksched("schedule", "--context", "here")[2].startswith("reading context here of ")


def test_a_cluster_that_does_not_answer_says_what_to_do(ksched: Ksched, cluster: ApiServer) -> None:
    cluster.close()
    code, out, err = ksched("schedule")
    assert (code, out) == (2, "")
    assert "--state FILE reads a file instead" in err


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
        (["--context", "a", "--state", "a"], "--context cannot be combined with --state"),
        (["--kubeconfig", "a", "--state", "a"], "--kubeconfig cannot be combined with --state"),
        (["--context", "a"], 'no context "a"; there are: here'),
        (["--live", "--context", "a"], 'no context "a"; there are: here'),
    ],
)
def test_options_of_live_clusters_are_refused_where_they_do_nothing(
    arguments: list[str], message: str, ksched: Ksched, cluster: ApiServer
) -> None:
    code, _, err = ksched("schedule", *arguments)
    assert (code, message in err) == (2, True)


GATED = pod(
    "gated",
    labels={"kueue.x-k8s.io/queue-name": "lq"},
    spec={"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]},
)
QUEUED = {
    "apiVersion": "kueue.x-k8s.io/v1beta1",
    "kind": "Workload",
    "metadata": {"name": "job-p", "namespace": "default"},
    "spec": {"queueName": "lq"},
    "status": {
        "conditions": [
            {"type": "QuotaReserved", "status": "False", "message": "insufficient quota for cpu"}
        ]
    },
}
KUEUE = "/apis/kueue.x-k8s.io/v1beta1"


def test_kueue_s_workload_is_read_of_a_live_cluster_and_nobody_misses_it(
    ksched: Ksched, cluster: ApiServer
) -> None:
    cluster.objects += [GATED, QUEUED]
    without = ksched("explain", "gated", "--live")
    assert "queue lq" not in without[1]
    cluster.served["kueue.x-k8s.io/v1beta1"] = {"Workload": ("workloads", True)}
    _, out, err = ksched("explain", "gated", "--live")
    text = "its Workload default/job-p waits in queue lq: insufficient quota for cpu"
    assert text in " ".join(out.split())
    assert err == without[2]
    cluster.faults.refused = {
        f"{KUEUE}/workloads": 403,
        f"{KUEUE}/namespaces/default/workloads": 403,
    }
    refused = ksched("explain", "gated", "--live")
    assert refused[1] == without[1]
    assert "Workload" not in refused[2]
