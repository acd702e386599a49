"""`ksched preempt` from the command line."""

import json
import sys
from importlib.resources import files
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from ksched_cli.commands.main import main
from ksched_cli.testing import node, pod

EXAMPLE = Path(__file__).parents[2] / "examples" / "preemption" / "cluster.yaml"
SCHEMA = json.loads(files("ksched_cli.schemas").joinpath("preemption_result.json").read_text())


def run(monkeypatch, capsys, *args):
    """Exit code, standard output, standard error."""
    monkeypatch.setattr(sys, "argv", ["ksched", *map(str, args)])
    with pytest.raises(SystemExit) as ended:
        main()
    out = capsys.readouterr()
    return ended.value.code, out.out, out.err


@pytest.fixture
def ksched(monkeypatch, capsys):
    return lambda *args: run(monkeypatch, capsys, *args)


@pytest.fixture
def asked(ksched):
    """Exit code and result of `ksched preempt`, which has the shape that its schema promises."""

    def answer(*args, state=EXAMPLE):
        code, out, _ = ksched("preempt", *args, "--state", state, "-o", "json")
        result = json.loads(out)
        Draft202012Validator(SCHEMA).validate(result)
        return code, result

    return answer


@pytest.fixture
def write(tmp_path):
    def written(*objects):
        path = tmp_path / "cluster.json"
        path.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": objects}))
        return path

    return written


def test_the_schema_is_one():
    Draft202012Validator.check_schema(SCHEMA)


def test_a_pod_that_may_preempt(asked):
    code, result = asked("checkout")
    assert code == 0
    assert (result["mayPreempt"], result["node"]) == (True, "apple")
    assert result["victims"] == ["default/crunch-3"]
    assert result["criterion"] == "fewest violations of disruption budgets"
    assert [(one["node"], one["pdbViolations"]) for one in result["candidates"]] == [
        ("apple", 0),
        ("birch", 1),
    ]
    assert result["candidates"][0]["reprieved"] == ["default/crunch-1", "default/crunch-2"]
    assert result["candidates"][1]["victims"][0]["violates"] == ["default/db"]
    assert [one["node"] for one in result["notCandidates"]] == ["cedar", "dogwood"]


def test_a_pod_that_may_not(asked):
    code, result = asked("default/report")
    assert (code, result["mayPreempt"], result["node"]) == (1, False, "")
    assert result["reason"] == "not eligible due to preemptionPolicy=Never."


def test_a_pod_that_fits_without(asked, write):
    code, result = asked("p", state=write(node("a"), pod("p")))
    assert (code, result["fits"], result["mayPreempt"]) == (0, ["a"], False)
    assert result["reason"] == "it fits without evictions"


def test_a_pod_that_no_eviction_helps(asked, write):
    code, result = asked("p", state=write(node("a", cpu=1), pod("p", cpu=2, priority=9)))
    assert (code, result["mayPreempt"], result["candidates"]) == (1, True, [])
    assert result["message"].endswith("1 Preemption is not helpful for scheduling.")


def test_the_limit_on_candidates_can_be_lifted(asked, write):
    # A hundred candidates are enough, unless told otherwise.
    names = [f"n{i:03d}" for i in range(101)]
    state = write(
        *(node(name, cpu=1) for name in names),
        *(pod(f"on-{name}", node=name, cpu=1, priority=1) for name in names),
        pod("p", cpu=1, priority=9),
    )
    code, result = asked("p", state=state)
    assert (code, result["notSearched"], result["candidatesWanted"]) == (0, ["n100"], 100)
    code, result = asked("p", "--all-candidates", state=state)
    assert (code, result["notSearched"], len(result["candidates"])) == (0, [], 101)


def test_in_turn_the_others_come_first(asked, write):
    state = write(
        node("a", cpu=1),
        pod("other", cpu=1, priority=1),
        pod("p", cpu=1, priority=9),
    )
    assert asked("p", state=state)[1]["fits"] == ["a"]
    _, result = asked("p", "--in-turn", state=state)
    assert [one["pod"] for one in result["candidates"][0]["victims"]] == ["default/other"]


def test_the_table_names_victims_reasons_and_the_other_nodes(ksched):
    code, out, _ = ksched("preempt", "checkout", "--state", EXAMPLE)
    assert code == 0
    assert (
        "would evict default/crunch-3 from apple: "
        "fewest violations of disruption budgets among 2 candidates" in out
    )
    assert "cpu: wants 2, 1 free of 4" in out
    assert "violates default/db" in out
    assert "2 may stay" in out
    assert "cedar           (no pod of lower priority)" in out
    assert "not tolerated: maintenance=tonight:NoSchedule" in out


def test_the_table_of_a_pod_that_may_not(ksched):
    code, out, _ = ksched("preempt", "report", "--state", EXAMPLE)
    assert code == 1
    assert "may not preempt: not eligible due to preemptionPolicy=Never." in out


def test_an_unknown_pod_is_bad_usage(ksched):
    code, out, err = ksched("preempt", "checkuot", "--state", EXAMPLE)
    assert (code, out) == (2, "")
    assert "did you mean default/checkout?" in err


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
