"""Progress shows on a terminal only."""

import io

import pytest

from ksched_cli.commands import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_without_a_terminal_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", io.StringIO())
    with progress.of_pods() as on_progress:
        assert on_progress is None


@pytest.mark.parametrize(("placed", "shown"), [(100, "50%"), (200, "100%")])
def test_a_bar_is_drawn_every_so_many_pods(
    placed: int, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with progress.of_pods() as on_progress:
        assert on_progress is not None
        on_progress(placed, 200)
    assert "pods placed" in terminal.getvalue()
    assert shown in terminal.getvalue()


def test_between_those_nothing_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with progress.of_pods() as on_progress:
        assert on_progress is not None
        on_progress(99, 200)
    assert "pods placed" in terminal.getvalue()
    assert "49%" not in terminal.getvalue()
    assert "50%" not in terminal.getvalue()


def test_simulated_time_is_shown_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with progress.of_time() as on_instant:
        assert on_instant is not None
        on_instant(7200.0, 5)
    monkeypatch.setattr("sys.stderr", io.StringIO())
    with progress.of_time() as on_instant:
        assert on_instant is None
