"""`ksched test` from the command line."""

import json
import shlex
from pathlib import Path

import pytest

from ksched_cli.commands import session
from ksched_cli.testing import node, pod
from tests.commands.runners import Ksched, WriteState
from tests.report.schemas import conforms

HEAD = "apiVersion: ksched/v1\nkind: Expectations\nstate: cluster.json\n"
HOLDS = HEAD + "expect:\n- {pod: web, on: a}\n- {pending: 0}\n"
FAILS = HEAD + "changes: [cordon a]\nexpect: [{name: web on a, pod: web, on: a}]\n"


@pytest.fixture
def folder(write_state: WriteState, tmp_path: Path) -> Path:
    write_state(node("a"), node("b"), pod("web"))
    (tmp_path / "holds.yaml").write_text(HOLDS)
    (tmp_path / "fails.yaml").write_text(FAILS)
    (tmp_path / "other.yaml").write_text("a: b\n")
    return tmp_path


def test_the_exit_code_says_whether_all_hold(ksched: Ksched, folder: Path) -> None:
    assert ksched("test", folder / "holds.yaml")[0] == 0
    assert ksched("test", folder / "fails.yaml")[0] == 1
    assert ksched("test", folder / "other.yaml")[0] == 2


def test_a_folder_is_looked_through(ksched: Ksched, folder: Path) -> None:
    code, out, _ = ksched("test", folder, "-o", "json")
    result = conforms(json.loads(out), "test_result")
    passed = [(Path(case["file"]).stem, case["passed"]) for case in result["cases"]]
    assert code == 1
    assert passed == [("fails", False), ("holds", True), ("holds", True)]


def test_the_command_of_a_failed_case_explains_it(ksched: Ksched, folder: Path) -> None:
    _, out, _ = ksched("test", folder / "fails.yaml", "-o", "json")
    (case,) = json.loads(out)["cases"]
    assert case["message"] == "expected web on a; default/web is on b"
    command = shlex.split(case["command"])
    assert command[:3] == ["ksched", "explain", "default/web"]
    code, out, err = ksched(*command[1:])
    assert (code, err) == (0, "")
    assert "unschedulable" in out


def test_cases_of_the_same_run_share_it(
    ksched: Ksched, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = []
    opened = session.open_simulation

    def counting(*args: object, **kwargs: object) -> object:
        runs.append(args)
        return opened(*args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(session, "open_simulation", counting)
    (folder / "more.yaml").write_text(HOLDS)
    assert ksched("test", folder / "holds.yaml", folder / "more.yaml")[0] == 0
    assert len(runs) == 1


def test_junit(ksched: Ksched, folder: Path) -> None:
    code, out, _ = ksched("test", folder / "fails.yaml", "-o", "junit")
    assert code == 1
    assert '<testcase name="web on a"' in out
    assert "ksched explain default/web" in out


def test_a_file_names_the_release_unless_the_command_line_does(
    ksched: Ksched, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KSCHED_KUBERNETES_VERSION")
    path = folder / "v.yaml"
    path.write_text(HOLDS + "kubernetesVersion: '1.35'\n")
    for options, minor in (((), "v1.35"), (("--kubernetes-version", "1.36"), "v1.36")):
        _, out, _ = ksched("test", path, "-o", "json", *options)
        assert json.loads(out)["cases"][0]["kubernetesVersion"].startswith(minor)


def test_no_file_of_the_kind_is_an_error(ksched: Ksched, tmp_path: Path) -> None:
    code, _, err = ksched("test", tmp_path)
    assert (code, err) == (2, f"error: no file of kind Expectations in {tmp_path}\n")
