"""The page of an explanation shows what the record has."""

from ksched_cli.testing import node, pod
from tests.report.html.pages import PageOf, cells, titled

OBJECTS = (
    node("roomy", cpu="8"),
    node("medium", cpu="4"),
    node("tainted", cpu="8", taints=["k=v:NoSchedule"]),
    node("small", cpu="1"),
    node("both", cpu="1", taints=["k=v:NoSchedule"]),
    pod("p", cpu="2"),
)


def test_the_funnel_narrows_from_all_nodes_to_those_that_fit(page_of: PageOf) -> None:
    document, page = page_of("explain", "p", objects=OBJECTS)
    steps = {step["plugin"]: step for step in document["funnel"]}
    assert (steps["TaintToleration"]["rejects"], steps["TaintToleration"]["left"]) == (2, 3)
    assert (steps["NodeResourcesFit"]["rejects"], steps["NodeResourcesFit"]["left"]) == (2, 2)
    text = " ".join(line for line in page.text if ":" not in line or "no node" in line)
    assert "all nodes 5" in text
    assert "TaintToleration 3 2 2" in text
    assert "NodeResourcesFit 2 1 2" in text
    assert "Plugins that rejected no node: NodeUnschedulable" in text


def test_the_ranking_has_a_bar_of_weighted_scores_for_every_node(page_of: PageOf) -> None:
    document, page = page_of("explain", "p", objects=OBJECTS)
    fitting = [node for node in document["nodes"] if node["fits"]]
    labels = [tags["aria-label"] for tag, tags in page.tags if tags.get("role") == "img"]
    for scored in fitting:
        scores = {name: score["weighted"] for name, score in scored["scores"].items()}
        parts = ", ".join(f"{name} {points:,}" for name, points in scores.items() if points)
        assert parts in labels


def test_the_node_taken_is_the_first_of_the_ranking_and_marked(page_of: PageOf) -> None:
    """Nodes beyond those looked at have more points."""
    nodes = [node(f"n{i:03}", cpu="4") for i in range(200)]
    nodes += [node(f"z{i:02}", cpu="64") for i in range(30)]
    document, page = page_of("explain", "p", objects=(*nodes, pod("p", cpu="1")))
    assert (document["node"], document["rank"]) == ("n000", 31)
    text = " ".join(page.text)
    assert text.index("31 n000 (chosen)") < text.index("1 z00")
    assert page.data["pair"]["first"] == "n000"


def test_any_two_nodes_can_be_laid_side_by_side(page_of: PageOf) -> None:
    document, page = page_of("explain", "p", objects=OBJECTS)
    pair = page.data["pair"]
    assert pair["names"] == ["both", "medium", "roomy", "small", "tainted"]
    assert (pair["first"], pair["second"]) == ("roomy", "medium")
    assert cells(pair["total"]) == [node["total"] for node in document["nodes"]]
    rejections = cells(pair["rejections"])
    assert [plugin for plugin, _, _ in rejections[0]] == ["TaintToleration", "NodeResourcesFit"]
    assert rejections[2] == []


def test_a_pod_that_fits_nowhere_has_reasons_and_no_ranking(page_of: PageOf) -> None:
    document, page = page_of("explain", "p", objects=(node("a", cpu="1"), pod("p", cpu="2")))
    assert document["reasons"][0]["reason"] == "Insufficient cpu"
    text = " ".join(page.text)
    assert "fits on no node" in text
    assert "Insufficient cpu" in text
    assert "Ranking" not in page.text


def test_a_pod_that_is_ignored_has_a_page_without_sections(page_of: PageOf) -> None:
    _, page = page_of("explain", "p", objects=(node("a"), pod("p", profile="other")))
    assert "The scheduler never looks at default/p" in " ".join(page.text)


def test_the_page_is_of_the_node_taken_and_those_asked_for(page_of: PageOf) -> None:
    _, page = page_of("explain", "p", "--node", "small", objects=OBJECTS)
    pair = page.data["pair"]
    assert (pair["names"], pair["first"]) == (["roomy", "small"], "roomy")
    assert titled(page.data["grids"]["nodes"])["NodeResourcesFit"][1] == "no"
    assert (
        "not on small: NodeResourcesFit: Insufficient cpu; cpu: wants 2, 1 free of 1" in page.text
    )
    assert "all nodes 5" in " ".join(page.text)


def test_the_matrix_has_what_each_plugin_says_of_each_node(page_of: PageOf) -> None:
    """The node taken first, then the others that fit, best first, then those nearest to it."""
    document, page = page_of("explain", "p", objects=OBJECTS)
    matrix = titled(page.data["grids"]["nodes"])
    assert matrix["Node"][:2] == ["roomy (chosen)", "medium"]
    assert matrix["Node"][-1] == "both"
    assert matrix["Fits"] == ["yes", "yes", "no", "no", "no"]
    explained = {each["node"]: each for each in document["nodes"]}
    for at, name in enumerate(name.partition(" ")[0] for name in matrix["Node"]):
        rejecting = {each["plugin"] for each in explained[name]["rejections"]}
        scores = explained[name]["scores"]
        for plugin in ("TaintToleration", "NodeResourcesFit"):
            expected = "no" if plugin in rejecting else scores.get(plugin, {}).get("weighted")
            assert matrix[plugin][at] == expected
    assert "NodeUnschedulable" not in matrix  # rejects no node
    assert "ImageLocality" not in matrix  # gives no points


def test_a_filter_that_gives_no_points_passes_the_other_nodes(page_of: PageOf) -> None:
    objects = (node("a"), node("b", unschedulable=True), pod("p"))
    _, page = page_of("explain", "p", objects=objects)
    matrix = titled(page.data["grids"]["nodes"])
    assert matrix["NodeUnschedulable"] == ["passes", "no"]


def test_a_node_that_was_asked_about_has_its_rank(page_of: PageOf) -> None:
    document, page = page_of("explain", "p", "--node", "medium", objects=OBJECTS)
    (medium,) = (each for each in document["nodes"] if each["node"] == "medium")
    assert f"medium is rank 2 of 2, with {medium['total']} points" in page.text


def test_the_schedulers_message_can_be_copied(page_of: PageOf) -> None:
    document, page = page_of("explain", "p", objects=(node("small", cpu="1"), pod("p", cpu="2")))
    copied = [tags["data-copy"] for tag, tags in page.tags if "data-copy" in tags]
    assert document["message"] in copied
