"""Documents of users checked against their schemas: each problem with its place and what to write.

The same wording for all kinds; the readers of each kind test what their schemas do not say.
"""

import json
from typing import Any

import pytest

from ksched_cli.errors import InputError
from ksched_cli.kube.document_schemas import check_document, schema_of
from ksched_cli.kube.documents import load_documents

HINT = "Expected another document."


def refusal(kind: str, text: str) -> str:
    with pytest.raises(InputError) as raised:
        check_document(
            next(load_documents(text, "f.yaml"), None), kind.lower(), text, "f.yaml", HINT
        )
    return str(raised.value)


def headed(kind: str, body: str) -> str:
    return f"apiVersion: ksched/v1\nkind: {kind}\n{body}"


def test_what_fits_passes() -> None:
    document: dict[str, Any] = {"apiVersion": "ksched/v1", "kind": "Scenario", "changes": []}
    check_document(document, "scenario", "", "s.yaml", "")


EXPECTATIONS = "state: c.yaml\nexpect:\n"
GROUPS = "nodeGroups:\n"


@pytest.mark.parametrize(
    ("kind", "body", "message"),
    [
        (
            "Expectations",
            EXPECTATIONS + "- {pood: web, evicted: true}\n",
            'f.yaml:5:4: expect[0].pood: unknown key "pood"\n  did you mean "pod"?',
        ),
        (
            "Expectations",
            EXPECTATIONS + "- {nodesUsed: {atMos: 1}}\n",
            'f.yaml:5:16: expect[0].nodesUsed.atMos: unknown key "atMos"\n  did you mean "atMost"?',
        ),
        (
            "Expectations",
            "state: c.yaml\nexpct: [{evicted: 1}]\n",
            'f.yaml:4:1: expct: unknown key "expct"\n  did you mean "expect"?',
        ),
        (
            "Expectations",
            "kubernetesVersion: 1.36\n" + EXPECTATIONS + "- {evicted: 1}\n",
            "f.yaml:3:1: kubernetesVersion: expected a string, got 1.36\n"
            '  put it in quotes: "1.36"',
        ),
        (
            "Scenario",
            "changes:\n- {aply: {}}\n",
            'f.yaml:4:4: changes[0].aply: unknown key "aply"\n  did you mean "apply"?',
        ),
        (
            "Scenario",
            "changes: drain a\n",
            'f.yaml:3:1: changes: expected a list, got "drain a"\n  write it as a list: [drain a]',
        ),
        (
            "Sweep",
            "states: [a.yaml]\ncombine: produkt\n",
            'f.yaml:4:1: combine: "produkt" is not one of product, zip\n  did you mean "product"?',
        ),
        (
            "Sweep",
            "states: [a.yaml, {nam: x, files: b.yaml}]\n",
            'f.yaml:3:19: states[1].nam: unknown key "nam"\n  did you mean "name"?',
        ),
        (
            "Sweep",
            'states: [a.yaml]\nseeds: "3"\n',
            'f.yaml:4:1: seeds: expected a whole number or a list, got "3"\n  remove the quotes',
        ),
        (
            "Sweep",
            'states: [a.yaml]\nnoRetries: "yes"\n',
            'f.yaml:4:1: noRetries: expected true or false or a list, got "yes"\n'
            "  write true or false, without quotes",
        ),
        (
            "Autoscaler",
            "nodeGroups: {name: a}\n",
            'f.yaml:3:1: nodeGroups: expected a list, got a mapping\n  begin each item with "- "',
        ),
        (
            "Autoscaler",
            GROUPS + "- {name: a, like: n, maxSize: 1}\n",
            "f.yaml:4:13: nodeGroups[0].like: expected a string, got false\n"
            "  put it in quotes: YAML reads y, yes, on, n, no and off as true or false",
        ),
        (
            "Autoscaler",
            GROUPS + "- {name: b, maxSize: 3}\n",
            "f.yaml:4:3: nodeGroups[0]: invalid combination of keys: name, maxSize\n  "
            "expected a node group: its name, maxSize, and either like or template",
        ),
        (
            "Timeline",
            "events:\n- {at: 1, pood: {}}\n",
            'f.yaml:4:11: events[0].pood: unknown key "pood"\n  did you mean "pod"?',
        ),
        (
            "Timeline",
            "events:\n- {at: 1, pod: a, put: {}}\n",
            "f.yaml:4:3: events[0]: only one of pod, put, delete, change, end, decision, gap is"
            " allowed",
        ),
        (
            "Timeline",
            "events:\n- {at: 1, put: {}, runsFor: 1}\n",
            "f.yaml:4:20: events[0].runsFor: runsFor requires pod",
        ),
        (
            "Timeline",
            "events:\n- {at: 1, pod: a, template: t, runsFor: {lable: gpu, seconds: {a: -1}}}\n"
            "- {at: 1, pod: a, template: t, restartOverhead: 1}\n",
            'f.yaml:4:42: events[0].runsFor.lable: unknown key "lable"\n  did you mean "label"?\n'
            "f.yaml:4:64: events[0].runsFor.seconds.a: -1 is less than 0\n"
            "f.yaml:5:32: events[1].restartOverhead: restartOverhead requires runsFor",
        ),
        (
            "Timeline",
            "events: [5]\n",
            "f.yaml:3:10: events[0]: expected a mapping, got 5",
        ),
        (
            "Autoscaler",
            "nodeGroups: [[{}]]\n",
            "f.yaml:3:14: nodeGroups[0]: expected a mapping, got a list\n"
            "  a node group: its name, maxSize, and either like or template",
        ),
        (
            "Tune",
            "states: a\nspace: [[a]]\nobjectives: []\n",
            "f.yaml:4:9: space[0]: expected a mapping, got a list\n"
            "  `path` with `values`, or with `between: [least, most]`\n"
            "f.yaml:5:1: objectives: is empty",
        ),
        (
            "Tune",
            "states: a\nspace: [{path: a, value: [1]}]\nobjectives: [{metric: m, goal: max}]\n",
            'f.yaml:4:19: space[0].value: unknown key "value"\n  did you mean "values"?\n'
            'f.yaml:5:26: objectives[0].goal: "max" is not one of minimize, maximize',
        ),
    ],
)
def test_a_problem_has_its_place_and_what_to_write(kind: str, body: str, message: str) -> None:
    assert refusal(kind, headed(kind, body)) == message


def test_all_problems_are_said_at_once_in_the_order_of_the_text() -> None:
    body = "state: 3\nexpect:\n- {pood: a, evicted: true}\n- {pending: -1}\n"
    lines = refusal("Expectations", headed("Expectations", body)).splitlines()
    places = [line.split(": ")[0] for line in lines if line.startswith("f.yaml")]
    assert places == ["f.yaml:3:1", "f.yaml:5:4", "f.yaml:6:4"]


def test_a_hint_for_several_problems_is_given_once() -> None:
    text = refusal("Expectations", headed("Expectations", EXPECTATIONS + "- {pod: a}\n" * 3))
    assert text.count("invalid combination of keys") == 3
    assert text.count("expected `pod` with") == 1


def test_many_problems_are_counted() -> None:
    text = refusal("Scenario", headed("Scenario", "changes:\n" + "- 3\n" * 40))
    assert text.splitlines()[-1] == "and 30 more problems in f.yaml"


@pytest.mark.parametrize("text", ["[]", "3", headed("Scenario", "changes: []\n"), "kind: Sweep\n"])
def test_another_document_is_told_what_is_expected(text: str) -> None:
    assert refusal("Sweep", text).count(HINT) == 1


def test_another_kind_is_the_only_problem() -> None:
    text = "apiVersion: ksched/v1\nkind: Scenario\nfoo: 1\n"
    message = 'f.yaml:2:1: kind: expected "Sweep", got "Scenario"'
    assert refusal("Sweep", text) == f"{message}\n  {HINT}"


def test_json_has_its_places_too() -> None:
    document = {"apiVersion": "ksched/v1", "kind": "Scenario", "change": []}
    assert refusal("Scenario", json.dumps(document, indent=1)).startswith("f.yaml:4:2: change: ")


def test_schemas_are_read_by_name() -> None:
    assert "changes" in schema_of("scenario")["properties"]
