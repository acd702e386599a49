"""Failures become exit codes, and help loads nothing slow."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ksched_cli import __version__
from ksched_cli.commands import main as entry
from ksched_cli.errors import PluginDefectError, UsageError


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("validate", "/nowhere/config.yaml"), "there is no such file"),
        (("validate", "/"), "this is a folder"),
        (("validate",), "Missing argument"),
        (("validate", "/dev/null", "-o", "xml"), "'xml' is not one of"),
    ],
)
def test_a_question_that_cannot_be_asked_is_exit_code_2(ksched, args, message):
    code, out, err = ksched(*args)
    assert (code, out) == (2, "")
    assert message in err
    assert "Traceback" not in err


@pytest.mark.parametrize("args", [["--help"], ["validate", "/dev/null"], ["plugins"]])
def test_nothing_slow_is_loaded(args):
    script = (
        "import sys; sys.argv[1:] = " + repr(args) + "\n"
        "from ksched_cli.commands.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "assert not {'numpy', 'msgspec'} & set(sys.modules), set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)


def test_the_version_names_the_rules(ksched):
    code, out, _ = ksched("--version")
    assert (code, out) == (0, f"ksched {__version__}, decides as kube-scheduler v1.34.1\n")


@pytest.mark.parametrize(
    ("error", "code"),
    [(UsageError("not so"), 2), (PluginDefectError("not made", "traceback"), 3)],
)
def test_an_error_has_its_exit_code_and_one_line(ksched, monkeypatch, error, code):
    def fail():
        raise error

    monkeypatch.setattr(entry, "app", fail)
    assert ksched() == (code, "", f"error: {error}\n")


def test_a_defect_is_exit_code_3_with_its_traceback_in_a_file(ksched, monkeypatch, tmp_path):
    def fail():
        raise ZeroDivisionError("by nothing")

    monkeypatch.setattr(entry, "app", fail)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    code, out, err = ksched()
    assert (code, out) == (3, "")
    assert err.startswith("ksched has a defect: ZeroDivisionError: by nothing\n")
    assert "Traceback" not in err
    (file,) = tmp_path.glob("ksched-*.traceback.txt")
    assert str(file) in err
    assert "Traceback" in file.read_text()


@pytest.mark.parametrize("args", [["--version"], ["plugins", "-o", "json"]])
def test_a_reader_that_goes_away_gets_no_traceback(args):
    command = [sys.executable, "-m", "ksched_cli", *args]
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as closed:
        done = subprocess.run(
            command,
            stdout=closed,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            cwd=Path(__file__).parents[2],
        )
    assert done.stderr == ""
