"""Two processes on one file that is read and written: one is refused, and nothing is mixed. Threads
with Runs of their own decide as they do one after the other."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from unittest import mock

import pytest

from ksched_cli.commands import snapshot_files
from ksched_cli.errors import UsageError
from ksched_cli.extenders.recording import Recording
from ksched_cli.kube.file_lock import locked
from ksched_cli.live.snapshot import ClusterSnapshot
from ksched_cli.live.snapshot_file import RecordingFile
from ksched_cli.run.run import ChangeSource, Run
from ksched_cli.sweep.outcome import RowsFile
from ksched_cli.sweep.tuning import TrialSearch
from ksched_cli.testing import node, pod
from tests.commands.runners import Ksched
from tests.commands.test_written_files import state_in
from tests.extenders.fixtures import config_text
from tests.run.runs import decided, write_files
from tests.sweep.sweeps import write_sweep
from tests.sweep.test_tune_file import OBJECTIVES, SPACE

pytestmark = pytest.mark.slow


def sweep(folder: Path, file: str) -> tuple[object, ...]:
    return ("sweep", write_sweep(folder, "Sweep", seeds=2), "--rows", file)


def tune(folder: Path, file: str) -> tuple[object, ...]:
    pytest.importorskip("optuna", reason="the extra tune is not installed")
    fields = {"space": SPACE, "objectives": OBJECTIVES, "seeds": 1, "trials": 2}
    return ("tune", write_sweep(folder, "Tune", **fields), "--study", file)


def snapshot(folder: Path, file: str) -> tuple[object, ...]:
    state = state_in(folder)
    return ("snapshot", folder / "out.json", "--state", state, "--redact-key", file)


def extended(folder: Path, file: str) -> tuple[object, ...]:
    """No extender answers."""
    extender = {"urlPrefix": "http://127.0.0.1:1", "filterVerb": "f", "ignorable": True}
    config = folder / "config.json"
    config.write_text(config_text(extender))
    return ("schedule", "--state", state_in(folder), "--config", config, "--record-extenders", file)


COMMANDS: dict[str, Callable[[Path, str], tuple[object, ...]]] = {
    "--rows": sweep,
    "--study": tune,
    "--redact-key": snapshot,
    "--record-extenders": extended,
}


@pytest.mark.usefixtures("runs_here")
@pytest.mark.parametrize("option", COMMANDS)
def test_a_file_that_another_ksched_uses_is_refused_and_stays(
    option: str, ksched: Ksched, tmp_path: Path
) -> None:
    path = tmp_path / "file"
    command = COMMANDS[option](tmp_path, str(path))
    with locked(str(path), option):
        code, out, err = ksched(*command)
    assert (code, out) == (2, "")
    assert f"{option} {path}: another ksched is using it; wait for its end" in err
    assert not path.exists()
    assert ksched(*command)[0] in (0, 1)
    if option == "--record-extenders":
        gc.collect()  # a process that goes on keeps the recording until then
    assert not list(tmp_path.glob(".*.lock"))


ABOUT = ClusterSnapshot("", "", "", ())
# Where each command has its file in hand.
AT_WORK = {
    "--rows": (RowsFile, "append"),
    "--study": (TrialSearch, "take"),
    "--redact-key": (snapshot_files, "key_text"),
    "--record-extenders": (Recording, "wrap"),
}


@pytest.mark.usefixtures("runs_here")
@pytest.mark.parametrize("option", COMMANDS)
def test_a_command_at_work_has_its_file_to_itself(
    option: str, ksched: Ksched, tmp_path: Path
) -> None:
    path = str(tmp_path / "file")
    refusals = []

    def look(*_: object, **__: object) -> None:
        try:
            with locked(path, option):
                pass
        except UsageError as error:
            refusals.append(str(error))
        raise UsageError("stopped")

    with mock.patch.object(*AT_WORK[option], side_effect=look):
        ksched(*COMMANDS[option](tmp_path, path))
    assert refusals[:1] == [
        f"{option} {path}: another ksched is using it; wait for its end, or name another file"
    ]
    with locked(path, option):
        pass


def test_two_sweeps_on_one_file_of_rows_do_not_mix_them(tmp_path: Path) -> None:
    arguments = [str(part) for part in sweep(tmp_path, str(tmp_path / "rows.jsonl"))]
    command = [sys.executable, "-m", "ksched_cli", *arguments]
    processes = [
        subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    errors = [process.communicate()[1] for process in processes]
    codes = [process.returncode for process in processes]
    assert 0 in codes
    assert set(codes) <= {0, 2}
    for code, error in zip(codes, errors, strict=True):
        assert (code == 2) == ("another ksched is using it" in error), error
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert len({row["id"] for row in rows}) == len(rows) == 2


def hold_and_die(path: str) -> None:
    with locked(path, "--rows"):
        os._exit(9)


def test_the_lock_of_a_process_that_was_killed_is_free(tmp_path: Path) -> None:
    path = str(tmp_path / "rows.jsonl")
    process = get_context("spawn").Process(target=hold_and_die, args=(path,))
    process.start()
    process.join()
    assert process.exitcode == 9
    with locked(path, "--rows"):
        pass
    assert os.listdir(tmp_path) == []


def test_a_link_to_a_file_is_the_file(tmp_path: Path) -> None:
    (tmp_path / "rows").write_text("")
    (tmp_path / "link").symlink_to("rows")
    with (
        locked(str(tmp_path / "rows"), "--rows"),
        pytest.raises(UsageError, match=r"link: another"),
        locked(str(tmp_path / "link"), "--rows"),
    ):
        pass


def test_two_recorders_of_one_name_keep_their_states_apart(tmp_path: Path) -> None:
    """Both found the name free."""
    first, second = (RecordingFile(str(tmp_path / "day.jsonl")) for _ in range(2))
    first.begin([json.dumps(node("of-the-first")).encode()], lambda: ABOUT, 0.0)
    with pytest.raises(UsageError, match="File exists"):
        second.begin([json.dumps(node("of-the-second")).encode()], lambda: ABOUT, 0.0)
    first.close()
    assert "of-the-first" in (tmp_path / "day.state.json").read_text()


def test_a_recorder_that_cannot_write_the_state_leaves_no_timeline(tmp_path: Path) -> None:
    (tmp_path / "day.state.json").mkdir()
    with pytest.raises(UsageError, match="is a folder"):
        RecordingFile(str(tmp_path / "day.jsonl")).begin([], lambda: ABOUT, 0.0)
    assert not (tmp_path / "day.jsonl").exists()


def test_runs_in_threads_decide_as_one_after_the_other(tmp_path: Path) -> None:
    write_files(tmp_path)
    states = (str(tmp_path / "cluster.json"),)
    runs = [
        Run(
            states=states,
            kubernetes_version=minor,
            configuration=str(tmp_path / name) if name else "",
            plugins=(str(tmp_path / "last.py"),) if with_plugin else (),
            changes=(ChangeSource(apply=pod(f"new-{minor}", cpu=1)),),
            tie_break="random",
            seed=seed,
        )
        for seed, minor in enumerate(("1.34", "1.35", "1.36", "1.37"))
        for name in ("", "packing.yaml")
        for with_plugin in (False, True)
    ]
    expected = [decided(run) for run in runs]
    with ThreadPoolExecutor(8) as threads:
        for _ in range(3):
            assert list(threads.map(decided, runs)) == expected


@pytest.mark.parametrize(
    ("command", "least"), [(("fix", "p"), 2), (("capacity", "--pending", "--like", "n"), 1)]
)
def test_a_question_of_several_simulations_records_all_in_one_file(
    command: tuple[str, ...], least: int, ksched: Ksched, tmp_path: Path
) -> None:
    path = tmp_path / "calls.jsonl"
    _, *options = extended(tmp_path, str(path))
    waiting = pod("p", cpu=1, metadata={"creationTimestamp": "2026-01-01T00:00:00Z"})
    objects = [node("n", cpu=1), pod("r", cpu=1, node="n"), waiting]
    (tmp_path / "state.json").write_text(json.dumps(objects))
    code, _, err = ksched(*command, *options)
    assert code in (0, 1), err
    lines = path.read_text().splitlines()
    assert len(lines) >= least
    assert all(json.loads(line)["url"] for line in lines)
