"""`ksched schedule` on a state, as a user calls it."""

import json
from pathlib import Path

import pytest

from ksched_cli.testing import node, pod

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


@pytest.mark.parametrize(("option", "second"), [((), "a"), (("--no-memory",), "b")])
def test_without_memory_a_broken_promise_shows(option, second, ksched, write_state, tmp_path):
    state = write_state(node("a", cpu=1000), node("b", cpu=1000), pod("p0"), pod("p1"))
    plugin = tmp_path / "lonely.py"
    plugin.write_text(FORGETFUL)
    _, out, _ = ksched("schedule", "--state", state, "--plugin", plugin, "-o", "json", *option)
    assert json.loads(out)["placements"] == {"default/p0": "a", "default/p1": second}


def test_schedule_tells_of_the_evictions_and_can_leave_them_out(ksched):
    code, out, _ = ksched("schedule", "--state", EXAMPLE, "-o", "json")
    result = json.loads(out)
    eviction = {"pod": "default/crunch-3", "node": "apple", "preemptor": "default/checkout"}
    assert (code, result["evictions"]) == (1, [eviction])
    assert result["placements"] == {"default/checkout": "apple"}
    code, out, _ = ksched("schedule", "--no-preemption", "--state", EXAMPLE, "-o", "json")
    result = json.loads(out)
    assert (code, result["evicted"], result["placements"]) == (1, [], {})
    assert result["pending"] == ["default/checkout", "default/report"]


def test_the_exit_code_says_whether_pods_stay_pending(ksched, write_state):
    state = write_state(node("a", cpu=1), pod("p", cpu=1), pod("held", gates=["example.com/g"]))
    assert ksched("schedule", "--state", state)[0] == 0
    state = write_state(node("a", cpu=1), pod("p", cpu=2))
    assert ksched("schedule", "--state", state)[0] == 1


def test_attempts_are_in_json_only_where_requested(ksched, write_state):
    state = write_state(node("a"), pod("p"))
    _, plain, _ = ksched("schedule", "--state", state, "-o", "json")
    _, traced, _ = ksched("schedule", "--state", state, "-o", "json", "--trace")
    assert "attempts" not in json.loads(plain)
    assert [attempt["node"] for attempt in json.loads(traced)["attempts"]] == ["a"]


def test_a_seed_repeats_the_draws(ksched, write_state):
    objects = [*(node(f"n{i}") for i in range(9)), *(pod(f"p{i}") for i in range(9))]
    line = ("schedule", "--state", write_state(*objects), "--tie-break", "random", "-o", "json")
    first = ksched(*line, "--seed", 1)
    assert ksched(*line, "--seed", 1) == first
    assert any(ksched(*line, "--seed", seed) != first for seed in (2, 3, 4))
