"""The examples run as they stand: the commands in their first lines."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from typer.testing import CliRunner

from ksched_cli.commands.main import application
from ksched_cli.kube.documents import load_documents
from tests.test_readme import TRANSCRIPTS

ROOT = Path(__file__).parent.parent
COMMAND = re.compile(r"^# +ksched (?P<command>.+)$", re.M)
# Those need another distribution, or a server that somebody has started.
ALONE = (
    "first-cluster",
    "gpu-partition",
    "preemption",
    "volumes",
    "dra",
    "what-if",
    "sweep",
    "replay",
)
COMMANDS = [
    match["command"]
    for name in ALONE
    for path in sorted((ROOT / "examples" / name).glob("*.yaml"))
    for match in COMMAND.finditer(path.read_text(encoding="utf-8"))
]


# Transcripts are compared with what their commands print; expectations are tested together below;
# one tune is enough.
SHOWN = {command for _, command, _ in TRANSCRIPTS}
SLOW = {"tune examples/sweep/waits.yaml"}


@pytest.mark.usefixtures("runs_here")
@pytest.mark.parametrize(
    "command",
    [
        pytest.param(command, marks=[pytest.mark.slow] * (command in SLOW))
        for command in COMMANDS
        if command not in SHOWN and not command.startswith("test ")
    ],
)
def test_a_command_of_an_example_runs(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if command.startswith("tune "):
        pytest.importorskip("optuna", reason="the extra tune is not installed")
    monkeypatch.chdir(ROOT)
    arguments = shlex.split(command)
    shown = CliRunner().invoke(application(arguments[:1]), arguments)
    assert shown.exit_code in (0, 1), shown.stderr
    assert shown.stdout


def test_every_example_has_commands() -> None:
    named = [re.search(r"\bexamples/([\w-]+)/", command) for command in COMMANDS]
    directories = {match[1] for match in named if match}
    assert directories == set(ALONE)


def test_the_partition_keeps_its_kinds_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    import json

    monkeypatch.chdir(ROOT)
    state = "examples/gpu-partition/cluster.yaml"
    shown = CliRunner().invoke(
        application(["schedule"]), ["schedule", "--state", state, "-o", "json"]
    )
    placements = json.loads(shown.stdout)["placements"]
    assert len(placements) == 21
    for pod, node in placements.items():
        assert node.startswith("gpu-" if "train" in pod else "cpu-")


def test_the_expectations_of_the_examples_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    shown = CliRunner().invoke(application(["test"]), ["test", "examples"])
    assert shown.exit_code == 0, shown.stdout
    assert "All of 14 expectations hold" in shown.stdout


MODELINE = re.compile(r"^# yaml-language-server: \$schema=(?P<path>\S+)$", re.M)
WITH_SCHEMA = [
    pytest.param(path, match["path"], id=str(path.relative_to(ROOT / "examples")))
    for path in sorted((ROOT / "examples").glob("*/*.yaml"))
    for match in MODELINE.finditer(path.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize(("path", "schema"), WITH_SCHEMA)
def test_an_editor_finds_the_schema_of_an_example_and_nothing_wrong(
    path: Path, schema: str
) -> None:
    validator = Draft202012Validator(json.loads((path.parent / schema).read_text("utf-8")))
    for document in load_documents(path.read_text(encoding="utf-8"), str(path)):
        # YAML 1.1 takes the key `on` for true; editors do not.
        validator.validate(json.loads(json.dumps(document).replace('"true":', '"on":')))


def test_examples_name_their_schemas() -> None:
    assert len(WITH_SCHEMA) >= 18
