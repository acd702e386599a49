"""The page of a shrink shows what the record has."""

from ksched_cli.testing import node
from tests.report.html.pages import PageOf, titled
from tests.scenario.build import owned

OBJECTS = (
    node("a", cpu="2"),
    node("b", cpu="4"),
    node("c", cpu="4"),
    owned("p", cpu="1", node="a"),
    owned("q", cpu="3", node="b"),
    owned("r", cpu="3", node="c"),
)


def test_moves_and_holds_are_those_of_the_record(page_of: PageOf) -> None:
    document, page = page_of("shrink", objects=OBJECTS)
    (going, *staying) = document["nodes"]
    moves = titled(page.data["grids"]["pods"])
    assert dict(zip(moves["Pod"], moves["Moves to"], strict=True)) == going["movesTo"] != {}
    holds = titled(page.data["grids"]["holds"])
    assert holds["Node"] == [each["node"] for each in staying for _ in each["heldBy"]]
    assert f"could go {document['removable']}" in " ".join(page.text)


def test_nodes_that_go_are_not_there_afterwards(page_of: PageOf) -> None:
    document, page = page_of("shrink", objects=OBJECTS)
    table = titled(page.data["grids"]["nodes"])
    assert table["Node"] == [each["node"] for each in document["nodes"] if each["removable"]]
    cpu = next(each for each in page.data["map"]["resources"] if each["name"] == "cpu")
    there = [amount is not None for amount in cpu["views"][1]["values"]]
    assert there == [name not in table["Node"] for name in page.data["map"]["names"]]
    assert f"1 of 3 nodes could go: {table['Node'][0]}" in " ".join(page.text)


def test_an_upgrade_has_its_waves_and_the_nodes_in_their_order(page_of: PageOf) -> None:
    document, page = page_of("shrink", "--upgrade", "-l", "!none", objects=OBJECTS)
    drained = [node["node"] for wave in document["waves"] for node in wave["drained"]]
    table = titled(page.data["grids"]["nodes"])
    assert table["Drain"] == drained != []
    text = " ".join(page.text)
    assert f"replaced {document['replaced']}" in text
    assert "wave 1" in text
