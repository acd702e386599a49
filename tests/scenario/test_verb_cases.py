"""Every verb against states computed by hand: cases/VERB.yaml, a list of

name:     a sentence
nodes:    names, or name → what testing.node takes
pods:     name → what testing.pod takes, and: owner (KIND/NAME), ready, created, annotations, status
objects:  manifests
change:   the line or {apply: MANIFEST}, or a list of them
after:    pod → its node, "" for one that is pending: all of them, in the default namespace by name
did:      what the changes did, line by line; left out where `after` says it
nodes_after: node → {taints, labels, unschedulable}, those that are given
has:      KIND/NAME of objects that are there afterwards; lacks: that are not
requests: pod → container → resource → amount
error:    a part of the message, where the change is refused
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from ksched_cli.cluster.objects import Node
from ksched_cli.cluster.state import ClusterState
from ksched_cli.scenario.apply import Apply
from ksched_cli.scenario.change import Change, ChangeError, apply_changes
from ksched_cli.scenario.file import VERBS, parse_change
from ksched_cli.scenario.objects import kind_of, objects_of
from ksched_cli.testing import Manifest, cluster, node, pod
from tests.narrowing import present
from tests.scenario.build import nodes_of, owned, ready

CASE_FILES = sorted(Path(__file__).parent.joinpath("cases").glob("*.yaml"))
CASES = [
    pytest.param(case, id=f"{path.stem}-{case['name']}")
    for path in CASE_FILES
    for case in yaml.load(path.read_text("utf-8"), yaml.CSafeLoader)
]


def build(case: Manifest) -> ClusterState:
    nodes = case.get("nodes") or ["n1"]
    fields = nodes if isinstance(nodes, dict) else dict.fromkeys(nodes)
    manifests = [node(name, **(own or {})) for name, own in fields.items()]
    manifests += [_pod(name, own or {}) for name, own in (case.get("pods") or {}).items()]
    return cluster(*manifests, *(case.get("objects") or ()))


def _pod(name: str, fields: dict[str, Any]) -> Manifest:
    fields = dict(fields)
    owner = fields.pop("owner", "")
    if fields.pop("ready", False):
        fields["status"] = {**ready(), **fields.get("status", {})}
    if owner:
        kind, _, owner_name = owner.partition("/")
        return owned(name, kind, owner_name, **fields)
    if "created" in fields:
        fields["metadata"] = {"creationTimestamp": fields.pop("created")}
    return pod(name, **fields)


@pytest.mark.parametrize("case", CASES)
def test_a_change_does_what_was_computed_by_hand(case: Manifest) -> None:
    changes = [_change(entry) for entry in _entries(case)]
    state = build(case)
    if "error" in case:
        with pytest.raises(ChangeError) as error:
            apply_changes(state, [change() for change in changes])
        assert case["error"] in str(error.value)
        return
    after, records = apply_changes(state, [change() for change in changes])
    did = [text for record in records for text in record.applied.did]
    if "after" in case:
        homes = {key.removeprefix("default/"): name for key, name in nodes_of(after).items()}
        assert homes == case["after"]
    assert did == case.get("did", did)
    nodes = {each.name: each for each in after.nodes}
    for name, expected in (case.get("nodes_after") or {}).items():
        assert {key: _node_field(nodes[name], key) for key in expected} == expected
    assert [text for text in case.get("has") or () if not _is_there(after, text)] == []
    assert [text for text in case.get("lacks") or () if _is_there(after, text)] == []
    pods = {each.name: each for each in after.pods}
    for name, containers in (case.get("requests") or {}).items():
        spec = pods[name].spec
        assert {
            container.name: {key: str(q) for key, q in container.resources.requests.items()}
            for container in (*spec.init_containers, *spec.containers)
        } == containers


def _entries(case: Manifest) -> list[Any]:
    return case["change"] if isinstance(case["change"], list) else [case["change"]]


def _change(entry: Any) -> Callable[[], Change]:
    """Parsed when it is called."""
    if isinstance(entry, str):
        return lambda: parse_change(entry)
    return lambda: Apply.of("apply", "the case", "", [entry["apply"]])


def _node_field(obj: Node, field: str) -> object:
    if field == "labels":
        return dict(obj.metadata.labels)
    if field == "unschedulable":
        return obj.spec.unschedulable
    return [f"{t.key}={t.value}:{t.effect}" for t in obj.spec.taints]


def _is_there(state: ClusterState, text: str) -> bool:
    word, _, name = text.partition("/")
    return name in {key[1] for key in objects_of(state, present(kind_of(word)))}


def test_every_verb_has_cases() -> None:
    names = {path.stem.replace("-", " ") for path in CASE_FILES}
    assert {name if name in VERBS else name.replace(" ", "-") for name in names} == set(VERBS)
