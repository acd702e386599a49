"""Running commands in this process, and the files they read."""

import json
import sys

import pytest

from ksched_cli.commands.main import main


@pytest.fixture
def ksched(monkeypatch, capsys):
    """Exit code, standard output and standard error of a command line."""
    monkeypatch.delenv("KSCHED_CONFIG", raising=False)
    monkeypatch.delenv("KSCHED_STATE", raising=False)

    def run(*args):
        monkeypatch.setattr(sys, "argv", ["ksched", *map(str, args)])
        with pytest.raises(SystemExit) as exit:
            main()
        captured = capsys.readouterr()
        return exit.value.code, captured.out, captured.err

    return run


@pytest.fixture
def write_state(tmp_path):
    """The path of a state file with these objects."""

    def write(*objects):
        path = tmp_path / "cluster.json"
        path.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": objects}))
        return path

    return write


@pytest.fixture
def write_config(tmp_path):
    """The path of a configuration file with this text, or these bytes."""

    def write(text):
        path = tmp_path / "config.yaml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write
