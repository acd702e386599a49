"""The page of a preemption shows what the record has."""

from ksched_cli.testing import node, pod
from tests.report.html.pages import PageOf, titled

OBJECTS = (
    node("a", cpu="4"),
    node("b", cpu="4"),
    node("tainted", cpu="4", taints=["k=v:NoSchedule"]),
    node("without-victims", cpu="4"),
    pod("higher", node="without-victims", cpu="4", priority=1000),
    pod("low-a", node="a", cpu="4", priority=1),
    pod("low-b", node="b", cpu="3", priority=5),
    pod("small-b", node="b", cpu="1", priority=0),
    pod("urgent", cpu="3", priority=100),
)


def test_candidates_victims_and_the_criterion_are_those_of_the_record(page_of: PageOf) -> None:
    document, page = page_of("preempt", "urgent", objects=OBJECTS)
    text = " ".join(page.text)
    assert f"decided by {document['criterion']}" in text
    candidates = titled(page.data["grids"]["candidates"])
    assert candidates["Node"] == [c["node"] for c in document["candidates"]]
    assert candidates["Evicted"] == [len(c["victims"]) for c in document["candidates"]]
    assert candidates["May stay"] == [len(c["reprieved"]) for c in document["candidates"]]
    assert "How the node was chosen" in page.text
    assert "taken" in page.text
    others = titled(page.data["grids"]["others"])
    assert others["Node"] == ["tainted", "without-victims"]
    assert others["Plugin"] == ["TaintToleration", ""]
    assert others["Reasons"][1] == "No preemption victims found for incoming pod"


def test_a_pod_that_may_stay_is_named(page_of: PageOf) -> None:
    document, page = page_of("preempt", "urgent", objects=OBJECTS)
    reprieved = [pod for c in document["candidates"] for pod in c["reprieved"]]
    assert reprieved
    assert set(reprieved) <= set(page.text)


def test_a_pod_that_needs_no_preemption_has_a_page(page_of: PageOf) -> None:
    _, page = page_of("preempt", "p", objects=(node("a"), pod("p")))
    assert "default/p needs no preemption: it fits on a" in page.text
