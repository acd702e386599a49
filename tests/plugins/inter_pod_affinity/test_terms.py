"""Parsed affinity terms, the namespaces they select, and the counters of running pods' terms."""

from typing import Any

import pytest

from ksched_cli.cluster.affinity_terms import NO_TERMS, AffinityTerms, affinity_terms
from ksched_cli.cluster.topology.pod_index import Clause, PodSelection, TermKind
from ksched_cli.plugins.inter_pod_affinity import ExistingTerms, as_existing, as_incoming
from ksched_cli.testing import cluster, find, node, pod, simulation
from tests.plugins.inter_pod_affinity.manifests import FAR_FROM_WEB, NODES, PREFERRED, REQUIRED

WEB = {"matchLabels": {"app": "web"}}
BROKEN = {"matchExpressions": [{"key": "app", "operator": "Near"}]}


def namespace(name: str, **labels: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def term(selector: dict[str, Any] = WEB, **more: Any) -> dict[str, Any]:
    return {"topologyKey": "zone", "labelSelector": selector, **more}


def terms_of(affinity: dict[str, Any] | None) -> AffinityTerms:
    return affinity_terms(find(simulation(cluster(node("a"), pod("p", affinity=affinity)))))


def test_a_pod_without_pod_affinity_has_no_terms() -> None:
    assert terms_of(None) is NO_TERMS
    assert terms_of({"nodeAffinity": {}}) is NO_TERMS


def test_preferred_anti_affinity_has_a_negative_weight_and_comes_last() -> None:
    def weighted(weight: int) -> dict[str, list[dict[str, Any]]]:
        return {PREFERRED: [{"weight": weight, "podAffinityTerm": term()}]}

    terms = terms_of({"podAntiAffinity": weighted(7), "podAffinity": weighted(3)})
    assert [preferred.weight for preferred in terms.preferred] == [3, -7]


@pytest.mark.parametrize(
    ("more", "namespaces"),
    [
        ({}, {"default"}),
        ({"namespaces": ["blue"]}, {"blue"}),
        ({"namespaceSelector": {"matchLabels": {"team": "x"}}}, set()),
    ],
)
def test_a_term_without_namespaces_is_about_the_pods_own(
    more: dict[str, Any], namespaces: set[str]
) -> None:
    (required,) = terms_of({"podAffinity": {REQUIRED: [term(**more)]}}).required
    assert required.namespaces == namespaces


def test_a_list_with_a_term_that_does_not_parse_is_empty_and_the_error_names_it() -> None:
    terms = terms_of({"podAffinity": {REQUIRED: [term(), term(BROKEN)]}})
    assert terms.required == ()
    assert terms.error == 'requiredAffinityTerms: "Near" is not a valid label selector operator'


def test_errors_of_two_lists_stand_in_brackets() -> None:
    broken = {REQUIRED: [term(BROKEN)]}
    error = terms_of({"podAffinity": broken, "podAntiAffinity": broken}).error
    assert error.startswith("[requiredAffinityTerms: ")
    assert ", requiredAntiAffinityTerms: " in error
    assert error.endswith("]")


def matching_namespaces(clause: Clause, *names: str) -> list[str]:
    selection = PodSelection((clause,))
    return [name for name in names if selection.matches(name, {"app": "web"})]


def test_a_namespace_selector_selects_by_the_labels_of_namespaces() -> None:
    state = cluster(namespace("blue", team="x"), namespace("red", team="y"))
    selector = {"matchLabels": {"team": "x"}}
    (required,) = terms_of({"podAffinity": {REQUIRED: [term(namespaceSelector=selector)]}}).required
    for clause_of in (as_incoming, as_existing):
        clause = clause_of(required, state.namespaces)
        assert matching_namespaces(clause, "blue", "red", "unknown") == ["blue"]


def test_a_selector_that_no_labels_satisfy_selects_every_namespace_for_the_incoming_pod_only() -> (
    None
):
    state = cluster(namespace("blue", team="x"), namespace("red", team="y"))
    selector = {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["x"]}]}
    (required,) = terms_of({"podAffinity": {REQUIRED: [term(namespaceSelector=selector)]}}).required
    incoming = as_incoming(required, state.namespaces)
    assert matching_namespaces(incoming, "blue", "red", "unknown") == ["blue", "red", "unknown"]
    existing = as_existing(required, state.namespaces)
    assert matching_namespaces(existing, "blue", "red", "unknown") == ["red", "unknown"]


def test_the_counters_of_running_pods_follow_the_snapshot() -> None:
    run = simulation(cluster(*NODES, pod("far", node="n0", affinity=FAR_FROM_WEB), pod("p")))
    existing = run.frameworks["default-scheduler"].handle.service(ExistingTerms)
    row = run.snapshot.row["n0"]
    (far,) = run.snapshot.pods[row]
    (counter,) = existing.terms_of(far)
    assert (counter.kind, counter.total) == (TermKind.AVOIDS, 1)
    run.snapshot.remove(far, row)
    assert counter.total == 0
    run.snapshot.add(far, row)
    assert counter.total == 1
    assert existing.terms_of(find(run, "p")) == ()
