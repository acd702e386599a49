"""The hooks of pre-commit and the action of GitHub call the command as it is. .ci/pipelines runs
the hooks with pre-commit itself."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from ksched_cli.commands.main import application

ROOT = Path(__file__).parent.parent
HOOKS: dict[str, Any] = {
    hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
}
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
GOOD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def run_hook(name: str, *files: str) -> tuple[int, str]:
    """Exit code and output of a hook's command for these files."""
    program, *args = shlex.split(HOOKS[name]["entry"])
    assert program == "ksched"
    given = HOOKS[name].get("args", []) if HOOKS[name].get("pass_filenames") is False else files
    result = CliRunner().invoke(application(), [*args, *given])
    return result.exit_code, result.output


def test_the_hook_for_configurations_passes_over_other_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("good.yaml").write_text(GOOD)
    Path("values.yaml").write_text("replicas: 3\n")
    Path("package.json").write_text("{}")
    Path("template.yaml").write_text("{{- if .Values.a }}\nkind: {{ .Values.kind }}\n")
    names = ("good.yaml", "values.yaml", "package.json", "template.yaml")
    assert run_hook("ksched-validate", *names)[0] == 0
    Path("bad.yaml").write_text(GOOD + "parallelism: 0\n")
    code, output = run_hook("ksched-validate", *names, "bad.yaml")
    assert code == 1
    assert "bad.yaml:3:1" in output


def test_the_hook_for_expectations_looks_below_the_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inner").mkdir()
    Path("inner/cluster.yaml").write_text("apiVersion: v1\nkind: Node\nmetadata: {name: node-1}\n")
    text = "apiVersion: ksched/v1\nkind: Expectations\nstate: cluster.yaml\nexpect: [{pending: %d}]"
    Path("inner/expectations.yaml").write_text(text % 0)
    assert run_hook("ksched-test")[0] == 0
    Path("inner/expectations.yaml").write_text(text % 1)
    assert run_hook("ksched-test")[0] == 1


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("validate -o github .", ["validate", "-o", "github", "."]),
        ("test 'a b' 'c*.yaml'", ["test", "a b", "c*.yaml"]),
        ("validate $(touch x); touch y", ["validate", "$(touch", "x);", "touch", "y"]),
    ],
)
def test_the_action_hands_its_arguments_to_the_command_and_to_no_shell(
    tmp_path: Path, text: str, arguments: list[str]
) -> None:
    program = tmp_path / "ksched"
    program.write_text(f"#!{sys.executable}\nimport sys\nprint(sys.argv[1:])\nsys.exit(2)\n")
    program.chmod(0o755)
    step = ACTION["runs"]["steps"][-1]
    assert step["shell"] == "python"
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "ARGS": text}
    run = subprocess.run(
        [sys.executable, "-c", step["run"]],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, run.stdout.strip()) == (2, str(arguments))
    assert [path.name for path in tmp_path.iterdir()] == ["ksched"]


def test_the_action_runs_as_it_stands_by_default() -> None:
    arguments = shlex.split(ACTION["inputs"]["args"]["default"])
    given = [*arguments[:-1], str(ROOT / "examples" / "what-if")]
    result = CliRunner().invoke(application(), given)
    assert result.exit_code == 0
