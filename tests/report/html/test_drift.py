"""The page of a drift shows what the record has."""

from ksched_cli.testing import node, pod
from tests.report.html.pages import PageOf, titled

OBJECTS = (
    node("a", cpu="4"),
    node("b", cpu="8"),
    node("tainted", cpu="8", taints=["k=v:NoSchedule"]),
    *(pod(f"p{i}", node="a", cpu="1") for i in range(3)),
    pod("forbidden", node="tainted", cpu="1"),
)


def test_verdicts_and_moves_are_those_of_the_record(page_of: PageOf) -> None:
    document, page = page_of("drift", objects=OBJECTS)
    pods = titled(page.data["grids"]["pods"])
    assert pods["Pod"] == [pod["pod"] for pod in document["pods"]]
    assert pods["Verdict"].count("on a worse one") == document["summary"]["worse"] > 0
    assert pods["Verdict"].count("not allowed there") == document["summary"]["notAllowed"] == 1
    text = " ".join(page.text)
    assert f"a b {document['summary']['worse']}" in text
    assert "TaintToleration 1" in text
    assert f"running {document['summary']['running']}" in text


def test_pods_are_counted_by_how_far_they_are_behind(page_of: PageOf) -> None:
    document, page = page_of("drift", objects=OBJECTS)
    behind = titled(page.data["grids"]["pods"])["Points behind"]
    points = [p["bestScore"] - p["score"] for p in document["pods"] if p["score"] is not None]
    assert [value for value in behind if value is not None] == points
    assert "How far behind the best node" in page.text


def test_what_would_move_in_turn_is_beside_what_would_move_alone(page_of: PageOf) -> None:
    document, page = page_of("drift", objects=OBJECTS)
    pods = titled(page.data["grids"]["pods"])
    assert pods["Moved in turn"] == [p["inTurn"] for p in document["pods"]]
    moved = document["summary"]["movedInTurn"]
    assert moved == sum(p["inTurn"] != p["node"] for p in document["pods"]) > 0
    assert "Would move, each on its own" in page.text
    assert "Would move in turn" in page.text
    assert f"moved one after the other, {moved:,} of these" in " ".join(page.text)
