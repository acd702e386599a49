"""`ksched drift` from the command line."""

from pathlib import Path

import pytest

from ksched_cli.testing import node, pod
from tests.commands.runners import Answer, Ksched, WriteState, answering

BROKEN = """
from ksched_cli.api import FilterPlugin


class Broken(FilterPlugin):
    name = "Broken"

    def filter(self, state, pod, node):
        raise ValueError("broken")
"""


@pytest.fixture
def drift(ksched: Ksched, write_state: WriteState) -> Answer:
    return answering("drift", "drift_result", ksched, write_state)


@pytest.mark.parametrize("where", ["a", "b"])
def test_pods_that_are_on_a_best_node_are_exit_code_0(drift: Answer, where: str) -> None:
    code, result = drift(objects=[node("a"), node("b"), pod("p", cpu=1, node=where)])
    assert (code, result["summary"]["tied"]) == (0, 1)


def test_a_pod_that_would_go_elsewhere_is_exit_code_1(drift: Answer) -> None:
    code, result = drift(objects=[node("a", cpu=2), node("b", cpu=9), pod("p", cpu=1, node="a")])
    (drifted,) = result["pods"]
    assert (code, drifted["verdict"], drifted["bestNode"], drifted["rank"]) == (1, "worse", "b", 2)


def test_a_pod_that_is_no_longer_allowed_is_exit_code_1(drift: Answer) -> None:
    code, result = drift(objects=[node("a", unschedulable=True), pod("p", node="a")])
    (drifted,) = result["pods"]
    assert (code, drifted["feasible"], drifted["rejectedBy"]) == (1, False, "NodeUnschedulable")
    assert (drifted["rank"], drifted["bestNode"]) == (None, None)


def test_a_change_shows_who_would_not_come_back(drift: Answer) -> None:
    objects = [node("a"), node("b"), pod("p", cpu=1, node="a")]
    code, result = drift("--change", "taint nodes a gone=1:NoSchedule", objects=objects)
    assert (code, result["pods"][0]["rejectedBy"]) == (1, "TaintToleration")
    assert result["changes"][0]["text"] == "taint nodes a gone=1:NoSchedule"


def test_a_plugin_that_fails_is_exit_code_3(drift: Answer, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text(BROKEN)
    plugin = f"{tmp_path / 'broken.py'}:Broken"
    code, result = drift("--plugin", plugin, objects=[node("a"), pod("p", node="a")])
    assert (code, result["pods"][0]["rejectedBy"]) == (3, "Broken")


def test_the_table_begins_with_the_verdict(ksched: Ksched, write_state: WriteState) -> None:
    _, out, _ = ksched("drift", "--state", write_state(node("a"), pod("p", node="a")))
    assert out.startswith("1 running pod would be placed where it runs: 1 on the best node")


def test_pods_that_would_go_elsewhere_are_listed_wide_and_by_name(
    ksched: Ksched, write_state: WriteState
) -> None:
    state = write_state(
        node("a", taints=["k=v:NoSchedule"]),
        node("b"),
        pod("held", node="a"),
        pod("well", node="b"),
    )
    assert ksched("drift", "--state", state, "-o", "name") == (1, "default/held\n", "")
    _, out, _ = ksched("drift", "--state", state, "-o", "wide")
    assert [line.split() for line in out.splitlines()[-2:]] == [
        ["POD", "ON", "BECAUSE", "OF", "WOULD", "GO", "TO"],
        ["default/held", "a", "TaintToleration", "b"],
    ]
