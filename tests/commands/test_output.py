"""Results to standard output, as wide as asked; the rest to standard error."""

import sys

import pytest

from ksched_cli.commands import output
from ksched_cli.report.forms import Form, Report
from ksched_cli.report.table import MIN_WIDTH, TERMINAL, Limit


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)


def test_a_pipe_has_a_hundred_columns_and_the_same_groups(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    assert output.limit() == TERMINAL
    assert output.limit(everything=True) == Limit(width=100)


@pytest.mark.parametrize(("columns", "width"), [("60", 60), ("7", MIN_WIDTH)])
def test_columns_of_the_environment_are_the_width(columns, width, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    assert output.limit().width == width


@pytest.mark.usefixtures("terminal")
def test_a_terminal_has_colours_unless_no_color_is_set(monkeypatch):
    assert output.limit().colour
    monkeypatch.setenv("NO_COLOR", "1")
    assert not output.limit().colour


def test_a_result_that_cannot_be_rendered_prints_nothing(capsys):
    def fail():
        raise ValueError("half of it")

    with pytest.raises(ValueError, match="half"):
        output.show(Report(document=dict, table=fail), Form.TABLE)
    assert capsys.readouterr().out == ""


def test_warnings_go_to_standard_error(capsys):
    output.warn("odd")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "warning: odd\n")
