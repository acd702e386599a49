"""Lines of changes as kubectl takes them."""

import pytest

from ksched_cli.scenario.change import Change, ChangeError
from ksched_cli.scenario.drain import Drain, Reschedule
from ksched_cli.scenario.file import parse_change
from ksched_cli.scenario.nodes import AddNodes, NodeChoice


@pytest.mark.parametrize(
    ("line", "change"),
    [
        ("drain a b", Drain("drain a b", NodeChoice(("a", "b")))),
        (
            "kubectl drain a --force=true",
            Drain("kubectl drain a --force=true", NodeChoice(("a",)), force=True),
        ),
        ("add-nodes x --like=y", AddNodes("add-nodes x --like=y", "x", "y", 1)),
        ("add-nodes x --like y --count 3", AddNodes("add-nodes x --like y --count 3", "x", "y", 3)),
        ("reschedule -l=a=b -n x", Reschedule("reschedule -l=a=b -n x", (), "a=b", "x")),
        ("reschedule -la=b", Reschedule("reschedule -la=b", (), "a=b", "ns")),
    ],
)
def test_a_line_is_a_change(line: str, change: Change) -> None:
    assert parse_change(line, "ns") == change


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "expected one of drain, cordon"),
        ("drian a", 'unknown change "drian"; did you mean drain?'),
        ("drain a --forse", 'unknown flag "--forse"; did you mean --force?'),
        ("drain a --xyz", 'unknown flag "--xyz"; it takes --namespace, --force'),
        ("drain 'a", "cannot be read: no closing quotation"),
        ("reschedule -l", "-l takes a value"),
    ],
)
def test_what_is_no_change_is_an_error(line: str, message: str) -> None:
    with pytest.raises(ChangeError) as error:
        parse_change(line)
    assert message in str(error.value)
