"""What means the same in every command is there in every command."""

import pytest

from ksched_cli.commands.main import COMMANDS
from tests.commands.runners import Ksched

COMMON = ["--plugin ", "--no-plugins", "--no-extenders", "--output", "--help"]
OF_A_STATE = [
    "--state",
    "--config",
    "--record-extenders",
    "--replay-extenders",
    "--all",
    "--debug",
]
COMMAND_LINES = [
    *([name] for name in COMMANDS),
    *(["config", name] for name in ("show", "diff", "migrate")),
]
TIMELINES = ("from-dump", "generate", "from-csv")
ABOUT_A_STATE = ("schedule", "explain", "preempt")


@pytest.mark.parametrize("command", COMMAND_LINES)
def test_every_command_has_the_common_options(command: list[str], ksched: Ksched) -> None:
    code, out, _ = ksched(*command, "--help-all")
    assert code == 0
    assert [option for option in COMMON if option not in out] == []


@pytest.mark.parametrize("command", ABOUT_A_STATE)
def test_every_command_about_a_state_has_its_options(command: str, ksched: Ksched) -> None:
    _, out, _ = ksched(command, "--help-all")
    assert [option for option in OF_A_STATE if f"{option} " not in out] == []


def test_extenders_bind_in_schedule_only(ksched: Ksched) -> None:
    shown = {command: ksched(command, "--help-all")[1] for command in ABOUT_A_STATE}
    assert [command for command, out in shown.items() if "--extender-bind" in out] == ["schedule"]


@pytest.mark.parametrize("width", [80, 100])
def test_help_fits_the_terminal(
    width: int, ksched: Ksched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    for command in (
        [],
        *COMMAND_LINES,
        *(["timeline", name] for name in TIMELINES),
        ["serve", "page"],
    ):
        lines = ksched(*command, "--help")[1].splitlines()
        assert max(map(len, lines)) <= width
        assert len(lines) <= 40 or not command
        every = ksched(*command, "--help-all")[1].splitlines() if command else lines
        assert max(map(len, every)) <= width
