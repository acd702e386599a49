"""The page of a comparison shows what the record has."""

from ksched_cli.testing import node, pod
from tests.report.html.pages import PageOf, cells, titled

OBJECTS = (
    node("a", cpu="4"),
    node("b", cpu="8"),
    pod("q", node="a", cpu="1"),
    *(pod(f"p{i}", cpu="2") for i in range(5)),
)


def test_sides_and_moves_are_those_of_the_record(page_of: PageOf) -> None:
    document, page = page_of("compare", "--vs", "--change", "drain b", objects=OBJECTS)
    pods = titled(page.data["grids"]["pods"])
    assert pods["Pod"] == [pod["pod"] for pod in document["pods"]]
    assert pods["without changes"] == [
        pod["nodes"][0] or pod["states"][0] for pod in document["pods"]
    ]
    text = " ".join(page.text)
    placed = [side["summary"]["placed"] for side in document["sides"]]
    assert f"pods placed {placed[0]} {placed[1]}" in text
    assert any("legend" in attributes.get("class", "") for _, attributes in page.tags)
    moved = sum(pod["nodes"] == ["b", None] for pod in document["pods"])
    titles = [text for text in page.text if text.startswith("b to pending")]
    assert titles == [f"b to pending: {moved} pods"]
    assert "Utilisation" in page.text
    assert "drain b" in page.text


def test_where_nothing_differs_there_are_no_moves(page_of: PageOf) -> None:
    _, page = page_of("compare", "--vs", "--change", "label nodes a x=y", objects=OBJECTS)
    assert "No difference: 6 pods in the same place on every side" in page.text
    assert "Because of" not in page.text


def test_the_map_has_each_side_and_knows_where_the_pods_are(page_of: PageOf) -> None:
    document, page = page_of("compare", "--vs", "--change", "delete node/b", objects=OBJECTS)
    nodes = page.data["map"]
    assert nodes["names"] == ["a", "b"]
    assert nodes["views"] == [side["name"] for side in document["sides"]]
    cpu = next(each for each in nodes["resources"] if each["name"] == "cpu")
    before, after = (cells(view) for view in cpu["views"])
    assert before[1] > 0
    assert after[1] is None  # b is not there any more
    titles = [column["title"] for column in page.data["grids"]["pods"]]
    assert [titles[index] for index in nodes["nodeColumns"]] == nodes["views"]
