"""Running commands in this process, and the files they read."""

import json
import sys
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

from ksched_cli.commands import main as entry
from ksched_cli.commands import output
from ksched_cli.kube.streams import LIMIT, MAX_SIZE
from tests.commands.runners import ExitCode, Ksched, WriteConfig, WriteState

APPLICATION = entry.application


@cache
def built(names: tuple[str, ...]) -> Any:
    """The command line, which is built once."""
    return typer.main.get_command(APPLICATION(names))


@pytest.fixture(autouse=True)
def _settings_of_a_new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the command of another test has set does not last, and no cluster is there."""
    monkeypatch.setenv("KUBECONFIG", "/nowhere/kubeconfig")
    for field in fields(output.OutputSettings):
        setattr(output.SETTINGS, field.name, field.default)


@pytest.fixture
def exit_code(monkeypatch: pytest.MonkeyPatch) -> ExitCode:
    """The exit code of a command line."""
    monkeypatch.delenv("KSCHED_CONFIG", raising=False)
    monkeypatch.delenv("KSCHED_STATE", raising=False)
    monkeypatch.setattr(LIMIT, "size", MAX_SIZE)
    monkeypatch.setattr(entry, "application", lambda names: built(tuple(names)))

    def run(*args: Path | int | str) -> int:
        monkeypatch.setattr(sys, "argv", ["ksched", *map(str, args)])
        with pytest.raises(SystemExit) as exit:
            entry.main()
        assert isinstance(exit.value.code, int)
        return exit.value.code

    return run


@pytest.fixture
def ksched(exit_code: ExitCode, capsys: pytest.CaptureFixture[str]) -> Ksched:
    """Exit code, standard output and standard error of a command line."""

    def ksched(*args: Path | int | str) -> tuple[int, str, str]:
        code = exit_code(*args)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return ksched


@pytest.fixture
def write_state(tmp_path: Path) -> WriteState:
    """The path of a state file with these objects."""

    def write(*objects: dict[str, Any]) -> Path:
        path = tmp_path / "cluster.json"
        path.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": objects}))
        return path

    return write


@pytest.fixture
def write_config(tmp_path: Path) -> WriteConfig:
    """The path of a configuration file with this text, or these bytes."""

    def write(text: bytes | str) -> Path:
        path = tmp_path / "config.yaml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write
