"""Which warnings are printed with an answer: those that touch the question, after it."""

import json

import pytest

from ksched_cli.testing import node, pod
from tests.commands.runners import Ksched, WriteState

CONFIG_MAP = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "x"}}
COUNTED = "are about other pods or kinds; -v shows them"


@pytest.fixture
def state(write_state: WriteState) -> str:
    """Pod a has nothing to warn of; b has a misspelt field, and a label that no node has."""
    misspelt = {"tolerationz": [], "nodeSelector": {"disk": "ssd"}}
    return str(write_state(node("n"), pod("a"), pod("b", spec=misspelt), CONFIG_MAP))


def test_warnings_about_other_pods_are_counted(ksched: Ksched, state: str) -> None:
    _, _, err = ksched("explain", "a", "--state", state)
    assert f"3 warnings {COUNTED}" in err
    assert "warning: " not in err


def test_warnings_about_the_pod_of_the_question_are_shown(ksched: Ksched, state: str) -> None:
    _, _, err = ksched("preempt", "b", "--state", state)
    assert "ignored the unknown field spec.tolerationz" in err
    assert "no node has the label disk" in err
    assert "1 warning is about other pods or kinds; -v shows it" in err
    assert "skipped" not in err


@pytest.mark.parametrize("command", [["explain", "a"], ["schedule"]])
def test_verbose_shows_all_warnings_and_so_does_the_document(
    ksched: Ksched, state: str, command: list[str]
) -> None:
    _, _, err = ksched(*command, "-v", "--state", state)
    shown = [line for line in err.splitlines() if line.startswith("warning: ")]
    assert "-v shows" not in err
    document = json.loads(ksched(*command, "-o", "json", "--state", state)[1])
    assert [f"warning: {line}" for line in document["warnings"]] == shown
    assert len(shown) == 3


def test_a_missing_kind_that_another_pod_needs_is_counted(
    ksched: Ksched, write_state: WriteState
) -> None:
    claims = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]}
    state = write_state(node("n"), pod("a"), pod("b", spec=claims), pod("c", spec=claims))
    assert "no PersistentVolumeClaims" in ksched("explain", "b", "--state", state)[2]
    err = ksched("explain", "a", "--state", state)[2]
    assert "no PersistentVolumeClaims" not in err
    assert "1 warning is about other pods" in err


def test_quiet_counts_nothing(ksched: Ksched, state: str) -> None:
    assert ksched("explain", "a", "-q", "--state", state)[2] == ""
