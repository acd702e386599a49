"""A function that takes an object of options becomes a command with an option per field."""

from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner, Result

from ksched_cli.commands.command import as_command
from ksched_cli.commands.command_line import ExampleCommand
from ksched_cli.commands.options import CommonOptions
from ksched_cli.commands.output import results
from ksched_cli.errors import ExitCode
from ksched_cli.report.forms import Form


@dataclass(frozen=True, slots=True)
class MoreOptions(CommonOptions):
    """As if somebody had added an option to all commands."""

    later: Annotated[bool, typer.Option("--later")] = False


def ask(
    pod: Annotated[str, typer.Argument()],
    options: MoreOptions,
    own: Annotated[int, typer.Option("--own")] = 0,
) -> ExitCode:
    """What the help says.

    Examples:
        ksched ask p --later
        ksched ask p --own 7
    """
    print(pod, options.later, options.output.value, own, file=results())
    return ExitCode.NO if options.later else ExitCode.YES


def run(*args: str) -> Result:
    app = typer.Typer(rich_markup_mode=None)
    app.command(cls=ExampleCommand)(as_command(ask))
    return CliRunner().invoke(app, args)


@pytest.mark.parametrize(
    ("args", "line", "code"),
    [
        (["p"], "p False table 0", 0),
        (["p", "--later", "-o", "json", "--own", "7"], "p True json 7", 1),
    ],
)
def test_options_arrive_as_one_object_and_the_exit_code_leaves(
    args: list[str], line: str, code: int
) -> None:
    result = run(*args)
    assert (result.stdout, result.exit_code) == (line + "\n", code)


def test_help_has_own_options_then_panels_of_shared_ones_then_examples() -> None:
    shown = run("--help-all").stdout
    parts = ["What the help says.", "Options:", "--later", "--own", "Configuration:", "--plugin"]
    parts += ["Output:", "--output", "Examples:\n  ksched ask p --later\n  ksched ask p --own 7\n"]
    assert sorted(parts, key=shown.index) == parts


def test_brief_help_has_own_options_and_counts_the_others() -> None:
    shown = run("--help").stdout
    parts = ["What the help says.", "Options:", "--later", "--own", "common options (", "Examples:"]
    assert sorted(parts, key=shown.index) == parts
    assert "--plugin" not in shown


def test_the_object_has_its_defaults() -> None:
    options = CommonOptions()
    assert (options.given, options.output) == ({}, Form.TABLE)
