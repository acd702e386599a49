"""Progress shows on a terminal as it goes, elsewhere as a line now and then."""

from __future__ import annotations

import gzip
import io
import json
import random
import sys
import time
from dataclasses import replace
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.commands import progress
from ksched_cli.commands.output import SETTINGS
from ksched_cli.commands.progress import Pace, ReplayProgress
from ksched_cli.engine.replay.replay import Replay
from ksched_cli.scenario.timeline import read_timeline
from tests.replays import node, pod, replay_of, state_of


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_without_a_terminal_a_line_comes_every_ten_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    error, now = io.StringIO(), 0
    monkeypatch.setattr(sys, "stderr", error)
    monkeypatch.setattr(progress, "monotonic", lambda: now)
    with progress.of("pods placed") as on_progress:
        assert on_progress is not None
        for now in range(25):
            on_progress(1_000 * now, 25_000)
    assert error.getvalue().splitlines() == [
        "10,000 of 25,000 pods placed",
        "20,000 of 25,000 pods placed",
    ]


def test_quiet_commands_show_no_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SETTINGS, "quiet", True)
    with progress.of("pods placed") as on_progress:
        assert on_progress is None


def test_a_bar_is_drawn_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress.of("pods placed") as on_progress:
        assert on_progress is not None
        for placed in range(1, 201):
            on_progress(placed, 200)
    assert "pods placed" in terminal.getvalue()
    assert "200/200" in terminal.getvalue()
    assert "100/200" not in terminal.getvalue()


def test_a_bar_moves_as_it_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, seconds = Terminal(), count()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "monotonic", lambda: next(seconds))
    with progress.of("pods placed") as on_progress:
        assert on_progress is not None
        on_progress(50, 200)
        deadline = time.monotonic() + 60
        while "50/200" not in terminal.getvalue():
            assert time.monotonic() < deadline
            time.sleep(0.01)


# -- replays: of ten pods that come every minute and run for half a one ----------------------------

EVENTS = [{"at": 60 * n, "pod": pod(f"p{n}"), "runsFor": 30} for n in range(10)]


def shown_of(folder: Path, shown: ReplayProgress, **fields: Any) -> Replay:
    """A replay that is shown instant by instant."""
    run = replay_of(folder, [node("n")], EVENTS, **fields)
    run.options = replace(run.options, on_instant=lambda _: shown.after_instant())
    shown.begin(run)
    run.run()
    return run


def test_a_replay_in_a_pipe_says_how_far_it_is_how_fast_and_what_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At 0, 30, 60, …, 570 s something happens: 20 instants. After the one at 240 s half of the
    events have happened, and as much time as they took is left."""
    error = io.StringIO()
    monkeypatch.setattr(sys, "stderr", error)
    clock = iter(range(1_000))  # a second from one look at it to the next
    monkeypatch.setattr(progress, "monotonic", lambda: next(clock))
    monkeypatch.setattr(progress, "LINE_EVERY", 0)
    with progress.of_replay() as shown:
        shown_of(tmp_path, shown, start="2026-11-23T08:00:00Z")
    lines = error.getvalue().splitlines()
    assert len(lines) == 20
    assert lines[8].startswith("replaying: Mon 08:04:00, 5 events, ")
    assert lines[8].endswith("s left")
    assert lines[-1].endswith("the timeline is read")


def test_a_replay_says_something_every_ten_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock that goes on by 3 s with each look: one after each of 20 instants, and some for each
    line."""
    seconds, times = count(step=3), []
    monkeypatch.setattr(progress, "monotonic", lambda: next(seconds))
    show = ReplayProgress(lambda line: times.append(next(seconds)), progress.LINE_EVERY)
    shown_of(tmp_path, show)
    assert len(times) > 3
    assert all(10 <= later - before < 30 for before, later in pairwise(times))


def test_quiet_replays_say_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "LINE_EVERY", -1)
    monkeypatch.setattr(SETTINGS, "quiet", True)
    error = io.StringIO()
    monkeypatch.setattr(sys, "stderr", error)
    with progress.of_replay() as shown:
        shown_of(tmp_path, shown)
    assert error.getvalue() == ""


def test_on_a_terminal_a_line_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "REDRAW_SECONDS", -1)
    with progress.of_replay() as shown:
        shown_of(tmp_path, shown)
    assert "replaying" in terminal.getvalue()


def test_the_pace_is_of_what_was_done_since_it_began(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pace that begins after 270 s, with five events, five attempts and five ends done, counts
    the other five of each: 15 in three seconds. The sixth event has been read then; nothing is left
    at the end."""
    clock = iter([100.0, 103.0, 103.0, 103.0])
    monkeypatch.setattr(progress, "monotonic", lambda: next(clock))
    paces = []

    def on_instant(run: Replay) -> None:
        if run.clock.now == 270_000_000:
            paces.append(Pace(run))

    run = replay_of(tmp_path, [node("n")], EVENTS)
    run.options = replace(run.options, on_instant=on_instant)
    run.run()
    assert (paces[0].share, paces[0].rate, paces[0].left) == (0.6, 5, 0)


@pytest.mark.parametrize("name", ["t.json", "t.jsonl", "t.jsonl.gz"])
def test_how_much_of_a_timeline_was_read_is_known_of_every_form(name: str, tmp_path: Path) -> None:
    head: dict[str, Any] = {"apiVersion": "ksched/v1", "kind": "Timeline"}
    # Names that hardly compress: from 3.12 on, Python reads 128 KiB of gzip at a time.
    names = [random.Random(n).randbytes(30).hex() for n in range(9_000)]
    events = [{"at": n, "delete": {"kind": "Pod", "name": name}} for n, name in enumerate(names)]
    lines = "".join(f"{json.dumps(each)}\n" for each in (head, *events)).encode()
    texts = {
        "t.json": json.dumps({**head, "events": events}).encode(),
        "t.jsonl": lines,
        "t.jsonl.gz": gzip.compress(lines),
    }
    (tmp_path / name).write_bytes(texts[name])
    timeline = read_timeline(str(tmp_path / name), state_of(tmp_path, node("n")))
    shares = [timeline.share_read() for _ in timeline.events()]
    assert timeline.share_read() == 1
    assert shares == sorted(shares)
    assert shares[0] < 0.6 < shares[-1] <= 1
