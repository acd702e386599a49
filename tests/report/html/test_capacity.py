"""The page of a capacity shows what the record has."""

from ksched_cli.testing import node, pod
from tests.report.html.pages import PageOf, titled

OBJECTS = (node("a", cpu="4"), node("b", cpu="8"), node("c", cpu="4"), pod("p", cpu="2"))


def test_the_table_of_nodes_has_every_copy(page_of: PageOf) -> None:
    document, page = page_of("capacity", "p", objects=OBJECTS)
    nodes = titled(page.data["grids"]["nodes"])
    assert dict(zip(nodes["Node"], nodes["Copies"], strict=True)) == document["nodes"]
    assert nodes["Node"] == ["b", "a", "c"]
    assert document["cause"] in page.text
    assert f"kube-scheduler says: {document['limitedBy']}" in page.text
    assert "8 copies of default/p fit, on 3 nodes" in page.text


def test_a_search_that_stopped_says_so(page_of: PageOf) -> None:
    _, page = page_of("capacity", "p", "--max", 3, objects=OBJECTS)
    assert "the search stopped at 3; --max N raises that limit" in page.text


def test_nodes_needed_are_shown_with_the_runs_they_rest_on(page_of: PageOf) -> None:
    objects = (*OBJECTS, *(pod(f"big-{i}", cpu="4") for i in range(6)))
    document, page = page_of("capacity", "--pending", "--like", "a", objects=objects)
    assert f"{document['nodesNeeded']} more nodes like a are needed" in page.text
    text = " ".join(page.text)
    for run in document["runs"]:
        assert f"{run['nodes']} {run['pending']} {run['evicted']}" in text
