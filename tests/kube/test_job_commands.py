"""Lines that the runner of a CI job obeys."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable

import pytest
from hypothesis import given

from ksched_cli.kube.job_commands import (
    JSON,
    VARIABLES,
    XML,
    GuardedStream,
    disarmed,
    disarmed_errors,
)
from tests.job_logs import PARTS, SECTION, leave_job, obeyed


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("::error file=x::no", r"\x3a:error file=x::no"),
        ("a\n \t::stop-commands::b", "a\n \t" r"\x3a:stop-commands::b"),
        ("a\r::warning::b", "a\r" r"\x3a:warning::b"),
        ("\xa0\u3000\ufeff::debug::", "\xa0\u3000\ufeff" r"\x3a:debug::"),
        (":::error::", r"\x3a::error::"),
        ("pod ##[error]x", r"pod \x23#[error]x"),
        ("####[group]", r"##\x23#[group]"),
        ("pod ##vso[task.setvariable variable=A]b", r"pod \x23#vso[task.setvariable variable=A]b"),
        ("a section_start:1:b\r\x1b[0K", "a section_start\\x3a1:b\r\x1b[0K"),
        ("section_end:1:b\r\x1b[0K", "section_end\\x3a1:b\r\x1b[0K"),
    ],
)
def test_a_command_is_shown_escaped(text: str, shown: str) -> None:
    assert obeyed(text)
    assert disarmed(text) == shown


@pytest.mark.parametrize(
    "text",
    ["fe80::1 is an address", "a\nb ::error::", "## [x]", "#[x]", ": :error", "section_start: a"],
)
def test_what_is_no_command_stays(text: str) -> None:
    assert not obeyed(text)
    assert disarmed(text) == text


def test_own_commands_stay_and_those_in_them_do_not() -> None:
    assert disarmed("::error::a ##[b]", own_lines=True) == r"::error::a \x23#[b]"


@given(PARTS)
def test_no_line_of_any_text_is_obeyed(parts: list[str]) -> None:
    text = "".join(parts)
    assert not obeyed(disarmed(text))
    assert disarmed(disarmed(text)) == disarmed(text)
    for escapes in (JSON, XML):
        others = [line for line in obeyed(disarmed(text, escapes)) if not SECTION.match(line)]
        assert not others


def printed(parts: Iterable[str]) -> str:
    sink = io.TextIOWrapper(io.BytesIO(), "utf-8", newline="")
    lines = GuardedStream(sink)
    stream = lines.as_text()
    for part in parts:
        stream.write(part)
        stream.flush()
    lines.finish()
    data = sink.buffer
    assert isinstance(data, io.BytesIO)
    return data.getvalue().decode()


@given(PARTS)
def test_a_command_that_is_printed_in_pieces_is_none_either(parts: list[str]) -> None:
    assert not [line for line in obeyed(printed(parts)) if not SECTION.match(line)]


def test_a_line_is_printed_once_it_is_whole() -> None:
    assert printed([":", ":err", "or::x\n", "second ", "::\n", "third"]) == (
        "\\x3a:error::x\nsecond ::\nthird"
    )


@pytest.mark.parametrize("variable", VARIABLES)
def test_standard_error_is_guarded_in_a_job_only(
    variable: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    leave_job(monkeypatch)
    with disarmed_errors():
        print("::error::a", file=sys.stderr)
    monkeypatch.setenv(variable, "true")
    before = sys.stderr
    with disarmed_errors():
        print("::error::b\n::error::c", end="", file=sys.stderr)
        sys.stderr.buffer.write(b"\n::error::d\n")
        assert not sys.stderr.isatty()
    assert sys.stderr is before
    err = capsys.readouterr().err
    assert err == "::error::a\n\\x3a:error::b\n\\x3a:error::c\n\\x3a:error::d\n"
