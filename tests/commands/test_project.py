"""Commands under a project file; test_validate.py has what it says of rules."""

import json
from pathlib import Path

import pytest

from ksched_cli.testing import node, pod
from tests.commands.runners import Ksched, WriteState

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
EXPECTATIONS = "apiVersion: ksched/v1\nkind: Expectations\nstate: cluster.json\n"
PLUGIN = "ran = open('ran', 'w')\nclass Mine: pass\n"


@pytest.fixture(autouse=True)
def chosen_by_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KSCHED_KUBERNETES_VERSION")


def project(folder: Path, text: str) -> None:
    (folder / ".ksched.yaml").write_text(text)


def test_a_configuration_is_read_with_its_version_and_allowed_plugins(
    ksched: Ksched, tmp_path: Path
) -> None:
    project(tmp_path, "kubernetesVersion: '1.35'\nallowPlugins: [Mine=score]\n")
    path = tmp_path / "c.yaml"
    path.write_text(HEAD + "profiles: [{plugins: {score: {enabled: [{name: Mine}]}}}]\n")
    for command in (("show", path), ("diff", path, path)):
        code, out, err = ksched("config", *command, "-o", "json")
        assert (code, json.loads(out)["kubernetesVersion"][:5], err) == (0, "v1.35", "")
    _, out, _ = ksched("config", "show", "--kubernetes-version", "1.34", "-o", "json", path)
    assert json.loads(out)["kubernetesVersion"].startswith("v1.34")


@pytest.mark.parametrize(
    ("stated", "option", "minor"),
    [("", [], "v1.35"), ("1.36", [], "v1.36"), ("1.36", ["--kubernetes-version", "1.34"], "v1.34")],
)
def test_expectations_state_their_version_before_the_project_file(
    ksched: Ksched,
    write_state: WriteState,
    tmp_path: Path,
    stated: str,
    option: list[str],
    minor: str,
) -> None:
    project(tmp_path, "kubernetesVersion: '1.35'\n")
    write_state(node("a"), pod("p"))
    path = tmp_path / "e.yaml"
    version = f"kubernetesVersion: '{stated}'\n" if stated else ""
    path.write_text(f"{EXPECTATIONS}{version}expect: [{{pending: 0}}]\n")
    code, out, _ = ksched("test", *option, path, "-o", "json")
    (case,) = json.loads(out)["cases"]
    assert (code, case["kubernetesVersion"][:5]) == (0, minor)


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("test", EXPECTATIONS + "plugins: mine.py\nexpect: [{pending: 0}]\n"),
        ("sweep", "apiVersion: ksched/v1\nkind: Sweep\nstates: cluster.json\nplugins: [mine.py]\n"),
    ],
)
def test_no_plugin_that_a_file_names_is_imported(
    ksched: Ksched,
    write_state: WriteState,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    text: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    project(tmp_path, "noPlugins: true\n")
    write_state(node("a"), pod("p"))
    (tmp_path / "mine.py").write_text(PLUGIN)
    (tmp_path / "file.yaml").write_text(text)
    code, out, err = ksched(command, "file.yaml")
    assert (code, out, "(noPlugins of .ksched.yaml)" in err) == (2, "", True)
    assert not (tmp_path / "ran").exists()
