"""Files that options name are written where the user pointed: through links, with their mode, into
pipes and devices."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest

from ksched_cli.testing import node, pod
from tests.commands.runners import Ksched
from tests.sweep.sweeps import write_sweep
from tests.sweep.test_tune_file import OBJECTIVES, SPACE

pytestmark = pytest.mark.usefixtures("runs_here")
ROOT = Path(__file__).parents[2]
Command = Callable[[Path, str], tuple[object, ...]]


def state_in(folder: Path) -> Path:
    path = folder / "state.json"
    created = {"creationTimestamp": "2026-01-01T00:00:00Z"}
    items = [node("n"), pod("p", metadata=created)]
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return path


def replay(folder: Path, option: str, file: str) -> tuple[object, ...]:
    timeline = folder / "timeline.json"
    header = {"apiVersion": "ksched/v1", "kind": "Timeline"}
    timeline.write_text(json.dumps({**header, "events": [{"at": 1, "change": "cordon n"}]}))
    return ("replay", timeline, "--state", state_in(folder), option, file)


def tune(folder: Path, file: str) -> tuple[object, ...]:
    pytest.importorskip("optuna", reason="the extra tune is not installed")
    fields = {"space": SPACE, "objectives": OBJECTIVES, "seeds": 2, "trials": 2}
    return ("tune", write_sweep(folder, "Tune", **fields), "--best", file)


WRITERS: dict[str, Command] = {
    "save-state.json": lambda folder, file: replay(folder, "--save-state", file),
    "best.yaml": tune,
    "snapshot.json": lambda folder, file: ("snapshot", file, "--state", state_in(folder)),
    "key": lambda folder, file: (
        *("snapshot", "-", "--state", state_in(folder)),
        *("--redact", "--redact-key", file),
    ),
    "to.jsonl": lambda folder, file: ("timeline", "from-dump", state_in(folder), "--to", file),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_is_written_through_links_and_keeps_its_mode(
    name: str, ksched: Ksched, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    target, link = tmp_path / "elsewhere" / name, tmp_path / name
    (tmp_path / "between").symlink_to(target)
    link.symlink_to("between")
    for mode in (None, 0o640):
        if mode is not None and name != "key":
            target.write_text("before")
            target.chmod(mode)
        code, _, err = ksched(*WRITERS[name](tmp_path, str(link)))
        assert code in (0, 1), err
        assert link.is_symlink()
        text = target.read_text()
        assert "apiVersion" in text
        assert "before" not in text
        written = stat.S_IMODE(target.stat().st_mode)
        assert written == (0o600 if name == "key" else mode or 0o666 & ~umask())
        assert os.listdir(target.parent) == [name]


def umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.parametrize("name", WRITERS)
def test_a_pipe_is_written_to(name: str, ksched: Ksched, tmp_path: Path) -> None:
    pipe = tmp_path / name
    os.mkfifo(pipe)
    texts: list[str] = []
    reader = Thread(target=lambda: texts.append(pipe.read_text()), daemon=True)
    reader.start()
    code, _, err = ksched(*WRITERS[name](tmp_path, str(pipe)))
    assert code in (0, 1), err
    reader.join()
    assert texts
    assert texts[0]
    assert pipe.is_fifo()


@pytest.mark.parametrize("name", WRITERS)
def test_a_full_device_is_one_line_and_stays_a_device(
    name: str, ksched: Ksched, tmp_path: Path
) -> None:
    link = tmp_path / name
    link.symlink_to("/dev/full")
    code, _, err = ksched(*WRITERS[name](tmp_path, str(link)))
    assert code == 2
    assert f"{link} cannot be written: No space left on device" in err
    assert Path("/dev/full").is_char_device()


@pytest.mark.parametrize("is_pipe", [False, True])
def test_standard_output_is_written_to_before_the_result(is_pipe: bool, tmp_path: Path) -> None:
    """A plain file that standard output goes to has another name than /dev/stdout."""
    command = [sys.executable, "-m", "ksched_cli", *replay(tmp_path, "--save-state", "/dev/stdout")]
    output = tmp_path / "output"
    with output.open("wb") as file:
        stdout = subprocess.PIPE if is_pipe else file
        done = subprocess.run(list(map(str, command)), cwd=ROOT, stdout=stdout, check=False)
    assert done.returncode == 0
    text = done.stdout.decode() if is_pipe else output.read_text()
    state, end = json.JSONDecoder().raw_decode(text)
    assert {item["kind"] for item in state["items"]} == {"Node", "Pod"}
    assert text[end:].lstrip().startswith("1 pod placed")


@pytest.mark.parametrize("option", ["--rows", "--study"])
def test_what_is_read_again_is_a_plain_file(option: str, ksched: Ksched, tmp_path: Path) -> None:
    command: tuple[object, ...]
    if option == "--rows":
        command = ("sweep", write_sweep(tmp_path), option, "/dev/null")
    else:
        command = (*tune(tmp_path, str(tmp_path / "best")), option, "/dev/null")
    code, out, err = ksched(*command)
    assert (code, out) == (2, "")
    assert "expected a plain file" in err
    assert Path("/dev/null").is_char_device()
