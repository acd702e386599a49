"""Scenario files."""

from pathlib import Path

import pytest

from ksched_cli.errors import InputError
from ksched_cli.scenario.change import Change
from ksched_cli.scenario.file import read_scenario
from ksched_cli.scenario.nodes import Cordon, NodeChoice

HEAD = "apiVersion: ksched/v1\nkind: Scenario\n"


def read(tmp_path: Path, text: str) -> tuple[Change, ...]:
    path = tmp_path / "scenario.yaml"
    path.write_text(text)
    return read_scenario(str(path))


def test_a_scenario_is_a_list_of_changes(tmp_path: Path) -> None:
    changes = read(tmp_path, HEAD + "changes:\n- cordon n1\n- cordon n2\n")
    assert changes == (
        Cordon("cordon n1", NodeChoice(("n1",))),
        Cordon("cordon n2", NodeChoice(("n2",))),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            HEAD + "changes:\n- cordon n1\n- cordn n2\n",
            ':5:3: change "cordn n2": unknown change "cordn"',
        ),
        (
            HEAD + "changes:\n- 3\n",
            ":4:3: changes[0]: expected a string or a mapping, got 3",
        ),
        (HEAD, "changes is missing"),
        (HEAD + "change: []\n", ':3:1: change: unknown key "change"'),
        ("kind: List\nitems: []\n", "Expected apiVersion: ksched/v1, kind: Scenario"),
        (HEAD + "changes: []\n---\n" + HEAD + "changes: []\n", "expected one document"),
        ("[1", "not JSON"),
    ],
)
def test_what_is_no_scenario_is_an_error_with_its_place(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(InputError) as error:
        read(tmp_path, text)
    assert message in str(error.value)
