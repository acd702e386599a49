"""Which warnings are printed with an answer: those that touch the question, after it."""

import json
from pathlib import Path

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


@pytest.mark.parametrize("command", ["explain", "fix", "capacity"])
def test_warnings_about_other_pods_are_counted(ksched: Ksched, state: str, command: str) -> None:
    _, _, err = ksched(command, "a", "--state", state)
    assert f"3 warnings {COUNTED}" in err
    assert "warning: " not in err


def test_two_warnings_are_more_than_one(ksched: Ksched, write_state: WriteState) -> None:
    state = write_state(
        node("n"), pod("a"), pod("b", spec={"nodeSelector": {"x": "y"}}), CONFIG_MAP
    )
    assert f"2 warnings {COUNTED}" in ksched("explain", "a", "--state", state)[2]


@pytest.mark.parametrize("command", ["preempt", "fix", "capacity"])
def test_warnings_about_the_pod_of_the_question_are_shown(
    ksched: Ksched, state: str, command: str
) -> None:
    _, _, err = ksched(command, "b", "--state", state)
    assert "ignored the unknown field spec.tolerationz" in err
    assert "no node has the label disk" in err
    assert "1 warning is about other pods or kinds; -v shows it" in err
    assert "skipped" not in err


@pytest.mark.parametrize("pod_of_both", [True, False])
def test_a_workload_is_all_of_its_pods(
    ksched: Ksched, write_state: WriteState, pod_of_both: bool
) -> None:
    owner = [{"kind": "ReplicaSet", "apiVersion": "apps/v1", "name": "web", "controller": True}]
    metadata = {"ownerReferences": owner}
    selects = {"nodeSelector": {"disk": "ssd"}}
    pods = [pod("a", metadata=metadata), pod("b", spec=selects, metadata=metadata)]
    state = write_state(node("n"), *pods if pod_of_both else (pods[0], pod("b", spec=selects)))
    for command in ("fix", "capacity"):
        err = ksched(command, "replicaset/web", "--state", state)[2]
        assert ("no node has the label disk" in err) is pod_of_both
        assert ("1 warning is about other pods" in err) is not pod_of_both


def test_warnings_that_do_not_touch_the_pods_of_a_manifest_are_counted(
    ksched: Ksched, state: str, tmp_path: Path
) -> None:
    manifest = tmp_path / "pod.json"
    manifest.write_text(json.dumps(pod("new", spec={"nodeSelector": {"gpu": "a100"}})))
    err = ksched("capacity", "-f", str(manifest), "--state", state)[2]
    assert "no node has the label gpu" in err
    assert f"3 warnings {COUNTED}" in err


@pytest.mark.parametrize("command", [["explain", "a"], ["fix", "a"], ["schedule"]])
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
