"""Every file that a command reads has one limit, packed or not, also where it does not end."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.commands.runners import Ksched
from tests.commands.test_written_files import state_in
from tests.sweep.sweeps import write_sweep

MOST = "20Ki"
STATE = ("--state", "STATE")
# Command lines in which FILE is too large, by the end of its name.
COMMANDS = {
    ".yaml": (
        ("validate", "FILE"), ("config", "show", "FILE"), ("config", "diff", "FILE", "FILE"),
        ("schedule", "--state", "FILE"), ("schedule", *STATE, "--config", "FILE"),
        ("schedule", *STATE, "--scenario", "FILE"), ("schedule", *STATE, "--timeline", "FILE"),
        ("schedule", *STATE, "--change", "apply -f FILE"),
        ("replay", "TIMELINE", *STATE, "--autoscaler", "FILE"),
        ("audit", "--before", "STATE", "--after", "FILE", "--scheduler-log", "STATE"),
        ("audit", "--before", "FILE", "--after", "STATE", "--scheduler-log", "STATE"),
        ("audit", "--before", "STATE", "--after", "STATE", "--scheduler-log", "FILE"),
        ("test", "FILE"), ("sweep", "FILE"), ("tune", "FILE"), ("explain", "-f", "FILE", *STATE),
    ),
    ".jsonl": (
        ("replay", "FILE", *STATE), ("audit", "--timeline", "FILE", "--before", "STATE"),
        ("schedule", *STATE, "--replay-extenders", "FILE", "--config", "CONFIG"),
    ),
}  # fmt: skip
# Commands that take the file as it is: none of these files may be gzipped.
PLAIN = ("validate", "config", "--config", "apply -f FILE", "-f")
CASES = [
    (end, command, kind)
    for end, commands in COMMANDS.items()
    for command in commands
    for kind in ("plain", "packed", "endless")
    if kind != "packed" or end == ".jsonl" or not {*PLAIN} & {*command}
]
CONFIG = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
extenders: [{urlPrefix: "http://127.0.0.1:1", filterVerb: f}]
"""


@pytest.mark.parametrize(
    ("end", "command", "kind"), CASES, ids=[f"{kind} {' '.join(each)}" for _, each, kind in CASES]
)
def test_a_file_that_is_too_large_is_refused(
    end: str, command: tuple[str, ...], kind: str, ksched: Ksched, tmp_path: Path
) -> None:
    path = tmp_path / f"large{end}"
    if kind == "plain":
        path.write_bytes(b" " * 30_000)
    elif kind == "packed":
        path = path.with_name(f"{path.name}.gz")
        path.write_bytes(gzip.compress(b" " * 1_000_000))
    else:
        path.symlink_to("/dev/zero")
    config = tmp_path / "config.yaml"
    config.write_text(CONFIG)
    timeline = tmp_path / "empty.jsonl"
    timeline.write_text('{"apiVersion": "ksched/v1", "kind": "Timeline"}\n')
    places = {
        "FILE": str(path),
        "STATE": str(state_in(tmp_path)),
        "CONFIG": str(config),
        "TIMELINE": str(timeline),
    }
    arguments = [*command, "--max-state-size", MOST]
    for name, place in places.items():
        arguments = [part.replace(name, place) for part in arguments]
    code, out, err = ksched(*arguments)
    assert (code, out) == (2, ""), err
    assert f"{path}: larger than {MOST}" in err
    assert "Raise --max-state-size" in err


@pytest.mark.usefixtures("runs_here")
def test_rows_that_are_too_large_stay(ksched: Ksched, tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    command = ("sweep", write_sweep(tmp_path, seeds=20), "--rows", rows)
    assert ksched(*command)[0] in (0, 1)
    content = rows.read_bytes()
    code, out, err = ksched(*command, "--max-state-size", str(len(content) - 1))
    assert (code, out) == (2, "")
    assert f"{rows}: larger than" in err
    assert rows.read_bytes() == content
