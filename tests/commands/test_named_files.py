"""Files that a configuration or a kubeconfig names: opened when they are needed, if they are
regular files, and never where no extender is called."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from ksched_cli.kube import small_files
from ksched_cli.testing import node, pod
from tests.commands.runners import Ksched, WriteConfig, WriteState
from tests.live.fake_api_server import ApiServer, write_kubeconfig


@pytest.fixture(autouse=True)
def in_time() -> Iterator[None]:
    """Whoever waits for a pipe gets an error after a while."""

    def fail(*_: object) -> None:
        raise AssertionError("a pipe was waited for")

    before = signal.signal(signal.SIGALRM, fail)
    signal.setitimer(signal.ITIMER_REAL, 20)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def configured(key: str, path: str) -> str:
    other = {"certFile": f", keyFile: {path}", "keyFile": f", certFile: {path}"}.get(key, "")
    return (
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "extenders:\n- urlPrefix: https://127.0.0.1:1\n  filterVerb: filter\n"
        f'  tlsConfig: {{{key}: "{path}"{other}}}\n'
    )


@pytest.mark.parametrize("key", ["caFile", "certFile", "keyFile"])
def test_a_pipe_is_not_waited_for(
    key: str, tmp_path: Path, ksched: Ksched, write_state: WriteState, write_config: WriteConfig
) -> None:
    os.mkfifo(tmp_path / "pipe")
    config = write_config(configured(key, str(tmp_path / "pipe")))
    state = write_state(node("a"), pod("p"))
    code, out, _ = ksched("validate", config)
    assert (code, "is not a regular file on this machine" in " ".join(out.split())) == (0, True)
    code, out, _ = ksched("validate", "--no-extenders", config)
    assert (code, "tlsConfig" in out) == (0, False)
    assert ksched("config", "show", config)[0] == 0
    command = ("schedule", "--state", state, "--config", config)
    assert ksched(*command, "--no-extenders")[0] == 0
    code, _, err = ksched(*command)
    assert (code, f"{tmp_path}/pipe is not a regular file" in err) == (2, True)


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("/dev/zero", "/dev/zero is not a regular file"),
        ("large.pem", "large.pem is larger than 0 MiB"),
        ("nul\\0.pem", "invalid argument"),
    ],
)
def test_what_has_no_end_or_no_path_is_one_message(
    path: str,
    problem: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    ksched: Ksched,
    write_state: WriteState,
    write_config: WriteConfig,
) -> None:
    monkeypatch.setattr(small_files, "MAX_BYTES", 10)
    monkeypatch.chdir(tmp_path)
    Path("large.pem").write_text("x" * 11)
    config = write_config(configured("caFile", path))
    state = write_state(node("a"), pod("p"))
    code, _, err = ksched("schedule", "--state", state, "--config", config)
    assert (code, problem in err) == (2, True), err


def test_a_pipe_in_a_folder_is_no_file_of_it(tmp_path: Path, ksched: Ksched) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "good.yaml").write_text(configured("caFile", "ca.pem"))
    assert ksched("validate", tmp_path)[0] == 0
    code, _, err = ksched("test", "--", tmp_path)
    assert (code, "no file of kind Expectations" in err) == (2, True)


def test_a_kubeconfig_s_token_is_a_regular_file(tmp_path: Path, ksched: Ksched) -> None:
    server = ApiServer([node("a")])
    os.mkfifo(tmp_path / "token")
    kubeconfig = write_kubeconfig(tmp_path / "config", server.url, user={"tokenFile": "token"})
    code, _, err = ksched("snapshot", "-", "--kubeconfig", kubeconfig)
    server.close()
    assert (code, f"{tmp_path}/token is not a regular file" in err) == (2, True), err
