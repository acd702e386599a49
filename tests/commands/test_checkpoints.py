"""Checkpoints of `ksched replay`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ksched_cli.analysis.replay_result import replay_result
from ksched_cli.commands import replay as checkpoints
from ksched_cli.commands.replay import Checkpoints, check_state, fingerprint_of
from ksched_cli.commands.signals import EndedBySignal
from ksched_cli.engine.replay.replay import Replay, ReplayOptions
from ksched_cli.errors import UsageError
from ksched_cli.plugins.node_name import NodeName
from ksched_cli.run.open import Opener
from ksched_cli.run.run import Run
from ksched_cli.scenario.timeline import read_timeline
from ksched_cli.testing import node as a_node
from tests.commands.runners import Ksched, WriteState
from tests.config.registries import HEAD
from tests.pickles import attrgetter, file_io, of_former_format, popen
from tests.replays import cluster_of, node, pod, state_of

EVENTS = [{"at": at, "pod": pod(f"p{at}"), "runsFor": 7} for at in range(6)]
HEADER = {"apiVersion": "ksched/v1", "kind": "Timeline"}


@pytest.fixture
def timeline(tmp_path: Path) -> Path:
    path = tmp_path / "timeline.json"
    path.write_text(json.dumps({**HEADER, "events": EVENTS}))
    return path


class Bench:
    def __init__(self, timeline: Path) -> None:
        self.path = timeline
        self.state = state_of(timeline.parent, node("n", "2"))

    def start(self, saved: Checkpoints, interrupt_at: int = -1) -> Replay:
        read = read_timeline(str(self.path), self.state)

        def on_instant(run: Replay) -> None:
            if run.clock.now == interrupt_at:
                os.kill(os.getpid(), signal.SIGTERM)
            saved.after_instant(run)

        options = ReplayOptions(keeps_records=True, on_instant=on_instant)
        return Replay(cluster_of(self.state), read.events(), options)


def test_a_signal_ends_it_after_the_instant_and_it_goes_on_from_there(
    timeline: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bench, path = Bench(timeline), timeline.parent / "checkpoint"
    whole = bench.start(Checkpoints(str(path), "f"))
    whole.run()
    first = Checkpoints(str(path), "f")
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(EndedBySignal), first.interruption.awaited():
        bench.start(first, interrupt_at=8_000_000).run()
    assert signal.getsignal(signal.SIGTERM) is before
    assert path.stat().st_mode & 0o077 == 0
    assert "the same command resumes" in capsys.readouterr().err
    second = Checkpoints(str(path), "f")
    run = bench.start(second)
    second.resume(run)
    run.run()
    assert replay_result(run, "t") == replay_result(whole, "t")
    second.finish()
    assert not path.exists()


def test_one_is_written_now_and_then(timeline: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "INTERVAL", -1.0)
    path = timeline.parent / "checkpoint"
    Bench(timeline).start(Checkpoints(str(path), "f")).run()
    assert path.exists()


def test_a_plugin_whose_assumptions_would_be_forgotten_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = cluster_of(state_of(tmp_path, node("n")))
    check_state(cluster)
    monkeypatch.setattr(NodeName, "carry_over", lambda self, previous: None, raising=False)
    with pytest.raises(UsageError, match="save the state of NodeName"):
        check_state(cluster)


def test_a_replay_that_ends_leaves_no_checkpoint(
    ksched: Ksched, write_state: WriteState, timeline: Path, tmp_path: Path
) -> None:
    path = tmp_path / "checkpoint"
    command = ("replay", timeline, "--state", write_state(a_node("n")), "--checkpoint", path)
    code, out, _ = ksched(*command)
    assert (code, path.exists()) == (0, False)
    assert "6 pods placed" in out
    path.write_bytes(b"else")
    code, _, err = ksched(*command)
    assert (code, "this is not a checkpoint" in err) == (2, True)


def test_a_checkpoint_is_of_one_seed(
    ksched: Ksched, write_state: WriteState, timeline: Path, tmp_path: Path
) -> None:
    path = tmp_path / "checkpoint"
    saved = Checkpoints(str(path), "of another seed")
    with pytest.raises(EndedBySignal), saved.interruption.awaited():
        Bench(timeline).start(saved, interrupt_at=8_000_000).run()
    command = ("replay", timeline, "--state", write_state(a_node("n")), "--checkpoint", path)
    code, _, err = ksched(*command, "--tie-break", "random", "--seed", 3)
    assert (code, "a checkpoint of another timeline" in err) == (2, True)
    path.unlink()
    code, out, _ = ksched(*command, "--tie-break", "random", "--seed", 3)
    assert (code, "6 pods placed" in out) == (0, True)


def test_a_checkpoint_is_of_the_configuration_that_is_named(
    timeline: Path, write_state: WriteState, tmp_path: Path
) -> None:
    state = write_state(a_node("n"))
    path = tmp_path / "config.yaml"
    path.write_text(f"{HEAD}---\n{HEAD}parallelism: 3\n")

    def fingerprint(config: str) -> str:
        run = Run(states=(str(state),), timeline=str(timeline), configuration=config)
        return fingerprint_of(run, Opener([run]))

    second = fingerprint(f"{path}#2")
    assert second != fingerprint(f"{path}#1")
    path.write_text(f"{HEAD}parallelism: 4\n---\n{HEAD}parallelism: 3\n")
    assert second == fingerprint(f"{path}#2")


INTERRUPTS = """
import os, signal
from pathlib import Path
from ksched_cli.api import PreFilterPlugin, SUCCESS
class Interrupts(PreFilterPlugin):
    name = "Interrupts"
    def pre_filter(self, state, pod, nodes):
        flag = Path(__file__).with_name("interrupted")
        if pod.name == "p3" and not flag.exists():
            flag.touch()
            os.kill(os.getpid(), signal.SIGTERM)
        return None, SUCCESS
"""


def test_another_process_resumes_a_replay_to_the_same_bytes(
    write_state: WriteState, timeline: Path, tmp_path: Path
) -> None:
    plugin, path = tmp_path / "interrupts.py", tmp_path / "checkpoint"
    plugin.write_text(INTERRUPTS)
    state = write_state(a_node("n", cpu="2"), a_node("m", cpu="2"))
    options = (
        "--state",
        state,
        "--plugin",
        plugin,
        "-o",
        "json",
        "--trace",
        "--kubernetes-version",
    )
    command = ("replay", timeline, *options, "1.34")

    def run(seed: str, *more: object) -> subprocess.CompletedProcess[bytes]:
        """seed: of the order of sets"""
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        arguments = [sys.executable, "-m", "ksched_cli", *map(str, (*command, *more))]
        return subprocess.run(arguments, env=environment, capture_output=True, check=False)

    first = run("1", "--checkpoint", path)
    assert (first.returncode, first.stdout) == (-signal.SIGTERM, b"")
    second = run("2", "--checkpoint", path)
    assert b"resuming" in second.stderr
    whole = run("3")
    assert (second.returncode, second.stdout) == (whole.returncode, whole.stdout)
    assert not path.exists()


PLUGIN = """
from ksched_cli.api import ScorePlugin
class Even(ScorePlugin):
    name = "Even"
    def score(self, state, pod, node):
        return {}
"""


def test_a_checkpoint_is_of_the_plugins_and_options_that_it_was_made_with(
    ksched: Ksched, write_state: WriteState, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last event of the timeline cannot happen, so that the checkpoint stays."""
    monkeypatch.setattr(checkpoints, "INTERVAL", -1.0)
    timeline, plugin, path = (tmp_path / name for name in ("t.json", "even.py", "checkpoint"))
    events = [*EVENTS, {"at": 9, "delete": {"kind": "Node", "name": "none"}}]
    timeline.write_text(json.dumps({**HEADER, "events": events}))
    plugin.write_text(PLUGIN.format(1))
    options = ("--state", write_state(a_node("n", cpu="9")), "--plugin", plugin)
    command = ("replay", timeline, *options, "--checkpoint", path)
    *_, first = ksched(*command)
    *_, again = ksched(*command)
    for other in ("--no-workloads", "--no-extenders", "--evict-at-once"):
        *_, err = ksched(*command, other)
        assert "a checkpoint of another timeline" in err
    plugin.write_text(PLUGIN.format(2))
    code, _, err = ksched(*command)
    assert (code, "a checkpoint of another timeline" in err) == (2, True)
    problem = "no Node none exists to delete"
    assert [problem in text for text in (first, again, err)] == [True, True, False]
    assert ["resuming" in text for text in (first, again)] == [False, True]


@pytest.mark.parametrize("option", ["--record-extenders", "--replay-extenders"])
def test_a_recording_has_no_checkpoint(
    option: str, ksched: Ksched, write_state: WriteState, timeline: Path, tmp_path: Path
) -> None:
    command = ("replay", timeline, "--state", write_state(a_node("n")), "--checkpoint")
    code, _, err = ksched(*command, tmp_path / "checkpoint", option, tmp_path / "calls")
    assert (code, f"--checkpoint cannot be combined with {option}" in err) == (2, True)


@pytest.mark.parametrize("attack", [popen, file_io, attrgetter])
def test_a_pickle_runs_nothing_and_empties_nothing(
    attack: Callable[[str], bytes],
    ksched: Ksched,
    write_state: WriteState,
    timeline: Path,
    tmp_path: Path,
) -> None:
    diary, folder, path = tmp_path / "diary", tmp_path / "folder", tmp_path / "checkpoint"
    diary.write_text("Monday")
    path.write_bytes(of_former_format(attack(str(diary if attack is file_io else folder))))
    command = ("replay", timeline, "--state", write_state(a_node("n")), "--checkpoint", path)
    code, out, err = ksched(*command)
    assert (diary.read_text(), folder.exists()) == ("Monday", False)
    assert (code, out) == (2, "")
    assert err.splitlines()[0] == f"error: {path}: this is not a checkpoint"
