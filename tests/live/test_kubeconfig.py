"""Which kubeconfig and context, and what is wrong with them."""

import os
import sys
from pathlib import Path

import pytest
import trustme

from ksched_cli.live import client
from ksched_cli.live.client import KubeconfigError, MissingClientError, connect
from tests.live.fake_api_server import write_kubeconfig
from tests.live.fixtures import Connect, Serve


@pytest.fixture(autouse=True)
def nothing_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
        monkeypatch.delenv(name, raising=False)


def test_the_option_goes_before_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = write_kubeconfig(tmp_path / "a", "http://127.0.0.1:1")
    monkeypatch.setenv("KUBECONFIG", str(write_kubeconfig(tmp_path / "b", "http://127.0.0.1:2")))
    assert connect(kubeconfig=str(given)).url == "http://127.0.0.1:1"
    assert connect().url == "http://127.0.0.1:2"


def test_without_either_it_is_the_users_own(tmp_path: Path) -> None:
    (tmp_path / "home/.kube").mkdir(parents=True)
    write_kubeconfig(tmp_path / "home/.kube/config", "http://127.0.0.1:3")
    assert connect().url == "http://127.0.0.1:3"


def test_the_variable_may_name_several_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [write_kubeconfig(tmp_path / "a", "http://127.0.0.1:1"), tmp_path / "missing"]
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(map(str, files)))
    assert connect(context="here").url == "http://127.0.0.1:1"


def test_the_namespace_is_that_of_the_context(serve: Serve, connected: Connect) -> None:
    assert connected(serve()).identity.namespace == "default"
    assert connected(serve(), namespace="web").identity.namespace == "web"


@pytest.mark.parametrize(
    ("text", "context", "problem"),
    [
        (None, "", "there is no such kubeconfig"),
        ("", "", "not a kubeconfig"),
        ("a: [", "", "not a kubeconfig"),
        ("3", "", "not a kubeconfig"),
        ("contexts: []", "", "no current-context; --context names one of: none"),
        ("contexts: [{name: a, context: {cluster: c}}]", "b", 'no context "b"; there are: a'),
        (
            "contexts: [{name: a, context: {cluster: c}}]",
            "a",
            "context a cannot be used: .*Expected object with name c",
        ),
    ],
)
def test_what_is_wrong_is_one_message_with_the_file(
    tmp_path: Path, text: str | None, context: str, problem: str
) -> None:
    path = tmp_path / "kubeconfig"
    if text is not None:
        path.write_text(text)
    with pytest.raises(KubeconfigError, match=problem) as error:
        connect(str(path), context)
    assert str(error.value).startswith(f"{path}: ")
    assert "\n" not in str(error.value)


def test_without_any_and_outside_of_clusters_there_is_nothing_to_read() -> None:
    with pytest.raises(KubeconfigError, match="no cluster to read: --kubeconfig is not given"):
        connect()
    with pytest.raises(KubeconfigError, match='no context "a": --kubeconfig is not given'):
        connect(context="a")


def test_a_plugin_for_credentials_is_run(tmp_path: Path, serve: Serve, connected: Connect) -> None:
    script = tmp_path / "plugin.py"
    script.write_text(
        'import json; print(json.dumps({"kind": "ExecCredential", "status": {"token": "t1"},'
        ' "apiVersion": "client.authentication.k8s.io/v1"}))'
    )
    server = serve()
    server.faults.token = "t1"
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": sys.executable,
        "args": [str(script)],
    }
    assert connected(server, user={"exec": plugin}).get("/version")
    script.write_text("import sys; print('please log in', file=sys.stderr); sys.exit(3)")
    with pytest.raises(KubeconfigError, match=r"context here cannot be used: .*please log in"):
        connected(server, user={"exec": plugin})


@pytest.mark.parametrize("kind", ["exec", "auth-provider"])
def test_a_program_for_credentials_must_end_in_time(
    kind: str, serve: Serve, connected: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "PROGRAM_SECONDS", 0.1)
    arguments = "-c __import__('time').sleep(30)"
    users = {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": sys.executable,
            "args": arguments.split(),
        },
        "auth-provider": {
            "name": "gcp",
            "config": {"cmd-path": sys.executable, "cmd-args": arguments},
        },
    }
    with pytest.raises(KubeconfigError, match=r"took longer than 0\.1 s, and was ended"):
        connected(serve(), user={kind: users[kind]})


def test_in_a_cluster_it_is_the_service_account(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kubernetes.config import incluster_config

    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "6443")
    authority = trustme.CA().cert_pem.bytes().decode()
    for name, text in (("token", "t1"), ("ca.crt", authority), ("namespace", "web\n")):
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(tmp_path / "token"))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(tmp_path / "ca.crt"))
    server = connect()
    assert (server.url, server.identity.namespace) == ("https://127.0.0.1:6443", "web")


def test_without_the_client_the_message_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "kubernetes", None)
    monkeypatch.setitem(sys.modules, "kubernetes.config", None)
    with pytest.raises(MissingClientError, match=r"pip install '\.\[live\]'"):
        connect()
