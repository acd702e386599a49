"""The page of a run shows what the record has."""

from typing import Any

from ksched_cli.analysis.schedule import result_of
from ksched_cli.analysis.usage import node_usages
from ksched_cli.answers import document_of
from ksched_cli.report.html.page import render_page
from ksched_cli.testing import Manifest, cluster, node, pod, simulation
from tests.report.html.pages import PageOf, cells, check_stands_alone


def shown(*objects: Manifest) -> tuple[dict[str, Any], str]:
    """The document of a run, and its page."""
    simulated = simulation(cluster(*objects))
    before = node_usages(simulated.snapshot)
    answer = result_of(simulated, simulated.run(), before=before)
    return document_of(answer), render_page(answer)


def test_the_page_counts_as_the_record_does() -> None:
    document, text = shown(
        node("a", cpu="4"),
        node("b", cpu="4"),
        *(pod(f"p{i}", cpu="1") for i in range(10)),
        pod("gated", gates=["wait"]),
    )
    page = check_stands_alone(text)
    assert "2 of 10 pods stay pending" in page.text
    assert page.tiles == {
        "placed": "8", "pending": "2", "gated": "1", "nodes used": "2 of 2",
    }  # fmt: skip
    pods = {column["title"]: cells(column) for column in page.data["grids"]["pods"]}
    placed = {pod: node for pod, node in zip(pods["Pod"], pods["Node"], strict=True) if node}
    assert placed == document["placements"]
    assert pods["State"].count("pending") == len(document["pending"])
    nodes = {column["title"]: cells(column) for column in page.data["grids"]["nodes"]}
    assert nodes["Pods"] == [usage["pods"] for usage in document["nodes"]]
    assert "2 pods of no controller in default" in page.text


def test_pending_pods_are_grouped_as_in_the_table_with_cause_and_remedy(page_of: PageOf) -> None:
    waiting = [pod(f"p{i}", cpu="1", node_selector={"disk": disk}) for i, disk in enumerate("xxy")]
    gated = [pod(f"g{i}", gates=["wait"]) for i in range(2)]
    _, page = page_of("schedule", objects=(node("a"), *waiting, *gated))
    text = " ".join(page.text)
    assert "2 pods of no controller in default" in text
    cause = "no node has the label disk=x, which it selects"
    remedy = (
        "what helps: label a disk=x (places all 2 pods), "
        "or do not select disk=x (helps 1 of 2 pods)"
    )
    message = "kube-scheduler says: 0/1 nodes are available: 1 node(s) didn't match"
    assert f"{cause} {remedy} {message}" in text
    assert "no node has the label disk=y" in text
    assert "2 pods of no controller in default waiting for scheduling gates: [wait]" in text


def test_utilisation_is_shown_by_a_label(page_of: PageOf) -> None:
    nodes = (node("a", cpu="4", labels={"pool": "x"}), node("b", cpu="4"))
    document, page = page_of("schedule", "--by", "pool", objects=(*nodes, pod("p", cpu="1")))
    assert [(pool["value"], pool["used"]["cpu"]) for pool in document["utilization"]["pools"]] == [
        ("x", 0.25),
        (None, 0.0),
    ]
    assert "pool Nodes cpu used" in " ".join(page.text)


def test_a_run_without_pods_or_nodes_has_a_page() -> None:
    _, text = shown()
    assert "No pod waits for a node" in check_stands_alone(text).text


def test_names_are_escaped_in_map_and_tables() -> None:
    label = {"topology.kubernetes.io/zone": "</script><script>alert(1)"}
    manifest = pod("p", cpu="1")
    manifest["metadata"]["name"] = "<script>alert(2)</script>"
    _, text = shown(node("a", labels=label), node("b"), manifest)
    page = check_stands_alone(text)
    assert [tag for tag, _ in page.tags].count("script") == 2
    assert cells(page.data["grids"]["pods"][0]) == ["default/<script>alert(2)</script>"]
    assert cells(page.data["map"]["labels"][0])[0] == label["topology.kubernetes.io/zone"]
