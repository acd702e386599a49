"""Misspelt fields and keys that are written twice are warned of where they stand."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

import pytest

from ksched_cli.cluster.loading import unknown_fields
from ksched_cli.cluster.loading.load import load_state
from ksched_cli.errors import InputError

YAML = """\
kind: Node
metadata: {name: a}
status: {allocatble: {cpu: 1}}
---
kind: Pod
metadata: {name: p}
spec:
  nodeSelecter: {disk: ssd}
  containers:
  - name: c
    resource: {}
    resources:
      requests: {cpu: 1, cpu: 2}
"""


def warnings(content: str) -> list[str]:
    """The warnings about fields and keys of a state on standard input."""
    state = load_state(["-"], BytesIO(content.encode()))
    return [line for line in state.warnings if "unknown field" in line or "twice" in line]


def state_json(*pods: dict[str, Any]) -> str:
    return json.dumps({"kind": "PodList", "apiVersion": "v1", "items": pods})


def pod(index: int, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": f"p{index}"}, "spec": spec}


def test_each_has_file_line_object_and_the_similar_field() -> None:
    assert warnings(YAML) == [
        "standard input:3:10: Node a: ignored the unknown field status.allocatble; "
        "did you mean allocatable?",
        "standard input:8:3: Pod p: ignored the unknown field spec.nodeSelecter; "
        "did you mean nodeSelector?",
        "standard input:11:5: Pod p: ignored the unknown field spec.containers[0].resource; "
        "did you mean resources?",
        'standard input:13:31: the key "cpu" appears twice; the last one counts',
    ]


def test_repeated_keys_of_json_are_placed_in_any_of_several_values() -> None:
    node = '{"kind": "Node", "metadata": {"name": "ä", "labels": {"a:b": "\\u003a"}}}'
    twice = '{"kind": "Pod",\n "metadata": {"name": "p",\n "name": "q"}}'
    assert warnings(f"{node} {twice}") == [
        'standard input:3:2: the key "name" appears twice; the last one counts'
    ]
    assert warnings(node) == []


def test_one_warning_counts_all_objects_that_have_the_field() -> None:
    pods = [pod(index, nodeSelecter={}, containers=[{"nam": "c"}] * 2) for index in range(500)]
    selector, container = warnings(state_json(*pods))
    assert selector.endswith("did you mean nodeSelector? (500 objects have it)")
    assert "Pod p0: ignored the unknown field spec.containers[0].nam" in container


def test_beyond_the_limit_every_template_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unknown_fields, "_MAX_CHECKED", 2)
    odd = [pod(index, hostnam="x", nodeName="n") for index in range(3, 7)]
    (line,) = warnings(state_json(pod(0), pod(1), pod(2), *odd))
    assert "Pod p3: ignored the unknown field spec.hostnam" in line
    assert line.endswith("(4 objects have it)")


def test_many_unknown_fields_are_cut_with_their_number() -> None:
    lines = warnings(state_json(pod(0, **{f"field{index}x": 1 for index in range(30)})))
    assert len(lines) == 21
    assert lines[-1] == "10 more unknown fields and repeated keys"


@pytest.mark.parametrize(
    "manifest",
    [
        {"kind": "Pod", "metadata": {"name": "p", "managedFields": [{"fieldsV1": {"f:x": {}}}]}},
        {"kind": "Pod", "metadata": {"name": "p"}, "spec": {"workloadRef": {"name": "w"}}},
        {"kind": "Pod", "metadata": {"name": "p"}, "spec": None, "status": {"conditions": None}},
        {"kind": "Node", "metadata": {"name": "n"}, "status": {"declaredFeatures": ["x"]}},
        {"kind": "StorageClass", "metadata": {"name": "s"}, "parameters": {"any": "thing"}},
        {"kind": "Widget", "apiVersion": "example.com/v1", "wdth": 1},
    ],
    ids=["free content", "1.35 alone", "null", "since 1.35", "a map", "another kind"],
)
def test_fields_that_some_minor_knows_are_not_warned_of(manifest: dict[str, Any]) -> None:
    assert warnings(json.dumps(manifest)) == []


@pytest.mark.parametrize(("version", "odd"), [("v1", True), ("v1beta2", True), ("v1beta1", False)])
def test_each_version_of_a_kind_has_its_own_fields(version: str, odd: bool) -> None:
    requests = [{"name": "r", "deviceClassName": "gpu"}]
    claim = {
        "kind": "ResourceClaim",
        "apiVersion": f"resource.k8s.io/{version}",
        "metadata": {"name": "c"},
        "spec": {"devices": {"requests": requests}},
    }
    assert bool(warnings(json.dumps(claim))) is odd


@pytest.mark.parametrize("depth", [700, 900, 1_100])
def test_deep_objects_are_reported_by_the_decoder_alone(depth: int) -> None:
    content = '{"kind": "Pod", "spec": ' + '{"a": ' * depth + '{"b": 1, "b": 2}' + "}" * depth + "}"
    with pytest.raises(InputError):
        warnings(content)


def test_a_number_that_nothing_can_hold_is_an_error_of_the_object() -> None:
    with pytest.raises(InputError, match=r"Node: status\.capacity"):
        warnings('{"kind": "Node", "status": {"capacity": {"cpu": %s}}}' % ("9" * 5_000))
