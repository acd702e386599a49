"""Checkpoints of `ksched replay`."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from ksched_cli.commands import checkpoints
from ksched_cli.commands.checkpoints import Checkpoints, check_state
from ksched_cli.commands.signals import EndedBySignal
from ksched_cli.engine.replay.records import PodRecord
from ksched_cli.engine.replay.replay import Replay, ReplayOptions
from ksched_cli.errors import UsageError
from ksched_cli.plugins.node_name import NodeName
from ksched_cli.report.replay import document
from ksched_cli.scenario.timeline import read_timeline
from ksched_cli.testing import node as a_node
from tests.commands.runners import Ksched, WriteState
from tests.replays import node, pod, state_of, world_of

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

        options = ReplayOptions(on_record=saved.records.append, on_instant=on_instant)
        return Replay(world_of(self.state), read.events(), options)


def test_a_signal_ends_it_after_the_instant_and_it_goes_on_from_there(
    timeline: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bench, path = Bench(timeline), timeline.parent / "checkpoint"
    records: list[PodRecord] = []
    whole = bench.start(Checkpoints(str(path), "f", records))
    whole.run()
    first = Checkpoints(str(path), "f", [])
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(EndedBySignal), first.signals():
        bench.start(first, interrupt_at=8_000_000).run()
    assert signal.getsignal(signal.SIGTERM) is before
    assert path.stat().st_mode & 0o077 == 0
    assert "the same command goes on with" in capsys.readouterr().err
    second = Checkpoints(str(path), "f", [])
    run = bench.start(second)
    second.resume(run)
    run.run()
    assert document(run, "t", second.records) == document(whole, "t", records)
    second.finish()
    assert not path.exists()


def test_one_is_written_now_and_then(timeline: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "INTERVAL", -1.0)
    path = timeline.parent / "checkpoint"
    Bench(timeline).start(Checkpoints(str(path), "f", [])).run()
    assert path.exists()


def test_a_plugin_whose_assumptions_would_be_forgotten_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = world_of(state_of(tmp_path, node("n")))
    check_state(world)
    monkeypatch.setattr(NodeName, "carry_over", lambda self, previous: None, raising=False)
    with pytest.raises(UsageError, match="what NodeName assumes"):
        check_state(world)


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
    assert (code, "this is no checkpoint" in err) == (2, True)


def test_a_checkpoint_is_of_one_seed(
    ksched: Ksched, write_state: WriteState, timeline: Path, tmp_path: Path
) -> None:
    path = tmp_path / "checkpoint"
    saved = Checkpoints(str(path), "of another seed", [])
    with pytest.raises(EndedBySignal), saved.signals():
        Bench(timeline).start(saved, interrupt_at=8_000_000).run()
    command = ("replay", timeline, "--state", write_state(a_node("n")), "--checkpoint", path)
    code, _, err = ksched(*command, "--tie-break", "random", "--seed", 3)
    assert (code, "a checkpoint of another timeline" in err) == (2, True)
    path.unlink()
    code, out, _ = ksched(*command, "--tie-break", "random", "--seed", 3)
    assert (code, "6 pods placed" in out) == (0, True)
