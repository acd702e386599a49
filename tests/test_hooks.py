"""The hooks of pre-commit and the action of GitHub call the command as it is. .ci/pipelines runs
the hooks with pre-commit itself."""

from __future__ import annotations

import ast
import os
import re
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


# Code that a file name must not import.
EVIL = "open('imported', 'w')\n"
# As whoever opens a pull request may call files.
NAMES = ("--plugin=evil:x.yaml", "--config=evil.yaml", "--trace=a.yaml", "-o", "--", "-h.yaml")


def command_of(name: str, *files: str) -> list[str]:
    """What pre-commit calls: the entry, args, names of files."""
    hook = HOOKS[name]
    names = files if hook.get("pass_filenames", True) else ()
    return [*shlex.split(hook["entry"]), *hook.get("args", []), *names]


def run_hook(name: str, *files: str) -> tuple[int, str]:
    """Exit code and output of a hook's command for these files."""
    program, *args = command_of(name, *files)
    assert program == "ksched"
    result = CliRunner().invoke(application(args[:1]), args)
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


def test_the_name_of_a_file_is_no_option_of_a_hook(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    Path("evil.py").write_text(EVIL)
    for name in NAMES:
        Path(name).write_text(GOOD)
    code, output = run_hook("ksched-validate", *NAMES)
    assert (code, Path("imported").exists()) == (0, False), output
    Path(NAMES[0]).write_text(GOOD + "parallelism: 0\n")
    code, output = run_hook("ksched-validate", *NAMES)
    assert code == 1
    assert f"{NAMES[0]}:3:1" in output


def commands() -> dict[str, list[str]]:
    """Where ksched is called with names: each command and its arguments, without the program."""
    texts = {f"hook {name}": shlex.join(command_of(name, "a.yaml")) for name in HOOKS}
    texts["action.yml"] = f"ksched {ACTION['inputs']['args']['default']}"
    for path in (
        *(ROOT / ".github" / "workflows").iterdir(),
        *(ROOT / "examples" / "pull-request").iterdir(),
        ROOT / ".ci" / "pipelines",
        ROOT / "docs" / "pipelines.md",
    ):
        begin = r"(?:\bksched|args:) "
        calls = re.findall(
            rf"{begin}((?:validate|test|config (?:diff|migrate)) [^\n|>`#]+)", path.read_text()
        )
        texts |= {f"{path.name}: {call.strip()}": f"ksched {call}" for call in calls}
    return {place: shlex.split(text)[1:] for place, text in texts.items()}


def test_options_end_before_names_wherever_ksched_is_called() -> None:
    calls = commands()
    assert len(calls) > 10, calls
    for place, arguments in calls.items():
        if arguments[-1] == "-" or "--explain" in arguments:
            continue
        assert "--" in arguments, place
        options = arguments[2 if arguments[0] == "config" else 1 : arguments.index("--")]
        shown = re.sub(
            r"(-o|--kubernetes-version|--fail-on|--ignore|--extend-select) \S+",
            "",
            " ".join(options),
        )
        assert all(option.startswith("-") for option in shown.split()), place


def run_action(folder: Path, **inputs: str) -> tuple[int, list[str]]:
    """Exit code and arguments of the program that the action calls."""
    program = folder / "ksched"
    program.write_text(f"#!{sys.executable}\nimport sys\nprint(sys.argv[1:])\nsys.exit(2)\n")
    program.chmod(0o755)
    step = ACTION["runs"]["steps"][-1]
    assert step["shell"] == "python"
    values = {
        variable: inputs.get(text[len("${{ inputs.") : -len(" }}")].replace("-", "_"), "")
        for variable, text in step["env"].items()
    }
    run = subprocess.run(
        [sys.executable, "-c", step["run"]],
        cwd=folder,
        env={
            **os.environ,
            "PATH": f"{folder}:{os.environ['PATH']}",
            "GITHUB_STEP_SUMMARY": str(folder / "summary"),
            **values,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert {path.name for path in folder.iterdir()} <= {"ksched", "summary"}, run.stderr
    summary = folder / "summary"
    printed = summary.read_text() if summary.exists() else run.stdout
    arguments: list[str] = ast.literal_eval(printed)
    return run.returncode, arguments


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
    assert run_action(tmp_path, args=text) == (2, arguments)


@pytest.mark.parametrize("text", ["validate -o github", "validate -o github -- a"])
def test_the_names_of_files_are_no_options_of_the_action(tmp_path: Path, text: str) -> None:
    _, arguments = run_action(tmp_path, args=text, files="\n".join(NAMES) + "\n")
    assert arguments[arguments.index("--") :] == [*(shlex.split(text)[3:] or ["--"]), *NAMES]


def test_the_action_refuses_code_and_calls_where_its_inputs_say_so(tmp_path: Path) -> None:
    flags = {"no_plugins": "true", "no_extenders": "true"}
    expected = ["sweep", "--no-plugins", "--no-extenders", "--", "a"]
    assert run_action(tmp_path, args="sweep -- a", **flags)[1] == expected
    expected = ["test", "a", "--no-plugins", "--no-extenders"]
    assert run_action(tmp_path, args="test a", **flags)[1] == expected
    expected = ["timeline", "from-dump", "a"]
    assert run_action(tmp_path, args="timeline from-dump a", **flags)[1] == expected
    off = {"no_plugins": "false", "no_extenders": ""}
    assert run_action(tmp_path, args="test a", **off)[1] == ["test", "a"]


def test_the_action_prints_to_the_summary_of_a_job(tmp_path: Path) -> None:
    assert run_action(tmp_path, args="config diff a b", summary="true") == (
        2,
        ["config", "diff", "a", "b"],
    )
    assert (tmp_path / "summary").exists()


def test_the_action_trusts_no_fork_and_calls_nobody_by_default() -> None:
    """An expression of GitHub's: it is null, and so no text, where no pull request is."""
    assert ACTION["inputs"]["no-extenders"]["default"] == "true"
    fork = "github.event.pull_request.head.repo.fork"
    assert ACTION["inputs"]["no-plugins"]["default"] == (
        f"${{{{ github.event.pull_request && toJSON({fork}) != 'false' }}}}"
    )


def test_the_action_runs_as_it_stands_by_default() -> None:
    arguments = shlex.split(ACTION["inputs"]["args"]["default"])
    given = [*arguments[:-1], str(ROOT / "examples" / "what-if")]
    result = CliRunner().invoke(application(given[:1]), given)
    assert result.exit_code == 0


def test_the_hook_for_expectations_runs_no_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("evil.py").write_text(EVIL)
    Path("cluster.yaml").write_text("apiVersion: v1\nkind: Node\nmetadata: {name: node-1}\n")
    text = "apiVersion: ksched/v1\nkind: Expectations\nstate: cluster.yaml\nplugins: [evil.py]\n"
    Path("expectations.yaml").write_text(text + "expect: [{pending: 0}]\n")
    result = CliRunner().invoke(application(["test"]), command_of("ksched-test")[1:])
    assert result.exit_code != 0
    assert not Path("imported").exists()


def test_the_hook_for_expectations_is_told_to_call_no_extender() -> None:
    assert "--no-extenders" in command_of("ksched-test")
