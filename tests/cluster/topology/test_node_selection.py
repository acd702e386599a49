"""Node selectors over columns answer as they do for one node."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.cluster.node_affinity import node_terms, preferred_terms, required_node_affinity
from ksched_cli.cluster.objects import NodeSelector, PreferredSchedulingTerm
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.cluster.topology.node_selection import (
    matches_any,
    matches_required,
    preferred_weights,
)
from ksched_cli.kube.selectors import SelectorError
from ksched_cli.testing import cluster, node
from tests.cluster.build import pod, record

LABELS = st.dictionaries(st.sampled_from(["zone", "cores"]), st.sampled_from(["", "a", "2", "8"]))
NODES = st.lists(LABELS, min_size=1, max_size=4)
VALUES = {"In": 2, "NotIn": 2, "Exists": 0, "DoesNotExist": 0, "Gt": 1, "Lt": 1}


@st.composite
def expressions(draw: st.DrawFn) -> dict[str, Any]:
    operator = draw(st.sampled_from(sorted(VALUES)))
    values = draw(st.lists(st.sampled_from(["", "a", "2", "5"]), min_size=1, max_size=2))
    if operator in ("Gt", "Lt"):
        values = [draw(st.sampled_from(["2", "5", "many"]))]
    key = draw(st.sampled_from(["zone", "cores", "rack"]))
    return {"key": key, "operator": operator, "values": values if VALUES[operator] else []}


@st.composite
def terms(draw: st.DrawFn) -> dict[str, Any]:
    term: dict[str, Any] = {"matchExpressions": draw(st.lists(expressions(), max_size=2))}
    if draw(st.booleans()):
        operator = draw(st.sampled_from(["In", "NotIn"]))
        key = draw(st.sampled_from(["metadata.name", "metadata.uid"]))
        name = draw(st.sampled_from(["", "n0", "n1", "elsewhere"]))
        term["matchFields"] = [{"key": key, "operator": operator, "values": [name]}]
    return term


def snapshot_of(labels: list[dict[str, str]]) -> Snapshot:
    return Snapshot(cluster(*(node(f"n{i}", labels=own) for i, own in enumerate(labels))).nodes)


@given(NODES, st.lists(terms(), max_size=3))
def test_a_selector_matches_the_rows_whose_nodes_it_matches(
    labels: list[dict[str, str]], drawn: list[dict[str, Any]]
) -> None:
    selector = node_terms(record(NodeSelector, nodeSelectorTerms=drawn))
    mask = matches_any(snapshot_of(labels), selector)
    for row, own in enumerate(labels):
        try:
            expected = selector.matches(f"n{row}", own)
        except SelectorError:
            expected = False
        assert bool(mask[row]) == expected


@given(NODES, st.lists(st.tuples(st.integers(1, 100), terms()), max_size=3))
def test_weights_of_all_preferences_that_match_are_added(
    labels: list[dict[str, str]], drawn: list[tuple[int, dict[str, Any]]]
) -> None:
    written = [
        record(PreferredSchedulingTerm, weight=weight, preference=term) for weight, term in drawn
    ]
    try:
        preferences = preferred_terms(written)
    except SelectorError:
        return
    sums = preferred_weights(snapshot_of(labels), preferences)
    assert sums.tolist() == [
        sum(p.weight for p in preferences if p.term.matches(f"n{row}", own))
        for row, own in enumerate(labels)
    ]


def test_a_pod_requires_its_node_selector_and_its_affinity() -> None:
    term = {"matchExpressions": [{"key": "cores", "operator": "Gt", "values": ["4"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    spec = pod(nodeSelector={"zone": "a"}, affinity={"nodeAffinity": required}).spec
    snapshot = snapshot_of([{"zone": "a", "cores": "8"}, {"zone": "a"}, {"cores": "8"}])
    mask = matches_required(snapshot, required_node_affinity(spec))
    assert mask.tolist() == [True, False, False]
    assert matches_required(snapshot, required_node_affinity(pod().spec)).all()
