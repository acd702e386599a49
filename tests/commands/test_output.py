"""Results to standard output, as wide as asked; the rest to standard error."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ksched_cli.commands import output
from ksched_cli.commands.options import CommonOptions
from ksched_cli.commands.output import SETTINGS
from ksched_cli.framework.plugin_list import ListedPlugin, PluginList
from ksched_cli.report.forms import Form
from ksched_cli.report.limit import MIN_WIDTH, TERMINAL, Limit
from ksched_cli.testing import node, pod
from tests.commands.runners import Ksched, WriteState
from tests.report.anything import Anything
from tests.report.schemas import conforms


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)


def test_a_pipe_has_a_hundred_columns_and_the_same_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert output.limit() == TERMINAL
    monkeypatch.setattr(SETTINGS, "everything", True)
    assert output.limit() == Limit(width=100)


@pytest.mark.parametrize(("columns", "width"), [("60", 60), ("7", MIN_WIDTH)])
def test_columns_of_the_environment_are_the_width(
    columns: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert output.limit().width == width


@pytest.mark.usefixtures("terminal")
def test_a_terminal_has_colours_unless_no_color_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    assert output.limit().colour
    monkeypatch.setenv("NO_COLOR", "1")
    assert not output.limit().colour


def test_a_result_that_cannot_be_rendered_prints_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(AttributeError, match="VIEW"):
        output.show(Anything(), CommonOptions(output=Form.TABLE))  # no view shows it
    assert capsys.readouterr().out == ""


def test_warnings_go_to_standard_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output.SETTINGS, "quiet", False)
    output.warn("odd")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "warning: odd\n")


def test_a_command_prints_nothing_but_its_result_to_standard_output(
    ksched: Ksched, write_state: WriteState, tmp_path: Path
) -> None:
    plugin = tmp_path / "chatty.py"
    plugin.write_text(
        "from ksched_cli.api import ScorePlugin\n"
        "print('loaded')\n"
        "class Chatty(ScorePlugin):\n"
        "    name = 'Chatty'\n"
        "    def score(self, state, pod, node):\n"
        "        print('called')\n"
        "        return 1\n"
    )
    state = write_state(node("a", cpu=1000), node("b", cpu=1000), pod("p"))
    code, out, err = ksched("schedule", "--state", state, "--plugin", plugin, "-o", "json")
    assert (code, json.loads(out)["placements"]) == (0, {"default/p": "a"})
    assert "loaded" in err
    assert "called" in err


def test_a_document_has_the_warnings_and_the_next_one_does_not(
    ksched: Ksched, write_state: WriteState
) -> None:
    state = write_state(pod("p"))
    for _ in range(2):
        line = ("schedule", "--state", state, "--allow-empty-state", "-o", "json")
        _, out, err = ksched(*line)
        document = conforms(json.loads(out), "schedule_result")
        assert err.splitlines() == [f"warning: {line}" for line in document["warnings"]]
        assert len(document["warnings"]) == 1
    assert json.loads(ksched("plugins", "-o", "json")[1])["warnings"] == []


def test_half_of_a_surrogate_pair_is_shown_as_go_reads_it(tmp_path: Path) -> None:
    code = "from ksched_cli.commands.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "validate", "-", "-o", "json"],
        input=b'{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "\\ud800"}',
        capture_output=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "\ufffd" in json.loads(done.stdout)["findings"][0]["message"]


def lines(count: int) -> PluginList:
    """An answer whose text has so many lines, and some more."""
    plugins = tuple(ListedPlugin(f"plugin-{i}", "", (), False) for i in range(count))
    return PluginList(plugins=plugins)


@pytest.fixture
def pager(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A pager that writes what it gets, and its LESS, to a file; it is found on the PATH."""
    path = tmp_path / "paged"
    script = tmp_path / "pager"
    script.write_text(f'#!/bin/sh\necho "$LESS" > {path}; cat >> {path}\n')
    script.chmod(0o755)
    monkeypatch.setenv("PAGER", "pager")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("LINES", "20")
    monkeypatch.delenv("LESS", raising=False)
    monkeypatch.setattr(output.SETTINGS, "pager", True)
    return path


@pytest.mark.usefixtures("terminal")
def test_a_table_longer_than_the_terminal_goes_through_the_pager(pager: Path) -> None:
    output.show(lines(30), CommonOptions(output=Form.TABLE))
    assert pager.read_text().splitlines()[:2] == [
        "FRX",
        "\x1b[1m30 plugins, 0 of them run by default\x1b[0m",
    ]


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize(("count", "is_paged"), [(19, False), (20, True)])
def test_a_text_that_leaves_no_line_for_the_prompt_is_paged(
    pager: Path, count: int, is_paged: bool
) -> None:
    """The terminal has 20 lines."""
    output.show_text("\n".join(["x"] * count))
    assert pager.exists() == is_paged


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize(("count", "form"), [(5, Form.TABLE), (30, Form.YAML)])
def test_short_tables_and_data_do_not(count: int, form: Form, pager: Path) -> None:
    output.show(lines(count), CommonOptions(output=form))
    assert not pager.exists()


@pytest.mark.usefixtures("terminal")
def test_no_pager_and_an_empty_pager_print(
    pager: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(output.SETTINGS, "pager", False)
    output.show(lines(30), CommonOptions(output=Form.TABLE))
    monkeypatch.setattr(output.SETTINGS, "pager", True)
    monkeypatch.setenv("PAGER", "")
    output.show(lines(30), CommonOptions(output=Form.TABLE))
    assert capsys.readouterr().out.count("plugin-29") == 2
    assert not pager.exists()


def test_a_pipe_has_no_pager(pager: Path) -> None:
    output.show(lines(30), CommonOptions(output=Form.TABLE))
    assert not pager.exists()


def test_names_are_printed_one_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    output.show(lines(2), CommonOptions(output=Form.NAME))
    assert capsys.readouterr().out == "plugin-0\nplugin-1\n"


def test_quiet_prints_no_warnings(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output.SETTINGS, "quiet", True)
    output.warn("odd")
    assert capsys.readouterr().err == ""


def test_warnings_wrap_between_words_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(sys.stderr, "fileno", lambda: 2)
    monkeypatch.setattr(os, "get_terminal_size", lambda _: os.terminal_size((40, 20)))
    monkeypatch.delenv("NO_COLOR", raising=False)
    output.warn("word " * 12)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "\x1b[33mwarning:\x1b[0m word word word word word word"
    assert lines[1:] == ["  word word word word word word"]


def test_what_a_question_warns_of_comes_after_its_answer(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with output.command_output():
        output.warn_after("claims are missing")
        output.warn("a file was skipped")
        output.print_text("the answer")
        assert "claims" not in capsys.readouterr().err
    assert capsys.readouterr().err == "warning: claims are missing\n"


@pytest.mark.parametrize("is_terminal", [True, False])
def test_on_a_terminal_a_line_is_between_an_answer_and_its_warnings(
    is_terminal: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal)
    with output.command_output():
        output.print_after("a defect")
    assert capsys.readouterr().err == ("\na defect\n" if is_terminal else "a defect\n")
