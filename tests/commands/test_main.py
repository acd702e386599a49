"""Failures become exit codes, and help loads nothing slow."""

import json
import os
import platform
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path
from typing import TextIO

import pytest

from ksched_cli import __version__
from ksched_cli.commands import main as entry
from ksched_cli.engine.pod_group_cycle import PodGroupCycle
from ksched_cli.engine.pod_group_entity_cycle import PodGroupEntityCycle
from ksched_cli.errors import PluginDefectError, UsageError
from ksched_cli.kube.versions import MINORS
from ksched_cli.run.open import Opener
from ksched_cli.testing import node, pod
from tests.commands.runners import Ksched, WriteState


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("validate", "/nowhere/config.yaml"), "there is no such file"),
        (("validate",), "CONFIG... is missing: ksched validate CONFIG..."),
        (("validate", "/dev/null", "-o", "xml"), "takes one of table, json"),
    ],
)
def test_a_question_that_cannot_be_asked_is_exit_code_2(
    ksched: Ksched, args: tuple[str, ...], message: str
) -> None:
    code, out, err = ksched(*args)
    assert (code, out) == (2, "")
    assert message in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("args", "others"),
    [(["drift", "--help"], []), (["--help"], ["audit", "config"]), (["drit"], ["audit", "config"])],
)
def test_only_the_module_of_the_command_that_is_named_is_imported(
    args: list[str], others: list[str]
) -> None:
    script = (
        "import sys; sys.argv[1:] = " + repr(args) + "\n"
        "from ksched_cli.commands.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "names = [n for n in ('audit', 'config') if 'ksched_cli.commands.' + n in sys.modules]\n"
        f"assert names == {others!r}, names\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)


@pytest.mark.parametrize(
    ("args", "slow"),
    [
        (["--help"], {"numpy", "msgspec"}),
        (["validate", "/dev/null"], {"numpy"}),
        (["plugins"], {"numpy"}),
        (
            # Options are read without pydantic; no selector of devices needs its language; no
            # extender is called, and no API server is read.
            [
                "explain",
                "web-2",
                "--state",
                "examples/first-cluster",
                "--alone",
                "-o",
                "json",
                "--kubernetes-version",
                "1.37",
            ],
            {
                *("pydantic", "starlette", "uvicorn", "mcp", "urllib3", "ksched_cli.cel"),
                *("kubernetes", "requests", "ksched_cli.live.snapshot"),
            },
        ),
        (["serve", "--help"], {"starlette", "uvicorn", "mcp", "numpy"}),
    ],
)
def test_nothing_slow_is_loaded(args: list[str], slow: set[str]) -> None:
    script = (
        "from importlib import metadata; metadata.entry_points = lambda group: ()\n"
        "import sys; sys.argv[1:] = " + repr(args) + "\n"
        "from ksched_cli.commands.main import main\n"
        "try: main()\n"
        "except SystemExit as exit: assert exit.code in (0, 1)\n"
        f"assert not {slow} & set(sys.modules), set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)


@pytest.mark.parametrize(
    ("argument", "name"),
    [
        ("/usr/bin/ksched", "ksched"),
        ("/usr/bin/kubectl-ksched", "kubectl ksched"),
        ("/lib/ksched_cli/__main__.py", "ksched"),
        ("/lib/pytest/__main__.py", "ksched"),
    ],
)
def test_usage_names_the_program_whoever_started_python(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], argument: str, name: str
) -> None:
    monkeypatch.setattr(sys, "argv", [argument])
    with pytest.raises(SystemExit):
        entry.main()
    assert capsys.readouterr().err.startswith(f"Usage: {name} [OPTIONS]")


def test_the_version_names_the_rules(ksched: Ksched) -> None:
    code, out, _ = ksched("--version")
    assert (code, out) == (
        0,
        f"ksched {__version__}, decides as kube-scheduler {', '.join(MINORS[:-1])} "
        f"or {MINORS[-1]}\n",
    )


@pytest.mark.parametrize("options", [("--version", "--verbose"), ("--verbose", "--version")])
def test_the_verbose_version_has_what_a_report_needs(ksched: Ksched, options: list[str]) -> None:
    code, out, _ = ksched(*options)
    first, python, *distributions = out.splitlines()
    assert (code, first) == (0, ksched("--version")[1].rstrip())
    assert python.startswith(f"CPython {platform.python_version()}, {platform.platform()}")
    assert f"numpy {metadata.version('numpy')}" in distributions
    assert f"kubernetes {metadata.version('kubernetes')}" in distributions


def test_verbose_alone_says_what_it_requires(ksched: Ksched) -> None:
    code, out, err = ksched("--verbose", "plugins")
    assert (code, out) == (2, "")
    assert "--verbose requires --version" in err


@pytest.mark.parametrize(
    ("error", "code"),
    [(UsageError("not so"), 2), (PluginDefectError("not made", "traceback"), 3)],
)
def test_an_error_has_its_exit_code_and_one_line(
    ksched: Ksched,
    monkeypatch: pytest.MonkeyPatch,
    error: PluginDefectError | UsageError,
    code: int,
) -> None:
    def fail(**_: object) -> None:
        raise error

    monkeypatch.setattr(entry, "application", lambda names: fail)
    assert ksched("schedule") == (code, "", f"error: {error}\n")


def test_a_defect_is_exit_code_3_with_its_traceback_in_a_file(
    ksched: Ksched, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(**_: object) -> None:
        raise ZeroDivisionError("by nothing")

    monkeypatch.setattr(entry, "application", lambda names: fail)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    code, out, err = ksched("schedule")
    assert (code, out) == (3, "")
    assert err.startswith("ksched has a defect: ZeroDivisionError: by nothing\n")
    assert "Traceback" not in err
    (file,) = tmp_path.glob("ksched-*.traceback.txt")
    assert str(file) in err
    assert "Traceback" in file.read_text()


GROUP = {
    "apiVersion": "scheduling.k8s.io/v1beta1",
    "kind": "PodGroup",
    "metadata": {"name": "red", "namespace": "default"},
    "spec": {"schedulingPolicy": {"basic": {}}},
}


def test_a_decision_that_calls_itself_without_end_is_a_defect_and_no_fault_of_the_input(
    ksched: Ksched, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(PodGroupEntityCycle, "_attempt", PodGroupCycle.attempt)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    member = pod("p", spec={"schedulingGroup": {"podGroupName": "red"}})
    state = tmp_path / "state.json"
    state.write_text(json.dumps({"kind": "List", "items": [node("n"), GROUP, member]}))
    gates = ("--kubernetes-version", "1.37", "--feature-gates", "GenericWorkload=true")
    code, out, err = ksched("schedule", *gates, "--state", str(state))
    assert (code, out) == (3, "")
    assert "ksched has a defect: RecursionError: " in err


ROOT = Path(__file__).parents[2]
# tests/commands/test_streams.py tries all commands in forks of one process.
COMMANDS = [["--version"], ["plugins", "-o", "json"]]


def run_into(
    stdout: TextIO | int | None, args: list[str], shell: str = ""
) -> subprocess.CompletedProcess[str]:
    """A process whose standard output is a file, or closed by the shell."""
    command = [sys.executable, "-m", "ksched_cli", *args]
    if shell:
        command = ["sh", "-c", f'exec "$@" {shell}', "sh", *command]
    return subprocess.run(
        command, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False, cwd=ROOT
    )


@pytest.mark.parametrize("args", COMMANDS)
def test_a_reader_that_goes_away_ends_ksched_quietly(args: list[str]) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as closed:
        done = run_into(closed, args)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize("args", COMMANDS)
def test_output_that_cannot_be_written_is_one_line_and_exit_code_2(args: list[str]) -> None:
    with open("/dev/full", "w") as full:
        done = run_into(full, args)
    message = "error: standard output cannot be written: No space left on device\n"
    assert (done.returncode, done.stderr) == (2, message)


def test_closed_streams_are_exit_code_2_and_warnings_never_reach_the_output() -> None:
    done = run_into(None, ["plugins"], ">&-")
    message = "error: standard output cannot be written: it is closed\n"
    assert (done.returncode, done.stderr) == (2, message)
    done = run_into(subprocess.PIPE, ["validate", "/nowhere"], "2>&-")
    assert (done.returncode, done.stdout) == (2, "")


def test_too_little_memory_is_no_defect(
    ksched: Ksched, write_state: WriteState, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(Opener, "base_state", fail)
    code, out, err = ksched("schedule", "--state", write_state(node("a")))
    assert (code, out) == (2, "")
    assert err.startswith("error: the memory that ksched may use is not enough\n")
