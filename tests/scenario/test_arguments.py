"""The line of a change as names and flags."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.scenario.arguments import Arguments, read_arguments, split_line
from ksched_cli.scenario.change import ChangeError

TAKES_VALUE = {"--selector": True, "--force": False, "--containers": True, "--replicas": True}


def read(*tokens: str, namespace: str = "") -> Arguments:
    return read_arguments("the line", tokens, TAKES_VALUE, namespace, Path())


@given(st.lists(st.text("ab '\"\\=-", min_size=1)))
def test_a_line_is_split_where_a_shell_splits_it(tokens: list[str]) -> None:
    assert split_line(shlex.join(["kubectl", *tokens])) == tuple(tokens)
    assert split_line(shlex.join(["drain", *tokens])) == ("drain", *tokens)


@given(st.text("ab '\"\\=-\n"))
def test_quotes_and_backslashes_are_read_as_a_shell_reads_them(text: str) -> None:
    try:
        expected = tuple(shlex.split(text))
    except ValueError:
        with pytest.raises(ChangeError, match="cannot be read: no "):
            split_line(text)
    else:
        assert split_line(text) == expected


def test_a_quote_that_is_not_closed_is_an_error() -> None:
    with pytest.raises(ChangeError, match="cannot be read: no closing quotation"):
        split_line("drain 'n1")


@pytest.mark.parametrize(
    ("tokens", "names", "flags"),
    [
        (("a", "b"), ("a", "b"), {}),
        (("a", "-l", "x=y"), ("a",), {"--selector": "x=y"}),
        (("-lx=y", "a"), ("a",), {"--selector": "x=y"}),
        (("-l=x=y",), (), {"--selector": "x=y"}),
        (("--selector=x=y", "--force", "a"), ("a",), {"--selector": "x=y", "--force": "true"}),
        (("--force=false",), (), {"--force": "false"}),
        (("--container", "c"), (), {"--containers": "c"}),
        (("-f", "a"), None, None),
        (("-",), ("-",), {}),
    ],
)
def test_flags_are_written_long_short_or_joined(
    tokens: tuple[str, ...], names: tuple[str, ...] | None, flags: dict[str, str] | None
) -> None:
    if names is None:
        with pytest.raises(ChangeError, match='unknown flag "-f"'):
            read(*tokens)
        return
    arguments = read(*tokens)
    assert (arguments.names, dict(arguments.flags)) == (names, flags)


def test_a_namespace_of_the_line_goes_before_that_of_all_changes() -> None:
    assert read("a", namespace="all").namespace == "all"
    assert read("a", "-n", "own", namespace="all").namespace == "own"
    assert "--namespace" not in read("a", "--namespace=own").flags


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (("--selectr=x",), 'unknown flag "--selectr"; did you mean --selector?'),
        (("--zzz",), 'unknown flag "--zzz"; it takes --namespace, --selector'),
        (("-l",), "-l takes a value"),
    ],
)
def test_a_flag_that_cannot_be_read_is_an_error(tokens: tuple[str, ...], message: str) -> None:
    with pytest.raises(ChangeError) as error:
        read(*tokens)
    assert message in str(error.value)


def test_a_flag_is_on_unless_it_is_false() -> None:
    assert read("--force").has("--force")
    assert not read("--force=false").has("--force")
    assert not read().has("--force")


@pytest.mark.parametrize("text", ["-1", "1.5", "many", "", "9" * 5000, "\u00b2"])
def test_a_count_is_a_whole_number(text: str) -> None:
    assert read("--replicas=3").count("--replicas") == 3
    with pytest.raises(ChangeError, match="it takes a whole number"):
        read(f"--replicas={text}").count("--replicas")
    with pytest.raises(ChangeError, match="--replicas=N is missing"):
        read().count("--replicas")


def test_a_count_has_a_limit() -> None:
    assert read("--replicas=200000").count("--replicas") == 200_000
    with pytest.raises(ChangeError, match="it takes at most 200000"):
        read("--replicas=200001").count("--replicas")
