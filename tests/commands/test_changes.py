"""--change and --scenario, as a user gives them."""

import json
from pathlib import Path

import pytest

from ksched_cli.testing import node, pod
from tests.commands.runners import Ksched, WriteState
from tests.report.schemas import conforms

SCENARIO = "apiVersion: ksched/v1\nkind: Scenario\nchanges: [cordon n1]\n"


def test_every_result_lists_what_changes_did(
    ksched: Ksched, write_state: WriteState, tmp_path: Path
) -> None:
    state = write_state(node("n1"), node("n2"), pod("a", node="n1"), pod("b"))
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(SCENARIO)
    options = ("--state", state, "--scenario", scenario, "--change", "drain n1", "-o", "json")
    for command, name in (
        (("schedule",), "schedule_result"),
        (("explain", "a"), "explanation"),
        (("preempt", "a"), "preemption_result"),
    ):
        code, out, _ = ksched(*command, *options)
        result = json.loads(out)
        conforms(result, name)
        assert code == 0
        assert result["changes"][0] == {"text": "cordon n1", "did": ["n1: cordoned"]}
        assert result["changes"][1]["did"][:3] == [
            "n1: drain finishes",
            "n1: already cordoned",
            "default/a: pending again (was on n1)",
        ]
    _, out, _ = ksched("schedule", "--state", state, "-o", "json")
    assert json.loads(out)["changes"] == []


def test_a_pod_that_is_applied_waits_behind_those_that_wait_already(
    ksched: Ksched, write_state: WriteState, tmp_path: Path
) -> None:
    old = pod("old", cpu=1, metadata={"creationTimestamp": "2026-01-31T00:00:00Z"})
    state = write_state(node("n1", cpu=1), old)
    new = tmp_path / "new.json"
    new.write_text(json.dumps(pod("new", cpu=1)))
    change = ("--state", state, "--change", f"apply -f {new}")
    _, out, _ = ksched("schedule", *change, "-o", "json")
    assert json.loads(out)["placements"] == {"default/old": "n1"}
    assert ksched("explain", "new", *change)[0] == 1
    _, out, _ = ksched("capacity", "new", *change, "-o", "json")
    assert json.loads(out)["count"] == 0
    _, out, _ = ksched("capacity", "-f", new, "--state", state, "-o", "json")
    assert json.loads(out)["count"] == 0


@pytest.mark.parametrize(
    "command",
    [
        ["schedule"],
        ["explain", "p"],
        ["explain", "--pending"],
        ["preempt", "p"],
        ["capacity", "p"],
        ["drift"],
        ["compare", "--vs", "--no-preemption"],
    ],
    ids=" ".join,
)
def test_a_resource_that_no_node_has_is_said_by_every_command(
    ksched: Ksched, write_state: WriteState, command: list[str]
) -> None:
    state = write_state(node("n1"), pod("p", requests={"a.com/gpu": 1}))
    options = ("--state", state, "--change", "add-nodes n2 --like n1 --count 1")
    warning = "warning: no node has the resource a.com/gpu, and 1 pending pod requests it\n"
    place = command.index("--vs") if "--vs" in command else len(command)
    _, _, err = ksched(*command[:place], *options, *command[place:])
    assert err.count(warning) == 1


def test_the_table_says_what_changes_did_below_the_verdict(
    ksched: Ksched, write_state: WriteState
) -> None:
    state = write_state(node("n1"), node("n2"), pod("a", node="n1"))
    code, out, _ = ksched("schedule", "--state", state, "--change", "drain n1 --force")
    assert code == 0
    lines = [" ".join(line.split()) for line in out.splitlines()]
    at = lines.index("Changes to the state")
    assert lines[:at] == ["No pod waits for a node", "0 placed, 0 pending, 0 gated", ""]
    assert lines[at + 2] == "drain n1 --force 1 drain finishes n1"


def test_a_name_that_is_not_there_is_an_error_with_near_names(
    ksched: Ksched, write_state: WriteState
) -> None:
    state = write_state(node("n1"))
    code, out, err = ksched("schedule", "--state", state, "--change", "drain n7")
    assert (code, out) == (2, "")
    assert err == (
        'error: change "drain n7": no node "n7" in the state (1 node); did you mean n1?\n'
    )
