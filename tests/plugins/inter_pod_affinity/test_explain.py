"""What InterPodAffinity explains about a node."""

from typing import Any

from ksched_cli.testing import cluster, pod
from tests.plugins.explained import rejection_details, score_details
from tests.plugins.inter_pod_affinity.manifests import (
    FAR_FROM_WEB,
    NEAR_WEB,
    NODES,
    PREFERRED,
    REQUIRED,
)


def test_explain_says_where_the_wanted_pods_are() -> None:
    web = pod("web", node="n2", labels={"app": "web"})
    lines = rejection_details(cluster(*NODES, web, pod("p", affinity=NEAR_WEB)))
    assert lines["n0"] == [
        "no pod with app=web in namespace default runs in zone=a; they run in b (1)"
    ]
    assert lines["n2"] == []
    assert lines["n3"] == ["the node has no label zone"]


def test_explain_says_that_nobody_is_wanted_anywhere() -> None:
    lines = rejection_details(cluster(*NODES, pod("p", affinity=NEAR_WEB)))
    line = "no pod with app=web runs in namespace default, and it does not match itself"
    assert lines["n0"] == [line]


def test_explain_knows_that_the_first_pod_of_a_group_needs_nothing_but_the_key() -> None:
    lines = rejection_details(cluster(*NODES, pod("p", labels={"app": "web"}, affinity=NEAR_WEB)))
    assert lines["n0"] == []
    assert lines["n3"] == ["the node has no label zone"]


def test_explain_names_pods_of_other_namespaces_and_pending_ones() -> None:
    web = pod("web", "infra", node="n0", labels={"app": "web"})
    lines = rejection_details(cluster(*NODES, web, pod("p", affinity=NEAR_WEB)))
    nobody = "no pod with app=web runs in namespace default; "
    assert lines["n0"] == [f"{nobody}infra/web has these labels in another namespace"]
    waiting = pod("web", labels={"app": "web"}, gates=["example.com/g"])
    lines = rejection_details(cluster(*NODES, waiting, pod("p", affinity=NEAR_WEB)))
    assert lines["n0"] == [f"{nobody}default/web would match and is pending"]


def test_explain_names_a_namespace_selector_that_matches_no_namespace() -> None:
    (term,) = NEAR_WEB["podAffinity"][REQUIRED]
    term = term | {"namespaceSelector": {"matchLabels": {"team": "x"}}}
    asking = pod("p", affinity={"podAffinity": {REQUIRED: [term]}})
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "infra"}}
    text = "its namespaceSelector team=x"
    lines = rejection_details(cluster(*NODES, namespace, asking))
    assert lines["n0"] == [f"{text} matches no namespace"]
    lines = rejection_details(cluster(*NODES, asking))
    assert lines["n0"] == [f"{text} needs Namespaces, and the state has none"]


def test_explain_names_the_unwanted_pods() -> None:
    webs = [pod(f"web{i}", node="n0", labels={"app": "web"}) for i in range(5)]
    lines = rejection_details(cluster(*NODES, *webs, pod("p", affinity=FAR_FROM_WEB)))
    names = "default/web0 on n0, default/web1 on n0, default/web2 on n0 and 2 more"
    line = f"pods with app=web in namespace default run in zone=a: {names}"
    assert lines == {"n0": [line], "n1": [line], "n2": [], "n3": []}


def test_explain_names_the_running_pod_whose_anti_affinity_stands_in_the_way() -> None:
    lone = pod("lone", node="n0", affinity=FAR_FROM_WEB)
    bystander = pod("bystander", node="n0")
    asking = pod("p", labels={"app": "web"})
    lines = rejection_details(cluster(*NODES, lone, bystander, asking))
    line = "pods that accept none with app=web in namespace default run in zone=a: "
    assert lines["n1"] == [line + "default/lone on n0"]
    assert lines["n2"] == []


def test_explain_adds_up_the_score() -> None:
    def preferring(kind: str, weight: int) -> dict[str, dict[str, list[dict[str, Any]]]]:
        weighted_term = {"weight": weight, "podAffinityTerm": NEAR_WEB["podAffinity"][REQUIRED][0]}
        return {kind: {PREFERRED: [weighted_term]}}

    running = [
        pod("web", node="n0", labels={"app": "web"}),
        pod("fan", node="n0", affinity=NEAR_WEB),
        pod("fan2", node="n1", affinity=NEAR_WEB),
        pod("shy", node="n2", affinity=preferring("podAntiAffinity", 9)),
    ]
    asking = pod("p", labels={"app": "web"}, affinity=preferring("podAffinity", 4))
    lines = score_details("InterPodAffinity", cluster(*NODES, *running, asking))
    to_web = "app=web in namespace default"
    assert lines["n1"] == [
        f"1 pod in zone=a with {to_web}, +4 each: +4",
        f"2 pods in zone=a with required affinity to {to_web}, +1 each: +2",
    ]
    assert lines["n2"] == [f"1 pod in zone=b with preferred anti-affinity to {to_web}, -9 each: -9"]
    assert lines["n3"] == []
