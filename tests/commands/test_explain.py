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


def test_in_turn_the_others_come_first(explain):
    objects = [node("a", cpu=1), pod("other", cpu=1), pod("p", cpu=1)]
    assert explain("p", objects=objects)[0] == 0
    assert explain("p", "--in-turn", objects=objects)[0] == 1


def test_a_running_pod_is_ranked_where_it_is(explain):
    code, result = explain("p", objects=[node("a"), pod("p", node="a")])
    assert (code, result["runningOn"]) == (0, "a")


def test_the_table_begins_with_the_verdict(ksched):
    code, out, _ = ksched("explain", "checkout", "--state", EXAMPLE)
    assert code == 1
    assert out.startswith("default/checkout (profile default-scheduler)\nfits on no node\n")


def test_an_unknown_pod_is_bad_usage(ksched):
    code, out, err = ksched("explain", "checkuot", "--state", EXAMPLE)
    assert (code, out) == (2, "")
    assert "did you mean default/checkout?" in err
