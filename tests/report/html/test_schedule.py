"""The page of a run shows what the record has."""

from typing import Any

from msgspec.structs import replace

from ksched_cli.analysis.cluster_map import cluster_map
from ksched_cli.analysis.schedule import schedule_result
from ksched_cli.analysis.usage import node_usages
from ksched_cli.answers import document_of
from ksched_cli.report.html.page import render_page
from ksched_cli.report.html.schedule import waiting_groups
from ksched_cli.testing import Manifest, cluster, node, pod, simulation
from tests.report.html.pages import cells, check_stands_alone


def page_of(*objects: Manifest) -> tuple[dict[str, Any], str]:
    """The document of a run, and its page."""
    simulated = simulation(cluster(*objects))
    before = node_usages(simulated.snapshot)
    run = simulated.run()
    answer = schedule_result(
        run,
        trace=False,
        usages=node_usages(simulated.snapshot),
        cluster_map=cluster_map(simulated, run, before),
    )
    return document_of(answer), render_page(answer)


def test_the_page_counts_as_the_record_does() -> None:
    document, text = page_of(
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


def test_pods_with_the_same_reasons_share_a_group_whatever_the_counts() -> None:
    messages = {
        "n/a": "0/5 nodes are available: 1 Insufficient memory, 4 Insufficient cpu.",
        "n/b": "0/5 nodes are available: 3 Insufficient memory, 2 Insufficient cpu.",
        "n/c": "0/5 nodes are available: 5 node(s) had untolerated taint {k: 1}.",
        "n/d": "0/5 nodes are available: 5 node(s) had untolerated taint {k: 2}.",
        "n/e": "waiting for scheduling gates: [x]",
    }
    answer = replace(
        schedule_result(simulation(cluster()).run(), trace=False),
        pending=("n/a", "n/b", "n/c", "n/d"),
        gated=("n/e",),
        messages=messages,
    )
    groups = waiting_groups(answer, dict.fromkeys(messages, "n/Deployment/web"))
    assert [(group.state, group.count) for group in groups] == [
        ("pending", 2),
        ("pending", 1),
        ("pending", 1),
        ("gated", 1),
    ]
    assert groups[0].message.startswith(messages["n/a"])
    assert "differ" in groups[0].message
    assert groups[0].heading == "2 pods of n/Deployment/web"


def test_a_run_without_pods_or_nodes_has_a_page() -> None:
    _, text = page_of()
    assert "No pod waits for a node" in check_stands_alone(text).text


def test_names_are_escaped_in_map_and_tables() -> None:
    label = {"topology.kubernetes.io/zone": "</script><script>alert(1)"}
    manifest = pod("p", cpu="1")
    manifest["metadata"]["name"] = "<script>alert(2)</script>"
    _, text = page_of(node("a", labels=label), node("b"), manifest)
    page = check_stands_alone(text)
    assert [tag for tag, _ in page.tags].count("script") == 2
    assert cells(page.data["grids"]["pods"][0]) == ["default/<script>alert(2)</script>"]
    assert cells(page.data["map"]["labels"][0])[0] == label["topology.kubernetes.io/zone"]
