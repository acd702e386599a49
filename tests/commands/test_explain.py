"""`ksched explain` from the command line."""

import json
from pathlib import Path

import pytest

from ksched_cli.testing import node, pod
from report.schemas import conforms

EXAMPLE = Path(__file__).parents[2] / "examples" / "preemption" / "cluster.yaml"


@pytest.fixture
def explain(ksched, write_state):
    """Exit code and result, which has the shape that its schema promises."""

    def answer(*args, objects):
        state = write_state(*objects)
        code, out, _ = ksched("explain", *args, "--state", state, "-o", "json")
        return code, conforms(json.loads(out), "explanation")

    return answer


def test_a_pod_that_fits_is_exit_code_0(explain):
    code, result = explain("p", objects=[node("a"), pod("p")])
    assert (code, result["node"]) == (0, "a")


def test_a_pod_that_fits_nowhere_is_exit_code_1(explain):
    code, result = explain("p", objects=[node("a", cpu=1), pod("p", cpu=2)])
    assert (code, result["node"]) == (1, "")
    assert result["nodes"][0]["rejections"][0]["details"] == ["cpu: wants 2, 1 free of 1"]


def test_the_others_come_in_their_turn_unless_they_are_left_out(explain):
    objects = [node("a", cpu=1), pod("other", cpu=1), pod("p", cpu=1)]
    assert explain("p", objects=objects)[0] == 1
    assert explain("p", "--in-turn", objects=objects)[0] == 1
    assert explain("p", "--alone", objects=objects)[0] == 0


def test_a_running_pod_is_ranked_where_it_is(explain):
    objects = [node("a"), node("b", cpu=64), node("c", cpu=1), pod("p", node="a", cpu=2)]
    code, result = explain("p", objects=objects)
    assert (code, result["runningOn"], result["node"]) == (0, "a", "b")
    assert (result["rank"], result["feasible"]) == (2, 2)


def test_the_table_of_a_running_pod_says_where_it_is_and_where_it_would_go(ksched, write_state):
    state = write_state(node("a"), node("b", cpu=64), node("c", cpu=1), pod("p", node="a", cpu=2))
    code, out, _ = ksched("explain", "p", "--state", state)
    assert code == 0
    assert "runs on a, rank 2 of 2\ntoday it would go to b with " in out


@pytest.mark.parametrize(
    ("manifest", "reason"),
    [
        (pod("p", node="a", status={"phase": "Succeeded"}), "finished (Succeeded)"),
        (pod("p", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}), "being deleted"),
        (pod("p", node="a", annotations={"kubernetes.io/config.mirror": "x"}), "a static pod"),
        (pod("p", profile="mine"), 'for the scheduler "mine"'),
    ],
)
def test_a_pod_that_the_scheduler_never_looks_at_gets_no_node(
    manifest, reason, explain, ksched, write_state
):
    code, result = explain("p", objects=[node("a"), manifest])
    assert (code, result["node"], result["nodes"]) == (1, "", [])
    assert result["ignored"].startswith(reason)
    _, out, _ = ksched("explain", "p", "--state", write_state(node("a"), manifest))
    assert f"the scheduler never looks at it: it is {reason}" in out


def test_the_answer_is_that_of_schedule_where_not_all_nodes_are_looked_at(explain):
    large = [node(f"z{i}", cpu=64) for i in range(10)]
    objects = [*(node(f"n{i:03}", cpu=4) for i in range(200)), *large, pod("p", cpu=1)]
    code, result = explain("p", objects=objects)
    assert (code, result["node"], result["evaluated"]) == (0, "n000", 102)
    assert result["bestOfAll"]["node"] == "z0"
    assert (result["feasible"], result["rank"]) == (210, 11)


FAILING = """
from ksched_cli.api import SUCCESS, FilterPlugin

class Failing(FilterPlugin):
    name = "Failing"

    def filter(self, state, pod, node):
        if pod.name == "p":
            raise ValueError("odd")
        return SUCCESS
"""


@pytest.mark.parametrize("command", ["explain", "preempt"])
def test_a_pod_that_a_plugin_fails_on_cannot_be_decided(command, ksched, write_state, tmp_path):
    plugin = tmp_path / "failing.py"
    plugin.write_text(FAILING)
    state = write_state(node("a"), pod("other"), pod("p"))
    code, out, err = ksched(command, "p", "--state", state, "--plugin", plugin)
    assert code == 3
    assert "cannot be decided: " in out
    assert "fits on no node" not in out
    assert "plugin Failing failed in filter: ValueError: odd" in err
    assert ksched(command, "other", "--state", state, "--plugin", plugin)[0] == 0


def test_preempt_is_suggested_only_where_evictions_might_help(ksched, write_state):
    def table(*objects):
        return ksched("explain", "p", "--alone", "--state", write_state(*objects))[1]

    low = pod("low", node="a", cpu=1)
    hint = "ksched preempt default/p says"
    assert hint not in table(node("a", cpu=1), low, pod("p", cpu=1))
    assert hint not in table(node("a", cpu=1), low, pod("p", cpu=2, priority=9))
    never = pod("p", cpu=1, priority=9, spec={"preemptionPolicy": "Never"})
    assert hint not in table(node("a", cpu=1), low, never)
    # The node would do without pods, but one of higher priority stays.
    high = pod("high", node="a", cpu=1, priority=99)
    assert hint in table(node("a", cpu=2), low, high, pod("p", cpu=2, priority=9))


def test_the_table_begins_with_the_verdict(ksched):
    code, out, _ = ksched("explain", "report", "--state", EXAMPLE)
    assert code == 1
    assert out.startswith("default/report (profile default-scheduler)\nfits on no node\n")


def test_a_pod_that_is_placed_after_evictions_says_so(ksched):
    code, out, _ = ksched("explain", "checkout", "--state", EXAMPLE)
    assert code == 0
    assert "goes to apple, the only node it fits on\nonce default/crunch-3 is evicted" in out


def test_an_unknown_pod_is_bad_usage(ksched):
    code, out, err = ksched("explain", "checkuot", "--state", EXAMPLE)
    assert (code, out) == (2, "")
    assert "did you mean default/checkout?" in err
