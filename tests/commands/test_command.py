"""A function that takes an object of options becomes a command with an option per field."""

from dataclasses import dataclass
from inspect import signature
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner, Result

from ksched_cli.commands.command import ExitCode, as_command
from ksched_cli.commands.options import Before, CommonOptions, StateOptions
from ksched_cli.commands.output import results
from ksched_cli.report.forms import Form


@dataclass(frozen=True, slots=True)
class MoreOptions(CommonOptions):
    """As if somebody had added an option to all commands."""

    later: Annotated[bool, typer.Option("--later"), Before("output")] = False


def ask(
    pod: Annotated[str, typer.Argument()],
    options: MoreOptions,
    own: Annotated[int, typer.Option("--own")] = 0,
) -> ExitCode:
    """What the help says."""
    print(pod, options.later, options.output.value, own, file=results())
    return ExitCode.NO if options.later else ExitCode.YES


def merely(options: StateOptions, own: bool = False) -> ExitCode:
    return ExitCode.YES


def run(*args: str) -> Result:
    app = typer.Typer(rich_markup_mode=None)
    app.command()(as_command(ask))
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


def test_the_help_is_that_of_the_function_with_its_options_in_order() -> None:
    shown = run("--help").stdout
    assert "What the help says." in shown
    options = ["--plugin", "--later", "--output", "--own"]
    assert sorted(options, key=shown.index) == options


def test_own_options_stand_after_output() -> None:
    names = list(signature(as_command(merely)).parameters)
    state = ["state", "live", "context", "kubeconfig"]
    plugins = ["no_workloads", "plugin", "no_plugins", "no_extenders"]
    before = [*state, "config", "patch", "change", "scenario", *plugins, "output"]
    assert names[: names.index("own") + 1] == [*before, "own"]


def test_the_object_has_its_defaults() -> None:
    options = CommonOptions()
    assert (options.plugin, options.output) == (None, Form.TABLE)
