"""A replay that was ended resumes with its sweep."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from ksched_cli.engine.replay.replay import Replay
from ksched_cli.sweep.outcome import Ended, Outcome, Performer, RunCheckpoint, Task
from ksched_cli.sweep.preparation import Shared
from ksched_cli.testing import node
from tests.run.runs import TIMELINE
from tests.sweep.sweeps import sweep, write_state


class Killed(BaseException):
    """As the process that makes the run is."""


@pytest.fixture
def replayed(tmp_path: Path) -> tuple[Shared, Task]:
    """A run, and rows beside which it has its checkpoint."""
    write_state(tmp_path / "nodes.json", node("a", cpu=4))
    (tmp_path / "week.json").write_text(json.dumps(TIMELINE))
    read = sweep(tmp_path, states=["nodes.json"], timelines=["week.json"], seeds=[1])
    (task,) = read.tasks()
    return replace(read.shared, rows=str(tmp_path / "rows.jsonl")), task


def perform(
    shared: Shared, task: Task, monkeypatch: pytest.MonkeyPatch, kill_after: int = 10**6
) -> tuple[Outcome, list[int]]:
    """The outcome, and the instants of the replay. kill_after: how many there are"""
    instants: list[int] = []

    class Observed(RunCheckpoint):
        def after_instant(self, replay: Replay) -> None:
            super().after_instant(replay)
            instants.append(replay.clock.now)
            if len(instants) == kill_after:
                monkeypatch.setattr(Observed, "remove", lambda self: None)
                raise Killed

    monkeypatch.setattr("ksched_cli.sweep.outcome.RunCheckpoint", Observed)
    return Performer(shared).perform(task), instants


def test_a_replay_goes_on_where_it_was_to_the_same_outcome(
    replayed: tuple[Shared, Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    shared, task = replayed
    file = Path(f"{shared.rows}.{task.id}.checkpoint")
    undisturbed, instants = perform(shared, task, monkeypatch)
    assert isinstance(undisturbed, Ended)
    assert not file.exists()
    monkeypatch.setattr("ksched_cli.sweep.outcome.CHECKPOINT_INTERVAL", 0.0)
    for count in range(1, len(instants)):
        with pytest.raises(Killed):
            perform(shared, task, monkeypatch, kill_after=count)
        assert file.exists()
        outcome, rest = perform(shared, task, monkeypatch)
        assert rest == instants[count:]
        assert structs.replace(outcome, seconds=0) == structs.replace(undisturbed, seconds=0)
        assert not file.exists()


@pytest.mark.parametrize("content", [b"", b"something else"])
def test_a_file_of_something_else_is_passed_over(
    content: bytes, replayed: tuple[Shared, Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    shared, task = replayed
    Path(f"{shared.rows}.{task.id}.checkpoint").write_bytes(content)
    assert perform(shared, task, monkeypatch)[0].status == "ok"


def test_where_no_file_can_be_written_the_run_is_made(
    replayed: tuple[Shared, Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    shared, task = replayed
    monkeypatch.setattr("ksched_cli.sweep.outcome.CHECKPOINT_INTERVAL", 0.0)
    elsewhere = replace(shared, rows="/no/such/folder/rows.jsonl")
    assert perform(elsewhere, task, monkeypatch)[0].status == "ok"
