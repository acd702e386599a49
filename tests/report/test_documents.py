"""What is printed as JSON has the shape that its schema promises."""

import json
from functools import cache
from pathlib import Path

import jsonschema
import pytest
import yaml
from hypothesis import given

from clusters import states
from ksched_cli.analysis.explain import explain
from ksched_cli.report import explanation, schedule
from ksched_cli.report.forms import Form, Report, render
from ksched_cli.testing import cluster, node, pod, run_cycle, simulate, simulation

SCHEMAS = Path(__file__).parents[2] / "schemas"


@cache
def validator(name):
    schema = json.loads((SCHEMAS / f"{name}.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def conforms(document, name):
    """Gives the document as it is read back."""
    found = json.loads(json.dumps(document))
    validator(name).validate(found)
    return found


@given(states(max_nodes=4, max_pending=3))
def test_runs_are_as_their_schema_says(state):
    run = simulate(state)
    traced = conforms(schedule.document(run, trace=True), "schedule_result")
    plain = conforms(schedule.document(run, trace=False), "schedule_result")
    assert {key: traced[key] for key in plain} == plain
    assert len(traced["attempts"]) == len(run.attempts)
    assert sum(plain["summary"][key] for key in ("placed", "pending", "gated")) == len(
        {*plain["placements"], *plain["pending"], *plain["gated"]}
    )
    assert set(plain["messages"]) == {*plain["pending"], *plain["gated"]}


@given(states(max_nodes=4, max_pending=2))
def test_explanations_are_as_their_schema_says(state):
    run = simulation(state)
    for one in run.pending()[:2]:
        found = conforms(explanation.document(explain(run, one)), "explanation")
        fits = [each for each in found["nodes"] if each["fits"]]
        assert (found["node"] == "") == (not fits)
        assert all(each["rejections"] for each in found["nodes"] if not each["fits"])


def gated():
    return simulate(cluster(node("a"), pod("held", gates=["example.com/wait"])))


def preempting():
    low, high = pod("low", cpu="1", node="a"), pod("high", cpu="1", priority=1)
    return simulate(cluster(node("a", cpu="1"), low, high))


def broken():
    term = {"weight": 1, "preference": {"matchExpressions": [{"key": "k", "operator": "Gt"}]}}
    rules = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}
    return simulate(cluster(node("a"), node("b"), pod("p", affinity=rules)))


def conflicting():
    fields = [{"key": "metadata.name", "operator": "In", "values": [name]} for name in "ab"]
    required = {"nodeSelectorTerms": [{"matchFields": fields}]}
    rules = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    return simulate(cluster(node("a"), node("b"), pod("p", affinity=rules)))


@pytest.mark.parametrize("run", [gated, preempting, broken, conflicting])
def test_what_seldom_happens_has_its_place_in_the_schema_too(run):
    conforms(schedule.document(run(), trace=True), "schedule_result")


def test_gated_pods_and_evictions_are_listed():
    found = schedule.document(gated(), trace=False)
    assert found["gated"] == ["default/held"]
    assert found["messages"] == {"default/held": "waiting for scheduling gates: [example.com/wait]"}
    found = schedule.document(preempting(), trace=False)
    assert found["evicted"] == ["default/low"]
    assert found["evictions"] == [{"pod": "default/low", "node": "a", "preemptor": "default/high"}]


def test_a_broken_cycle_says_what_broke_it():
    found = schedule.document(broken(), trace=True)
    assert "values" in found["messages"]["default/p"]
    assert found["attempts"][0]["error"] == found["messages"]["default/p"]


def test_a_single_feasible_node_has_no_scores():
    attempt = schedule.attempt(run_cycle(cluster(node("a"), pod("p"))))
    assert attempt["feasible"] == ["a"]
    assert not {"scores", "totals", "ties"} & set(attempt)


@pytest.mark.parametrize("form", [Form.JSON, Form.YAML])
def test_json_and_yaml_say_the_same(form):
    document = schedule.document(preempting(), trace=True)
    text = render(Report(document=lambda: document, table=str), form)
    assert yaml.safe_load(text) == json.loads(json.dumps(document))
    assert not text.endswith("\n")


def test_only_the_form_asked_for_is_made():
    def never():
        raise AssertionError("not asked for")

    assert render(Report(document=never, table=lambda: "rows"), Form.TABLE) == "rows"
