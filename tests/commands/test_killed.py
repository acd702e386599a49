"""A ksched that is killed in the middle of a write leaves the old file or the new one, never half;
and what resumes from a file resumes from what is in it then."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from base64 import b64decode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

import ksched_cli
from ksched_cli.cluster.redaction.codebook import Codes, key_text
from ksched_cli.cluster.redaction.redact import redacted
from ksched_cli.extenders.recording import RecordedReplies
from ksched_cli.testing import node, pod
from tests.commands.killed import RECORDER
from tests.commands.runners import Ksched
from tests.commands.test_two_at_once import extended, sweep, tune
from tests.commands.test_written_files import replay, state_in

pytestmark = pytest.mark.slow

HELPER = Path(__file__).with_name("killed.py")
OLD_CONFIGURATION = (
    "apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration\n"
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the process ended at a point, and the file then; the same after a run to the end."""

    point: str
    status: int
    content: bytes | None
    status_again: int
    content_again: bytes | None


Outcomes = Callable[..., list[Outcome]]


@pytest.fixture(scope="module")
def outcomes() -> Iterator[Outcomes]:
    """Asked with a file that is alone in its folder, what is in it before, and a command line."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (Path.cwd(), *sys.path)))}
    with subprocess.Popen(
        [sys.executable, HELPER], env=environment,
        stdin=PIPE, stdout=PIPE, stderr=subprocess.DEVNULL,  # a file would be limited, too
        text=True,
    ) as helper:  # fmt: skip
        assert helper.stdin is not None
        assert helper.stdout is not None
        pipes = helper.stdin, helper.stdout

        def read(text: str | None) -> bytes | None:
            return None if text is None else b64decode(text)

        def ask(file: Path, before: str | None, *command: object) -> list[Outcome]:
            question = [str(file), before, [*map(str, command)]]
            print(json.dumps(question), file=pipes[0], flush=True)
            lines = json.loads(pipes[1].readline())
            return [
                Outcome(point, status, read(content), again, read(content_again))
                for point, status, content, again, content_again in lines
            ]

        yield ask
        helper.stdin.close()


def pod_in(folder: Path) -> Path:
    path = folder / "pod.json"
    path.write_text(json.dumps(pod("p")))
    return path


def former_key() -> str:
    """A key with a code for each part of the state's names, as others would be drawn anew."""
    codes = Codes.empty()
    redacted([json.dumps(each).encode() for each in (node("n"), pod("p"))], codes)
    return key_text(codes, ()).decode()


Command = Callable[[Path, Path], tuple[object, ...]]
# Files that are written whole, with what was there before.
WHOLE: dict[str, tuple[str | None, Command]] = {
    "snapshot": ("old", lambda folder, file: ("snapshot", file, "--state", state_in(folder))),
    "first-snapshot": (None, lambda folder, file: ("snapshot", file, "--state", state_in(folder))),
    "redact-key": (
        former_key(),
        lambda folder, file: (
            *("snapshot", folder / "out.json", "--state", state_in(folder)),
            *("--redact", "--redact-key", file),
        ),
    ),
    "save-state": ("old", lambda folder, file: replay(folder, "--save-state", str(file))),
    "to": (
        "old",
        lambda folder, file: (
            *("timeline", "generate", pod_in(folder), "--pods", 4, "--days", 1, "--to", file),
        ),
    ),
    "migrated": (OLD_CONFIGURATION, lambda folder, file: ("config", "migrate", file, "-w")),
}


@pytest.mark.parametrize("name", WHOLE)
def test_the_old_file_is_there_or_the_new_one(
    name: str, outcomes: Outcomes, tmp_path: Path
) -> None:
    before, command = WHOLE[name]
    folder = tmp_path / "own"
    folder.mkdir()
    file = folder / ("file.jsonl" if name == "to" else "file")
    *killed, complete = outcomes(file, before, *command(tmp_path, file))
    old = None if before is None else before.encode()
    assert complete.content != old
    assert complete.status == 0
    assert {each.content for each in killed} <= {old, complete.content}
    # Some were killed in a write, and one before the file is put in its place.
    assert signal.SIGXFSZ in {os.waitstatus_to_exitcode(each.status) * -1 for each in killed}
    assert os.waitstatus_to_exitcode(killed[-1].status) == -signal.SIGKILL
    assert killed[-1].content == old
    assert {each.content_again for each in killed} == {complete.content}


def parsed(content: bytes | None) -> list[Any]:
    """The whole lines. One that was being written may follow, which the next run drops."""
    whole, _, _ = (content or b"").rpartition(b"\n")
    return [json.loads(line) for line in whole.splitlines()]


def whole_lines(content: bytes | None) -> bytes:
    """The whole lines, which the next run leaves as they are."""
    whole, newline, _ = (content or b"").rpartition(b"\n")
    return whole + newline


def rows(content: bytes | None) -> dict[str, str]:
    """The placements by run."""
    return {row["id"]: row["placements"] for row in parsed(content)}


def test_rows_that_were_written_stay_and_the_others_are_made(
    outcomes: Outcomes, tmp_path: Path
) -> None:
    file = tmp_path / "own" / "rows.jsonl"
    file.parent.mkdir()
    *killed, complete = outcomes(file, None, *sweep(tmp_path, str(file)))
    whole = rows(complete.content)
    assert len(whole) == 2
    for each in killed:
        assert rows(each.content).items() <= whole.items()
        assert (each.status_again, rows(each.content_again)) == (0, whole)
        assert len(parsed(each.content_again)) == len(whole)
        assert (each.content_again or b"").startswith(whole_lines(each.content))
    assert {len(rows(each.content)) for each in killed} >= {0, 1}


def test_a_study_that_was_being_written_is_resumed(outcomes: Outcomes, tmp_path: Path) -> None:
    file = tmp_path / "own" / "study"
    file.parent.mkdir()
    *killed, complete = outcomes(file, None, *tune(tmp_path, str(file)))
    lines = parsed(complete.content)
    for each in killed:
        assert os.waitstatus_to_exitcode(each.status_again) in (0, 1), each.point
        assert len(parsed(each.content_again)) >= len(lines)
        assert (each.content_again or b"").startswith(whole_lines(each.content))


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz"])
def test_a_recording_is_read_up_to_its_last_whole_line_and_goes_on_in_the_next_part(
    suffix: str, outcomes: Outcomes, ksched: Ksched, tmp_path: Path
) -> None:
    file = tmp_path / "own" / f"day{suffix}"
    file.parent.mkdir()
    *killed, complete = outcomes(file, None, RECORDER, file)
    state = tmp_path / "state.json"
    state.write_text(json.dumps(node("n")))
    counts, again = [], tmp_path / f"again{suffix}"
    for each in killed:
        # What was there stays: the recorder that is started again writes the next part.
        assert (each.content_again, each.status_again) == (each.content, 0)
        again.write_bytes(each.content or b"")
        for command in (("replay", again, "--state"), ("audit", "--timeline", again, "--before")):
            code, out, err = ksched(*command, state, "-o", "json")
            if code == 2:  # not even the first line was written
                assert "day" not in err
                assert "first line is not JSON" in err or "not gzip" in err
                continue
            warnings = [line for line in json.loads(out)["warnings"] if "cut off" in line]
            counts.append(len(warnings))
            assert code == 0
    assert complete.status == 0
    assert max(counts) == 1


def test_a_recording_of_extenders_has_the_whole_lines(outcomes: Outcomes, tmp_path: Path) -> None:
    file = tmp_path / "own" / "calls.jsonl"
    file.parent.mkdir()
    *killed, complete = outcomes(file, "old", *extended(tmp_path, str(file)))
    warnings: list[str] = []
    for each in killed:
        assert (complete.content or b"").startswith(each.content or b"")
        assert each.content_again == complete.content
        if each.content:
            file.write_bytes(each.content)
            RecordedReplies(str(file), warnings.append)
    assert warnings
    assert {*warnings} == {f"{file} is cut off after line 0; ksched reads it up to there"}


# Every module that opens a file to write it, and why half of one does no harm.
KILLED, ASIDE = "killed above", "by written_aside, which is killed above"
SCRATCH = "a file of this process, which nobody reads after it"
WRITERS = {
    "commands/config.py": KILLED,
    "commands/main.py": "a traceback for a report, under a new name; a device",
    "commands/output.py": "a page under another name, which is renamed when it is whole",
    "commands/replay.py": KILLED,
    "commands/snapshot_files.py": KILLED,
    "commands/timeline.py": KILLED,
    "commands/timings.py": ASIDE,
    "commands/tune.py": ASIDE,
    "commands/validate.py": ASIDE,
    "extenders/client.py": SCRATCH,
    "extenders/recording.py": KILLED,
    "kube/file_lock.py": "empty, and the lock ends with its process",
    "kube/stored_bytes.py": SCRATCH,
    "kube/streams.py": "a device",
    "live/snapshot_file.py": KILLED,
    "run/inputs.py": SCRATCH,
    "sweep/outcome.py": f"{ASIDE}; the rows: {KILLED}",
    "sweep/run_process.py": "a device",
    "sweep/tuning.py": KILLED,
}
_WRITES = re.compile(
    r"""written_aside\(|\bopen\([^)]*"[rwax+b]*[wax+][b+]*"|(?<!formatter\.)write_(?:text|bytes)\(|os\.open\("""
    r"""|(?:Temporary|NamedTemporary)File\(|mkstemp\(|JournalFileBackend\(|os\.re(?:place|name)\("""
)


def test_every_module_that_writes_a_file_is_accounted_for() -> None:
    root = Path(ksched_cli.__file__).parent
    modules = {
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        if path.parent.name != "schemas" and _WRITES.search(path.read_text())
    }
    assert modules == {*WRITERS}
