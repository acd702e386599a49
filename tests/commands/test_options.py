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
ABOUT_A_STATE = ("schedule", "explain", "preempt")


@pytest.mark.parametrize("command", COMMAND_LINES)
def test_every_command_has_the_common_options(command: list[str], ksched: Ksched) -> None:
    code, out, _ = ksched(*command, "--help")
    assert code == 0
    assert [option for option in COMMON if option not in out] == []


@pytest.mark.parametrize("command", ABOUT_A_STATE)
def test_every_command_about_a_state_has_its_options(command: str, ksched: Ksched) -> None:
    _, out, _ = ksched(command, "--help")
    assert [option for option in OF_A_STATE if f"{option} " not in out] == []


def test_extenders_bind_in_schedule_only(ksched: Ksched) -> None:
    shown = {command: ksched(command, "--help")[1] for command in ABOUT_A_STATE}
    assert [command for command, out in shown.items() if "--extender-bind" in out] == ["schedule"]


@pytest.mark.parametrize("width", [80, 100])
def test_help_fits_the_terminal(
    width: int, ksched: Ksched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    for command in ([], *COMMAND_LINES):
        _, out, _ = ksched(*command, "--help")
        assert max(map(len, out.splitlines())) <= width
