"""What ends the process from outside: a signal, a full disk, no terminal, no home. No half file, no
traceback, and the exit code that a shell expects."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.commands.signals import EndedBySignal, raised_signals
from ksched_cli.live.snapshot_file import written_aside
from ksched_cli.testing import node, pod
from tests.scenario.build import owned
from tests.sweep.sweeps import write_sweep
from tests.sweep.test_tune_file import OBJECTIVES, SPACE

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
STATE = ROOT / "examples" / "first-cluster" / "cluster.yaml"
TUNED: dict[str, Any] = {"space": SPACE, "objectives": OBJECTIVES}
WAITING = """
import sys, time
from ksched_cli.api import SUCCESS, FilterPlugin

class Waiting(FilterPlugin):
    name = "Waiting"

    def filter(self, state, pod, node):
        print("ready", flush=True)
        try:
            for _ in range(600):  # a signal that comes just before a sleep is seen after it
                time.sleep(0.1)
        except Exception:
            pass
        return SUCCESS
"""


def started(*arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "ksched_cli", *map(str, arguments)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_the_middle_of_a_run_ends_it_by_that_signal(
    number: signal.Signals, tmp_path: Path
) -> None:
    plugin = tmp_path / "waiting.py"
    plugin.write_text(WAITING)
    with started("schedule", "--state", STATE, "--plugin", plugin) as process:
        assert process.stderr is not None
        while "ready" not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(number)
        out, err = process.communicate()
    assert (process.returncode, out) == (-number, "")
    assert "Traceback" not in err
    assert "defect" not in err


# Each node takes a moment, and is counted.
COUNTED = """
import time
from ksched_cli.api import SUCCESS, FilterPlugin

class Counted(FilterPlugin):
    name = "Counted"

    def filter(self, state, pod, node):
        print("node", flush=True)
        time.sleep(0.02)
        return SUCCESS
"""


@pytest.mark.parametrize(
    ("question", "pods"),
    [
        (("shrink",), [owned(f"p{n}", cpu=3, node=f"n{n}") for n in range(6)]),
        (("capacity", "--pending", "--like", "n0"), [pod(f"p{n}", cpu=3) for n in range(20)]),
    ],
)
def test_an_interrupted_search_answers_with_the_best_that_it_has(
    question: tuple[str, ...], pods: list[dict[str, Any]], tmp_path: Path
) -> None:
    plugin, state = tmp_path / "slow.py", tmp_path / "state.json"
    plugin.write_text(COUNTED)
    items = [*(node(f"n{n}", cpu=4 + n) for n in range(6)), *pods]
    state.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": items}))
    options = ("--state", state, "--plugin", plugin, "-o", "json")
    with started(*question, *options) as process:
        assert process.stderr is not None
        nodes = 0
        while nodes < 10:
            nodes += "node" in process.stderr.readline()
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        begun = time.monotonic()
        out, err = process.communicate()
    assert process.returncode in (0, 1)
    assert json.loads(out)["stopped"] == "interrupted"
    assert "ending with the best answer so far" in err
    assert time.monotonic() - begun < 30


def test_a_search_that_is_terminated_ends_at_once(tmp_path: Path) -> None:
    plugin, state = tmp_path / "slow.py", tmp_path / "state.json"
    plugin.write_text(COUNTED)
    items = [*(node(f"n{n}", cpu=4) for n in range(6)), *(pod(f"p{n}", cpu=3) for n in range(40))]
    state.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": items}))
    command = ("capacity", "--pending", "--like", "n0", "--state", state, "--plugin", plugin)
    with started(*command) as process:
        assert process.stderr is not None
        while "node" not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        begun = time.monotonic()
        out, _ = process.communicate()
        assert time.monotonic() - begun < 1
    assert (process.returncode, out) == (-signal.SIGTERM, "")


# The third run waits for the signal, or the fourth: a run may begin before the one before is saved.
UNTIL_TWO_ARE_DONE = """
import time
from pathlib import Path
from ksched_cli.api import SUCCESS, FilterPlugin

class UntilTwoAreDone(FilterPlugin):
    name = "UntilTwoAreDone"

    def filter(self, state, pod, node):
        while (saved := Path({!r})).exists() and saved.read_bytes().count({!r}) > 1:
            time.sleep(0.1)
        return SUCCESS
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    ("command", "option", "thing", "ended"),
    [
        ("sweep", "--rows", "30 runs are done", b"\n"),
        # Optuna's journal has lines of its own before the first trial.
        ("tune", "--study", "30 trials are done", b'"op_code":6'),
    ],
)
def test_many_runs_that_a_signal_ends_say_how_to_resume(
    command: str, option: str, thing: str, ended: bytes, number: signal.Signals, tmp_path: Path
) -> None:
    if command == "tune":
        pytest.importorskip("optuna", reason="the extra tune is not installed")
    fields = {"seeds": 30} if command == "sweep" else {**TUNED, "seeds": 1, "trials": 30}
    file, saved = write_sweep(tmp_path, command.title(), **fields), tmp_path / "saved"
    (tmp_path / "plugin.py").write_text(UNTIL_TWO_ARE_DONE.format(str(saved), ended))
    with started(command, file, option, saved, "--plugin", tmp_path / "plugin.py") as process:
        while not saved.exists() or saved.read_bytes().count(ended) < 2:
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(number)
        out, err = process.communicate()
    assert (process.returncode, out) == (-number, "")
    assert f" of {thing}; the same command resumes {saved}" in err
    assert "Traceback" not in err
    if command == "sweep":
        done = int(err.partition("interrupted: ")[2].partition(" ")[0])
        assert saved.read_text().count("\n") == done
        assert done in (2, 3)


INTERRUPTS = """
import os, signal
from ksched_cli.api import SUCCESS, FilterPlugin

class Interrupts(FilterPlugin):
    name = "Interrupts"

    def filter(self, state, pod, node):
        if pod.name == "p2":
            os.kill(os.getpid(), signal.{})
        return SUCCESS
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_replay_that_a_signal_ends_writes_what_is_finished(name: str, tmp_path: Path) -> None:
    """Pods come at 0, 10, 20 and 30 s for 15 s each; the signal comes at 20 s: the first has ended,
    at 15 s, the second runs until 25 s, and the third's attempt is the last."""
    (tmp_path / "plugin.py").write_text(INTERRUPTS.format(name))
    events = [{"at": 10 * n, "pod": pod(f"p{n}", cpu=1), "runsFor": 15} for n in range(4)]
    timeline, state, last = (tmp_path / each for each in ("t.json", "state.json", "last.json"))
    header = {"apiVersion": "ksched/v1", "kind": "Timeline", "start": "2026-11-23T08:00:00Z"}
    timeline.write_text(json.dumps({**header, "until": 3_600, "events": events}))
    state.write_text(json.dumps(node("n", cpu=4)))
    options = ("--plugin", tmp_path / "plugin.py", "--save-state", last, "-o", "json")
    with started("replay", timeline, "--state", state, *options) as process:
        out, err = process.communicate()
    assert process.returncode == -signal.Signals[name]
    result = json.loads(out)
    warning = "interrupted at 2026-11-23T08:00:20Z: the result covers the time until then"
    assert (result["end"], result["warnings"]) == (20, [warning])
    assert [each["outcome"] for each in result["pods"]] == ["ended", "running", "running"]
    assert f"warning: {warning}" in err
    assert not last.exists()


SLOW = """
import time
from ksched_cli.api import SUCCESS, FilterPlugin

class Slow(FilterPlugin):
    name = "Slow"

    def filter(self, state, pod, node):
        if pod.name == "p9":
            print("ready", flush=True)
        time.sleep({})
        return SUCCESS
"""


def replay_at_once(folder: Path, plugin: str) -> subprocess.Popen[str]:
    """Replays a thousand pods that come at one instant, up to the tenth attempt."""
    (folder / "plugin.py").write_text(plugin)
    events = [{"at": 0, "pod": pod(f"p{n}", cpu="1m")} for n in range(1000)]
    timeline, state = folder / "t.json", folder / "state.json"
    timeline.write_text(
        json.dumps({"apiVersion": "ksched/v1", "kind": "Timeline", "events": events})
    )
    state.write_text(json.dumps(node("n", cpu=4, pods=2000)))
    options = ("--plugin", folder / "plugin.py", "-o", "json", "--summary")
    process = started("replay", timeline, "--state", state, *options)
    assert process.stderr is not None
    while "ready" not in process.stderr.readline():
        assert process.poll() is None
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_the_middle_of_an_instant_ends_a_replay_after_the_attempt(
    number: signal.Signals, tmp_path: Path
) -> None:
    """The whole instant would take half a minute."""
    with replay_at_once(tmp_path, SLOW.format(0.03)) as process:
        process.send_signal(number)
        out, err = process.communicate()
    assert process.returncode == -number
    summary = json.loads(out)["summary"]
    assert 10 <= summary["placed"] < 500
    assert summary["placed"] + summary["pending"] == 1000
    assert "the result covers the time until then" in err


def test_an_attempt_that_does_not_end_does_not_keep_a_replay_from_ending(tmp_path: Path) -> None:
    with replay_at_once(tmp_path, SLOW.format('60 if pod.name == "p9" else 0')) as process:
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate()
    assert (process.returncode, out) == (-signal.SIGTERM, "")
    assert "interrupted in the middle of a long attempt: there is no result" in err
    assert "Traceback" not in err


def test_a_signal_at_any_moment_leaves_no_traceback_and_a_whole_result_or_none() -> None:
    begun = time.monotonic()
    with started("schedule", "--state", STATE, "-o", "json") as process:
        process.communicate()
    length = time.monotonic() - begun
    for step in range(1, 4):
        with started("schedule", "--state", STATE, "-o", "json") as process:
            time.sleep(0.1 + step * length / 4)
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate()
        assert "Traceback" not in err
        assert "defect" not in err
        if process.returncode != -signal.SIGTERM:
            json.loads(out)


def test_what_was_being_written_goes_away(tmp_path: Path) -> None:
    target = tmp_path / "cluster.json"

    def write() -> None:
        with raised_signals(), written_aside(str(target)) as file:
            file.write(b"{")
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(5)

    with pytest.raises(EndedBySignal):
        write()
    assert list(tmp_path.iterdir()) == []


def test_the_second_signal_is_not_handled_and_afterwards_all_is_as_before() -> None:
    before = signal.getsignal(signal.SIGINT)
    handlers = []

    def interrupt() -> None:
        with raised_signals():
            try:
                os.kill(os.getpid(), signal.SIGINT)
            finally:
                handlers.append(signal.getsignal(signal.SIGINT))

    with pytest.raises(EndedBySignal):
        interrupt()
    assert handlers == [signal.SIG_DFL]
    assert signal.getsignal(signal.SIGINT) is before


def test_a_signal_in_a_callback_whose_exceptions_are_dropped_is_raised_after_it(
    capfd: pytest.CaptureFixture[str],
) -> None:
    class Dying:
        def __del__(self) -> None:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0)  # where Python notices the signal

    def interrupted() -> None:
        with raised_signals():
            Dying()
            time.sleep(10)

    before = sys.unraisablehook
    with pytest.raises(EndedBySignal, match="SIGTERM"):
        interrupted()
    assert sys.unraisablehook is before
    assert not capfd.readouterr().err


def test_an_error_of_cleaning_up_does_not_hide_the_signal() -> None:
    def fails_while_ended() -> None:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(1)
        finally:
            Path("no/such/lock").unlink()

    with pytest.raises(EndedBySignal), raised_signals():
        fails_while_ended()


def test_an_error_without_a_signal_stays_itself() -> None:
    with pytest.raises(FileNotFoundError), raised_signals():
        Path("no/such/lock").unlink()


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with raised_signals():
            os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)


def test_where_a_signal_is_blocked_the_exit_code_tells_of_it() -> None:
    code = (
        "import signal; from ksched_cli.commands.signals import end_by\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM]); end_by(signal.SIGTERM)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False)
    assert done.returncode == 128 + signal.SIGTERM


def test_neither_home_nor_terminal_nor_a_folder_to_write_to_is_needed(tmp_path: Path) -> None:
    folder = tmp_path / "read-only"
    folder.mkdir(mode=0o500)
    environment = {
        "PATH": os.environ["PATH"],
        "TERM": "none",
        "COLUMNS": "0",
    }
    command = [sys.executable, "-m", "ksched_cli", "schedule", "--state", str(STATE)]
    done = subprocess.run(
        command,
        env=environment,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        start_new_session=True,
    )
    assert done.returncode == 1, done.stderr
    assert "3 placed, 1 pending, 1 gated" in done.stdout
    assert list(folder.iterdir()) == []


def test_a_recording_onto_a_full_disk_is_one_line(tmp_path: Path) -> None:
    kind = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    extender = {"urlPrefix": "http://127.0.0.1:1", "filterVerb": "filter", "ignorable": True}
    config = tmp_path / "config.json"
    config.write_text(json.dumps({**kind, "extenders": [extender]}))
    arguments = ("--state", STATE, "--config", config, "--record-extenders", "/dev/full")
    with started("schedule", *arguments) as process:
        out, err = process.communicate()
    assert (process.returncode, out) == (2, "")
    assert "/dev/full cannot be written: No space left on device" in err
    assert "Traceback" not in err
