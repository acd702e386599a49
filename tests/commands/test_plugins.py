"""`ksched plugins`, --plugin and --debug."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.commands.runners import Ksched

ROOT = Path(__file__).parents[2]
TEMPLATE = ROOT / "plugins" / "template" / "packing.py"
STATE = ROOT / "examples" / "first-cluster" / "cluster.yaml"
CLUSTER: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "List",
    "items": [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}},
        *(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": name, "labels": {"app": name}},
                "spec": {"containers": [{"name": "c"}]},
            }
            for name in ("p", "q")
        ),
    ],
}


@pytest.fixture
def state(tmp_path: Path) -> Path:
    file = tmp_path / "state.json"
    node = CLUSTER["items"][0]
    node["status"] = {"allocatable": {"cpu": "4", "memory": "4Gi", "pods": "9"}}
    file.write_text(json.dumps(CLUSTER))
    return file


def failing(
    folder: Path, condition: str = "True", init: str = "pass", act: str = 'raise ValueError("odd")'
) -> Path:
    file = folder / "failing.py"
    file.write_text(
        f"""
from ksched_cli.api import SUCCESS, FilterPlugin

class Failing(FilterPlugin):
    name = "Failing"

    def __init__(self, args, handle):
        {init}

    def filter(self, state, pod, node):
        if {condition}:
            {act}
        return SUCCESS
"""
    )
    return file


def test_a_file_joins_the_list_and_the_default_profile(ksched: Ksched) -> None:
    listed = json.loads(ksched("plugins", "--plugin", TEMPLATE, "-o", "json")[1])
    (mine,) = [entry for entry in listed["plugins"] if entry["name"] == "Packing"]
    assert mine["extensionPoints"] == ["filter", "score"]
    shown = json.loads(ksched("config", "show", "--plugin", TEMPLATE, "-o", "json")[1])
    assert "Packing" in str(shown["profiles"])


def test_validate_checks_the_args_of_a_file(tmp_path: Path, ksched: Ksched) -> None:
    config = tmp_path / "config.yaml"
    text = (ROOT / "examples" / "packing" / "scheduler.yaml").read_text()
    config.write_text(text)
    assert ksched("validate", "--plugin", TEMPLATE, config)[0] == 0
    config.write_text(text.replace("20}", "much}"))
    code, out, _ = ksched("validate", "--plugin", TEMPLATE, config)
    assert code == 1
    assert "keepFreePercent" in out
    assert "Expected int, got str" in out


def test_a_file_that_cannot_be_read_is_a_wrong_question(tmp_path: Path, ksched: Ksched) -> None:
    file = tmp_path / "broken.py"
    file.write_text("import nothing_like_this\n")
    code, out, err = ksched("schedule", "--plugin", file, "--state", STATE)
    assert code == 2
    assert "ModuleNotFoundError: No module named 'nothing_like_this'" in err
    assert "broken.py" in err
    assert "Traceback" not in err
    code, out, _ = ksched("plugins", "--plugin", file)
    assert code == 0
    assert "ModuleNotFoundError" in out


def test_the_exit_code_is_3_where_a_plugin_decided_some_pods_by_failing(
    tmp_path: Path, state: Path, ksched: Ksched
) -> None:
    code, out, err = ksched("schedule", "--plugin", failing(tmp_path), "--state", state)
    assert code == 3
    message = "plugin Failing failed in filter: ValueError: odd (of default/p, default/q)"
    assert message in err
    assert "--debug prints the traceback" in err
    assert "Traceback" not in err
    some = failing(tmp_path, 'pod.name == "p"')
    code, out, err = ksched("schedule", "--plugin", some, "--state", state)
    assert code == 3
    assert "cannot be decided" in out
    assert "1 placed, 1 pending" in out


def test_debug_prints_the_traceback(tmp_path: Path, state: Path, ksched: Ksched) -> None:
    file = failing(tmp_path)
    _code, _, err = ksched("schedule", "--plugin", file, "--state", state, "--debug")
    assert f'File "{file}", line 12, in filter' in err


def test_debug_says_which_plugins_were_called(tmp_path: Path, state: Path, ksched: Ksched) -> None:
    _code, _, err = ksched("schedule", "--state", state, "--debug")
    assert "profile default-scheduler:\n  default/p and 1 more:\n" in err
    assert "\n    preFilter  called: NodeAffinity, NodePorts, " in err
    assert "\n    filter     skipped by PreFilter: NodeAffinity, NodePorts, " in err


def test_explain_says_what_failed(tmp_path: Path, state: Path, ksched: Ksched) -> None:
    _code, _, err = ksched("explain", "p", "--plugin", failing(tmp_path), "--state", state)
    assert "plugin Failing failed in filter: ValueError: odd (of default/p, default/q)" in err


def test_the_result_has_every_failure_with_its_pods(
    tmp_path: Path, state: Path, ksched: Ksched
) -> None:
    arguments = ("--plugin", failing(tmp_path), "--state", state, "-o", "json")
    result = json.loads(ksched("schedule", *arguments)[1])
    failure = {"plugin": "Failing", "point": "filter", "problem": "ValueError: odd"}
    assert result["defects"] == [{**failure, "pods": ["default/p", "default/q"]}]
    assert result["undecided"] == ["default/p", "default/q"]
    assert result["warnings"][-1].endswith("(of default/p, default/q)")


@pytest.mark.parametrize(
    ("act", "problem"),
    [
        ("while True: pass", "it took longer than 0.2 s"),
        ("raise SystemExit(0)", "SystemExit: 0"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("self.filter(state, pod, node)", "RecursionError: maximum recursion depth exceeded"),
        ("bytearray(1 << 62)", "MemoryError"),
    ],
)
def test_no_failure_ends_the_run_of_the_other_pods(
    act: str, problem: str, tmp_path: Path, state: Path, ksched: Ksched
) -> None:
    file = failing(tmp_path, 'pod.name == "p" and not print("noise")', act=act)
    arguments = ("--plugin", file, "--plugin-timeout", "0.2", "--state", state, "-o", "json")
    code, out, err = ksched("schedule", *arguments)
    result = json.loads(out)
    assert code == 3, err
    assert result["placements"] == {"default/q": "n"}
    (defect,) = result["defects"]
    assert defect["problem"].startswith(problem)
    assert "Traceback" not in err
    assert "noise" in err


def test_a_plugin_that_ends_the_process_when_it_is_imported_is_a_wrong_question(
    tmp_path: Path, state: Path
) -> None:
    file = tmp_path / "ending.py"
    file.write_text("raise SystemExit(0)")
    command = [sys.executable, "-m", "ksched_cli", "schedule"]
    command += ["--plugin", str(file), "--state", str(state)]
    result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert (result.returncode, result.stdout) == (2, "")
    assert f"--plugin {file}: SystemExit: 0" in result.stderr


def test_a_limit_that_is_none_is_refused(state: Path, ksched: Ksched) -> None:
    for text in ("0", "-1", "nan", "inf", "soon"):
        code, _, err = ksched("schedule", "--state", state, f"--plugin-timeout={text}")
        assert code == 2
        assert f'--plugin-timeout takes a number above 0; not "{text}"' in err


def test_a_plugin_that_cannot_be_made_is_a_defect(
    tmp_path: Path, state: Path, ksched: Ksched
) -> None:
    file = failing(tmp_path, init='raise KeyError("odd")')
    code, _, err = ksched("schedule", "--plugin", file, "--state", state)
    assert code == 3
    assert f"Failing ({file}) cannot be made: KeyError: 'odd'" in err
    assert "--debug prints the traceback" in err
    _, _, err = ksched("schedule", "--plugin", file, "--state", state, "--debug")
    assert f'File "{file}", line 8, in __init__' in err


def test_a_known_plugin_that_is_not_installed_has_a_hint(ksched: Ksched) -> None:
    code, out, _ = ksched("validate", ROOT / "examples" / "coscheduling" / "scheduler.yaml")
    assert code == 1
    text = " ".join(out.split())
    assert "Coscheduling is known but not installed" in text
    assert "pip install ./plugins/ksched-coscheduling" in text
