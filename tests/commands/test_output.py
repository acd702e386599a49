"""Results to standard output, the rest to standard error; a terminal gets less."""

import sys

import pytest

from ksched_cli.commands import output
from ksched_cli.report.forms import Form, Report
from ksched_cli.report.table import EVERYTHING, TERMINAL, Limit


@pytest.mark.parametrize(
    ("terminal", "everything", "limit"),
    [
        (True, False, TERMINAL),
        (True, True, Limit(width=TERMINAL.width)),
        (False, False, EVERYTHING),
        (False, True, EVERYTHING),
    ],
)
def test_only_a_terminal_limits_tables(terminal, everything, limit, monkeypatch):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    assert output.limit(everything) == limit


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
