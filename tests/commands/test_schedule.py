"""`ksched schedule` on a state, as a user calls it."""

import json
from pathlib import Path

import pytest

from ksched_cli.testing import node, pod
from tests.commands.runners import Ksched, WriteState
from tests.report.schemas import conforms

EXAMPLE = Path(__file__).parents[2] / "examples" / "preemption" / "cluster.yaml"
# Its answer depends on the pods on the node, which NODE denies.
FORGETFUL = """
from ksched_cli.api import Scope, ScorePlugin

class Lonely(ScorePlugin):
    name = "Lonely"
    scope = Scope.NODE

    def score(self, state, pod, node):
        return 0 if node.pods else 100
"""


@pytest.mark.parametrize(("option", "second"), [((), "a"), (("--no-cache",), "b")])
def test_without_a_cache_a_broken_promise_shows(
    option: tuple[str, ...],
    second: str,
    ksched: Ksched,
    write_state: WriteState,
    tmp_path: Path,
) -> None:
    state = write_state(node("a", cpu=1000), node("b", cpu=1000), pod("p0"), pod("p1"))
    plugin = tmp_path / "lonely.py"
    plugin.write_text(FORGETFUL)
    _, out, _ = ksched("schedule", "--state", state, "--plugin", plugin, "-o", "json", *option)
    assert json.loads(out)["placements"] == {"default/p0": "a", "default/p1": second}


def test_schedule_tells_of_the_evictions_and_can_leave_them_out(ksched: Ksched) -> None:
    code, out, _ = ksched("schedule", "--state", EXAMPLE, "-o", "json")
    result = json.loads(out)
    eviction = {"pod": "default/crunch-3", "node": "apple", "preemptor": "default/checkout"}
    assert (code, result["evictions"]) == (1, [eviction])
    assert result["placements"] == {"default/checkout": "apple"}
    code, out, _ = ksched("schedule", "--no-preemption", "--state", EXAMPLE, "-o", "json")
    result = json.loads(out)
    assert (code, result["evicted"], result["placements"]) == (1, [], {})
    assert result["pending"] == ["default/checkout", "default/report"]


def test_the_exit_code_says_whether_pods_stay_pending(
    ksched: Ksched, write_state: WriteState
) -> None:
    state = write_state(node("a", cpu=1), pod("p", cpu=1), pod("held", gates=["example.com/g"]))
    assert ksched("schedule", "--state", state)[0] == 0
    state = write_state(node("a", cpu=1), pod("p", cpu=2))
    assert ksched("schedule", "--state", state)[0] == 1


def test_attempts_are_in_json_only_where_requested(ksched: Ksched, write_state: WriteState) -> None:
    state = write_state(node("a"), pod("p"))
    _, plain, _ = ksched("schedule", "--state", state, "-o", "json")
    _, traced, _ = ksched("schedule", "--state", state, "-o", "json", "--trace")
    assert "attempts" not in json.loads(plain)
    assert [attempt["node"] for attempt in json.loads(traced)["attempts"]] == ["a"]


def test_attempts_of_some_pods_alone_can_be_traced(ksched: Ksched, write_state: WriteState) -> None:
    state = write_state(node("a"), *(pod(f"p{i}") for i in range(4)))
    code, out, _ = ksched(
        "schedule", "--state", state, "--trace", "p1", "--trace", "default/p3", "-o", "json"
    )
    result = conforms(json.loads(out), "schedule_result")
    assert code == 0
    assert [attempt["pod"] for attempt in result["attempts"]] == ["default/p1", "default/p3"]
    assert [attempt["feasible"] for attempt in result["attempts"]] == [["a"], ["a"]]
    _, everything, _ = ksched("schedule", "--state", state, "--trace", "-o", "json")
    assert result["attempts"][0] in json.loads(everything)["attempts"]


def test_a_pod_to_trace_must_be_there_and_an_argument_must_be_traced(
    ksched: Ksched, write_state: WriteState
) -> None:
    state = write_state(node("a"), pod("web"))
    code, _, err = ksched("schedule", "--state", state, "-o", "json", "--trace", "wbe")
    assert (code, "did you mean default/web?" in err) == (2, True)
    code, _, err = ksched("schedule", "web", "--state", state)
    assert (code, 'schedule takes no argument "web"' in err) == (2, True)


def test_pods_that_are_left_out_are_listed_with_the_reason(
    ksched: Ksched, write_state: WriteState
) -> None:
    deleted = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    state = write_state(
        node("a"),
        pod("done", node="a", status={"phase": "Succeeded"}),
        pod("going", metadata=deleted),
        pod("leaving", node="a", metadata=deleted),
        pod("theirs", profile="mine"),
        pod("running", node="a", profile="mine"),
        pod("p"),
    )
    code, out, _ = ksched("schedule", "--state", state, "-o", "json")
    result = conforms(json.loads(out), "schedule_result")
    assert (code, result["summary"]["ignored"]) == (0, 3)
    assert {entry["pod"]: entry["reason"] for entry in result["ignored"]} == {
        "default/done": "finished (Succeeded)",
        "default/going": "being deleted",
        "default/theirs": 'for the scheduler "mine", which the configuration does not have',
    }
    _, out, _ = ksched("schedule", "--state", state)
    assert "left out: 1 finished (Succeeded), 1 being deleted, 1 for the scheduler" in out


def test_a_seed_repeats_the_draws(ksched: Ksched, write_state: WriteState) -> None:
    objects = [*(node(f"n{i}") for i in range(9)), *(pod(f"p{i}") for i in range(9))]
    line = ("schedule", "--state", write_state(*objects), "--tie-break", "random", "-o", "json")
    first = ksched(*line, "--seed", 1)
    assert ksched(*line, "--seed", 1) == first
    assert any(ksched(*line, "--seed", seed) != first for seed in (2, 3, 4))


# Chooses two GPUs for every pod but the first.
NOTING = """
from ksched_cli.api import SUCCESS, ReservePlugin

class Gpus(ReservePlugin):
    name = "Gpus"

    def reserve(self, state, pod, node):
        if len(node.pods) > 1:
            state.note("GPU", [0, 3])
        return SUCCESS

    def unreserve(self, state, pod, node):
        pass
"""


def test_what_a_plugin_notes_of_a_placement_is_in_the_json(
    ksched: Ksched, write_state: WriteState, tmp_path: Path
) -> None:
    state = write_state(node("a"), pod("p0"), pod("p1"))
    plugin = tmp_path / "gpus.py"
    plugin.write_text(NOTING)
    arguments = ("schedule", "--state", state, "--plugin", plugin, "-o", "json", "--trace")
    result = conforms(json.loads(ksched(*arguments)[1]), "schedule_result")
    assert result["notes"] == {"default/p1": {"GPU": [0, 3]}}
    assert [attempt.get("notes") for attempt in result["attempts"]] == [None, {"GPU": [0, 3]}]


def test_nothing_is_noted_without_notes(ksched: Ksched, write_state: WriteState) -> None:
    _, out, _ = ksched("schedule", "--state", write_state(node("a"), pod("p")), "-o", "json")
    assert "notes" not in json.loads(out)


def test_without_retries_each_pod_is_tried_once(ksched: Ksched, write_state: WriteState) -> None:
    state = write_state(node("a", cpu=2), pod("big", cpu=3), pod("small", cpu=1))
    attempts = {}
    for options in ((), ("--no-retries",)):
        code, out, _ = ksched("schedule", "--state", state, "-o", "json", *options)
        result = json.loads(out)
        assert (code, result["pending"]) == (1, ["default/big"])
        attempts[options] = result["summary"]["attempts"]
    assert attempts == {(): 3, ("--no-retries",): 2}
