"""What commands print in a CI job, where names, labels and messages are commands of the runner."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from ksched_cli.run.run import Run
from ksched_cli.sweep.run_process import RunProcess
from ksched_cli.testing import node, pod
from tests.commands.runners import Ksched, WriteState
from tests.job_logs import leave_job, obeyed
from tests.sweep.sweeps import sweep

ERROR, STOP, LEGACY = "::error file=x::no", "::stop-commands::abc", "a\n##[add-mask]b"
CONFIG = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
CHATTY = """
import os, subprocess, sys
from ksched_cli.api import FilterPlugin, SUCCESS

class Chatty(FilterPlugin):
    name = "Chatty"
    def filter(self, state, pod, node):
        print(":", end="", flush=True)
        print(f":error::{pod.name}")
        print("::warning::x", file=sys.stderr)
        sys.stderr.buffer.write(b"::notice::x\\n")
        return SUCCESS
"""


@pytest.fixture(autouse=True)
def job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")


@pytest.fixture
def state(write_state: WriteState) -> Path:
    pods = [
        pod(STOP, namespace=ERROR, cpu="100m"),
        pod("big", namespace=LEGACY, cpu=9, node_selector={ERROR: STOP}),
        pod("runs", node=ERROR),
    ]
    for manifest in pods:
        manifest["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    nodes = [node(ERROR, cpu=1, labels={ERROR: STOP}), node(LEGACY, cpu=1)]
    return write_state(*nodes, *pods)


COMMANDS = [
    ["schedule"],
    ["explain", f"{LEGACY}/big"],
    ["explain", f"{ERROR}/{STOP}"],
    ["explain", "--pending"],
    ["preempt", f"{LEGACY}/big"],
    ["capacity", f"{ERROR}/{STOP}"],
    ["compare", "--vs", "--change", "reschedule --all"],
]


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda arguments: " ".join(arguments)[:12])
@pytest.mark.parametrize("form", ["table", "json", "yaml", "html"])
def test_no_line_of_any_result_is_a_command(
    arguments: list[str], form: str, ksched: Ksched, state: Path
) -> None:
    command, *options = arguments
    code, out, err = ksched(command, "--state", state, *options, "-o", form)
    assert code in (0, 1), err
    assert "error file=x::no" in out
    assert not obeyed(out)
    assert not obeyed(err)


def test_wrapped_lines_are_no_commands_either(
    ksched: Ksched, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for columns in range(40, 72, 4):
        monkeypatch.setenv("COLUMNS", str(columns))
        _, out, _ = ksched("explain", f"{LEGACY}/big", "--state", state)
        assert not obeyed(out), columns


def test_cells_of_csv_are_quoted(ksched: Ksched, state: Path, tmp_path: Path) -> None:
    path = tmp_path / "timeline.json"
    path.write_text(json.dumps({"apiVersion": "ksched/v1", "kind": "Timeline", "events": []}))
    _, out, _ = ksched("replay", path, "--state", state, "-o", "csv")
    rows = list(csv.DictReader(io.StringIO(out, newline="")))
    assert next(row["pod"] for row in rows) == f"{ERROR}/{STOP}"
    assert not obeyed(out)


def test_data_is_what_it_is_outside_of_a_job(
    ksched: Ksched, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = [
        json.loads(ksched("schedule", "--state", state, "-o", "json")[1]),
        yaml.safe_load(ksched("schedule", "--state", state, "-o", "yaml")[1]),
    ]
    leave_job(monkeypatch)
    plain = json.loads(ksched("schedule", "--state", state, "-o", "json")[1])
    assert answers == [plain, plain]
    assert plain["placements"][f"{ERROR}/{STOP}"] in (ERROR, LEGACY)


def test_errors_and_warnings_are_no_commands(ksched: Ksched, state: Path, tmp_path: Path) -> None:
    code, _, err = ksched("explain", "x\n::error::y", "--state", state)
    assert code == 2
    assert not obeyed(err)
    assert r"\x3a:error::y" in err
    document = yaml.safe_load(state.read_text())
    document["items"][2]["spec"]["x\n::warning::y"] = 1
    state.write_text(json.dumps(document))
    _, _, err = ksched("schedule", "--state", state)
    assert "warning: " in err
    assert r"\x3a:warning::y" in err
    assert not obeyed(err)


def test_what_plugins_print_is_no_command(ksched: Ksched, state: Path, tmp_path: Path) -> None:
    (tmp_path / "chatty.py").write_text(CHATTY)
    code, _, err = ksched("schedule", "--state", state, "--plugin", tmp_path / "chatty.py")
    assert code == 1
    for line in (rf"\x3a:error::{STOP}", r"\x3a:warning::x", r"\x3a:notice::x"):
        assert line in err.splitlines()
    assert not obeyed(err)


def test_what_plugins_print_in_the_processes_of_a_sweep_is_no_command(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "chatty.py").write_text(CHATTY)
    read = sweep(tmp_path, Run(plugins=(f"{tmp_path}/chatty.py",)))
    process = RunProcess(read.shared, timeout=60)
    assert process.perform(read.tasks()[0]).status == "ok"
    process.close()
    err = capfd.readouterr().err
    assert r"\x3a:error::p-0" in err.splitlines()
    assert not obeyed(err)


def test_a_process_of_its_own_prints_no_command(state: Path) -> None:
    command = [sys.executable, "-m", "ksched_cli", "schedule", "--state", f"{state}\n::error::x"]
    run = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ})
    assert run.returncode == 2
    assert r"\x3a:error::x" in run.stderr
    assert not obeyed(run.stderr)


def test_states_and_timelines_on_standard_output_are_data_without_commands(
    ksched: Ksched, state: Path, write_state: WriteState
) -> None:
    _, out, _ = ksched("snapshot", "--state", state, "-")
    assert not obeyed(out)
    names = [item["metadata"]["name"] for item in json.loads(out)["items"]]
    assert names == [ERROR, LEGACY, STOP, "big", "runs"]
    _, out, _ = ksched("timeline", "from-dump", state)
    assert not obeyed(out)
    events: list[dict[str, Any]] = [json.loads(line) for line in out.splitlines()[1:]]
    assert LEGACY in {event["pod"]["metadata"]["namespace"] for event in events}


def test_a_migrated_file_that_has_a_command_is_not_printed_as_it_is(
    ksched: Ksched, tmp_path: Path
) -> None:
    path = tmp_path / "old.yaml"
    old = CONFIG.replace("/v1\n", "/v1beta3\n")
    path.write_text(f"{old}##[error]no\nprofiles: [{{schedulerName: a}}]\n")
    code, out, err = ksched("config", "migrate", path)
    assert (code, out) == (2, "")
    assert err.splitlines()[-2:] == [
        f"error: {path}: the CI job's log would run this line of the new configuration as "
        r"a command: \x23#[error]no",
        "  -o json prints the text escaped",
    ]
    code, out, _ = ksched("config", "migrate", path, "-o", "json")
    assert code == 0
    assert not obeyed(out)
    assert "\n##[error]no\n" in json.loads(out)["text"]


def test_annotations_stay(ksched: Ksched, tmp_path: Path) -> None:
    """They are ksched's own; a name in one cannot end it."""
    path = tmp_path / "a%0A::error::b.yaml"
    path.write_text(CONFIG + "parallelism: 0\n")
    code, out, _ = ksched("validate", "-o", "github", path)
    assert code == 1
    (line,) = out.splitlines()
    assert line.startswith(f"::error file={tmp_path}/a%250A%3A%3Aerror%3A%3Ab.yaml,line=3,col=1,")
