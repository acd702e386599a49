"""Messages about the command line are ours."""

import json
import re
import shlex
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

from ksched_cli.commands.command_line import positive_number, time_limit
from ksched_cli.commands.main import COMMANDS, GROUPS, PANELS, application
from ksched_cli.errors import UsageError
from ksched_cli.testing import node, pod

Run = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]

MESSAGES = {
    "schedul": 'ksched has no command "schedul"; did you mean ksched schedule?',
    "xyz": 'ksched has no command "xyz"; ksched --help lists them',
    "config shew": 'ksched config has no command "shew"; did you mean ksched config show?',
    "why web-1 -n shop": (
        'ksched has no command "why"; did you mean ksched explain web-1 -n shop?'
    ),
    "lint a.yaml": 'ksched has no command "lint"; did you mean ksched validate a.yaml?',
    "plan --x": (
        'ksched has no command "plan"; did you mean ksched capacity, ksched compare or '
        "ksched shrink?"
    ),
    "explain pod web-1": (
        'ksched explain takes no argument "web-1"; did you mean ksched explain pod/web-1?'
    ),
    "schedule dump.json": (
        'ksched schedule takes no argument "dump.json"; did you mean --state dump.json?'
    ),
    "schedule --stat x": "ksched schedule has no option --stat; did you mean --state?",
    "schedule -z": "ksched schedule has no option -z; ksched schedule --help lists its options",
    "-o json": "ksched has no option -o; ksched --help lists its options",
    "schedule --state": "--state requires a value",
    "schedule --no-cache=yes": "--no-cache takes no value",
    "schedule --seed x": '--seed takes a whole number; not "x"',
    "explain p --top 0": '--top takes a whole number of at least 1; not "0"',
    "capacity p --max -3": '--max takes a whole number of at least 1; not "-3"',
    "explain p q": 'ksched explain takes no argument "q"; ksched explain --help says what it does',
    "preempt": "preempt takes one of POD and -f FILE",
    "validate": "CONFIG... is missing: ksched validate CONFIG...",
    "config diff a": "A B is missing: ksched config diff A B",
    "config migrate": "FILE is missing: ksched config migrate FILE",
    "test": "FILE... is missing: ksched test FILE...",
    "timeline from-csv x.csv": ("from-csv requires --recipe, or --created and --request"),
    "schedule -o pdf": (
        "-o of ksched schedule takes one of table, json, yaml, html, markdown, latex, csv, "
        'parquet, wide, name; not "pdf"'
    ),
}


@pytest.mark.parametrize("line", MESSAGES)
def test_what_a_command_does_not_take_is_one_line_and_exit_code_2(line: str, ksched: Run) -> None:
    assert ksched(*line.split()) == (2, "", f"error: {MESSAGES[line]}\n")


@pytest.mark.parametrize(
    ("text", "seconds"), [("30", 30), ("0", 0), ("2.5", 2.5), ("1m30s", 90), ("250ms", 0.25)]
)
def test_a_time_limit_is_seconds_or_a_duration(text: str, seconds: float) -> None:
    assert time_limit(text) == seconds


@pytest.mark.parametrize("text", ["soon", "", "-1", "-30s", "nan", "inf"])
def test_a_time_limit_that_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--time-limit takes a duration, such as 30s; not "):
        time_limit(text)


def test_the_longest_interval_is_three_years() -> None:
    assert positive_number("--interval")("1e8") == 1e8


@pytest.mark.parametrize(
    ("command", "shown"), [("--help", [0, 1]), ("--help-all", [0, 1, 2, 3, 4])]
)
def test_help_has_the_first_two_paragraphs_and_help_all_every_one(
    command: str, shown: list[int], ksched: Run
) -> None:
    paragraphs = root().commands["explain"].help.split("\n\n")
    _, out, _ = ksched("explain", command)
    text = " ".join(out.split())
    assert len(paragraphs) == 5
    assert [i for i, each in enumerate(paragraphs) if " ".join(each.split()) in text] == shown


@pytest.mark.parametrize(
    ("command", "usage"),
    [
        ("compare", "[OPTIONS] [CONFIG]..."),
        ("config diff", "[OPTIONS] A B"),
        ("explain", "[OPTIONS] [POD]"),
        ("snapshot", "[OPTIONS] [FILE]"),
        ("test", "[OPTIONS] FILE..."),
        ("timeline generate", "[OPTIONS] [FILE[=WEIGHT]...]"),
        ("validate", "[OPTIONS] [CONFIG...]"),
    ],
)
def test_usage_has_arguments_as_manuals_write_them(command: str, usage: str, ksched: Run) -> None:
    _, out, _ = ksched(*command.split(), "--help")
    assert out.splitlines()[0] == f"Usage: ksched {command} {usage}"


@pytest.mark.parametrize("command", ["", "explain", "config diff"])
def test_help_is_a_command_too(command: str, ksched: Run) -> None:
    assert ksched("help", *command.split()) == ksched(*command.split(), "--help")


@cache
def root() -> Any:
    return typer.main.get_command(application())


def _examples() -> list[str]:
    """Every example in the help of a command."""

    def of(command: Any) -> list[str]:
        if hasattr(command, "commands"):
            return [line for inner in command.commands.values() for line in of(inner)]
        assert command.examples, f"{command.name} has no example"
        return list(command.examples)

    return of(root())


@pytest.mark.parametrize("example", _examples())
def test_an_example_in_help_is_a_command_line_that_the_command_takes(example: str) -> None:
    assert len(example) <= 78
    program, *args = shlex.split(re.sub(r" [|>] (?!ksched).*|.*\| (?=ksched)", "", example))
    assert program == "ksched"
    command = root()
    while hasattr(command, "commands"):
        command = command.commands[args.pop(0)]
    command.make_context(command.name, args)


def test_arguments_in_help_have_no_types_of_python(ksched: Run) -> None:
    _, out, _ = ksched("test", "--help")
    assert "  FILE...  Files of expectations" in out


@pytest.mark.parametrize("group", ["", *GROUPS])
def test_help_has_a_whole_line_for_each_command(group: str, ksched: Run) -> None:
    _, out, _ = ksched(*group.split(), "--help")
    panels = [panel.splitlines() for panel in out.split("\n\n") if not panel.startswith("Options:")]
    lines = [line for title, *lines in panels if title.endswith(":") for line in lines]
    names = [line.split()[0] for line in lines]
    assert len(names) == len(set(names))
    if not group:
        assert {*names} == {*COMMANDS, *GROUPS}
        assert [title for title, *_ in panels if title.endswith(":")] == [f"{p}:" for p in PANELS]
    for line in lines:
        assert line.startswith("  ")
        assert line.rstrip()[-1] in ".?", line


@pytest.mark.parametrize("args", [(), ("config",)])
def test_without_a_command_there_is_help_and_exit_code_2(
    args: tuple[str, ...], ksched: Run
) -> None:
    code, out, err = ksched(*args)
    assert (code, out) == (2, "")
    assert err.startswith("Usage: ksched")


@pytest.mark.parametrize(
    ("trace", "pods"),
    [
        (["--trace=p"], {"default/p"}),
        (["--trace", "p"], {"default/p"}),
        (["--trace=p", "--trace", "pod/q"], {"default/p", "default/q"}),
        (["--trace"], {"default/p", "default/q", "default/r"}),
    ],
)
def test_attempts_are_those_of_the_traced_pods(
    trace: list[str], pods: set[str], ksched: Run, write_state: Write
) -> None:
    state = write_state(node("a"), pod("p"), pod("q"), pod("r"))
    _, out, _ = ksched("schedule", "--state", state, *trace, "-o", "json")
    assert {attempt["pod"] for attempt in json.loads(out)["attempts"]} == pods


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("schedule --all -o json", "--all has no effect with -o json"),
        ("explain p --all -o yaml", "--all has no effect with -o yaml"),
        ("explain p --all -o name", "--all has no effect with -o name"),
        ("schedule --nodes -o json", "--nodes has no effect with -o json"),
        ("schedule --trace", "--trace has no effect without -o json or -o yaml"),
        ("schedule --seed 3", "--seed requires --tie-break random"),
    ],
)
def test_an_option_that_would_do_nothing_is_refused(
    line: str, message: str, ksched: Run, write_state: Write
) -> None:
    state = write_state(node("a"), pod("p"))
    code, out, err = ksched(*line.split(), "--state", state)
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {message}")


def test_a_namespace_may_be_that_of_names_in_changes(ksched: Run, write_state: Write) -> None:
    state = write_state(node("a"), pod("p", "shop"))
    change = ("--change", "label pods p tier=web")
    assert ksched("schedule", "-n", "shop", *change, "--state", state)[0] == 0
