"""An explanation as JSON and as a table."""

from typing import Any

import pytest
from hypothesis import given
from msgspec import structs

from ksched_cli.analysis.explain import GroupScaleUp, GroupVerdict, ScaleUp, explain, select
from ksched_cli.cluster.state import ClusterState
from ksched_cli.report.explanation import short_name
from ksched_cli.report.forms import Form
from ksched_cli.report.limit import Limit
from ksched_cli.report.view import Bars, Medium
from ksched_cli.report.views import view_of
from ksched_cli.testing import cluster, explanation, find, node, pod, simulation
from tests.clusters import states
from tests.draws import broken_by
from tests.report.schemas import conforms, shown


@given(states(max_nodes=4, max_pending=2))
def test_explanations_are_as_their_schema_says(state: ClusterState) -> None:
    run = simulation(state)
    for pending in run.pending()[:2]:
        document = conforms(explain(run, pending), "explanation")
        fitting = [entry for entry in document["nodes"] if entry["fits"]]
        assert (document["node"] == "") == (not fitting)
        assert all(entry["rejections"] for entry in document["nodes"] if not entry["fits"])


def explained(*objects: dict[str, Any], pod: str = "") -> list[str]:
    answer = explanation(cluster(*objects), pod=pod, kubernetes_version="1.34")
    return shown(answer, Limit(rows=40))


def test_an_explanation_begins_with_the_verdict() -> None:
    text = explained(node("a"), node("b", cpu="8"), pod("p", cpu="2"))
    assert text[0].startswith("default/p goes to b with ")
    assert "Its points on b" in text


def test_an_explanation_of_a_pod_that_fits_nowhere_gives_every_reason() -> None:
    text = explained(
        node("a", cpu="1", taints=["k=v:NoSchedule"]), node("b", cpu="1"), pod("p", cpu="2")
    )
    assert text[:3] == [
        "default/p fits on no node",
        "requests cpu 2; the only node it may use, b, has 1",
        "what helps: request cpu 1 instead of 2, which b has free",
    ]
    assert any("untolerated taint {k: v}" in line and "k=v:NoSchedule" in line for line in text)
    assert sum("Insufficient cpu; cpu: wants 2, 1 free of 1" in line for line in text) == 2


def test_nodes_rejected_alike_share_a_line() -> None:
    text = explained(*(node(name, cpu="1") for name in "abc"), pod("p", cpu="2"))
    assert "a, b, c NodeResourcesFit: Insufficient cpu; cpu: wants 2, 1 free of 1" in text


def test_ties_and_the_only_node_are_said() -> None:
    text = explained(node("a"), node("b"), pod("p"))
    assert "one of 2 equally good nodes" in text[0]
    assert text[1] == "equally good: b"
    assert explained(node("a"), pod("p"))[0] == "default/p goes to a, the only node it fits on"


def test_a_running_pod_is_told_how_its_node_ranks() -> None:
    text = explained(node("a", cpu="2"), node("b", cpu="8"), pod("p", cpu="1", node="a"), pod="p")
    assert text[0] == "default/p runs on a, rank 2 of 2"
    assert text[1].startswith("today it would go to b with ")
    text = explained(node("a", cpu="8"), node("b", cpu="2"), pod("p", cpu="1", node="b"), pod="p")
    assert text[1].startswith("today it would go to a with ")


def test_a_gated_pod_is_said_to_be_gated() -> None:
    text = explained(node("a"), pod("p", gates=["example.com/wait"]), pod="p")
    assert text[0] == "default/p is not in the queue yet"
    assert text[1].startswith("SchedulingGates: waiting for")
    assert text[2].startswith("once it is, it goes to a")


def test_the_points_of_the_node_stand_before_the_ranking() -> None:
    text = explained(node("a"), node("b", cpu="8"), pod("p", cpu="2"))
    assert text.index("PLUGIN RAW 0-100 WEIGHT POINTS BECAUSE") < next(
        i for i, line in enumerate(text) if line.startswith("RANK NODE TOTAL")
    )


def test_the_points_shown_and_the_first_of_the_ranking_are_those_of_the_node_taken() -> None:
    run = broken_by(lambda ties: int(ties.max()))
    answer = explain(run, find(run, "p0"))
    for chosen in (answer, select(answer, (), 3), select(answer, ("n04",), 0)):
        text = shown(chosen, Limit(rows=40))
        assert text[0].startswith("default/p0 goes to n11, one of 12 equally good nodes")
        points = next(line for line in text if line.startswith("Its points"))
        assert points == "Its points on n11"
        first = text.index(next(line for line in text if line.startswith("RANK"))) + 1
        assert text[first].startswith("1 n11 (chosen) ")
        assert shown(chosen, form=Form.NAME)[0] == "n11"


def test_the_ranking_shows_ten_and_counts_the_others() -> None:
    text = explained(*(node(f"n{i:02}") for i in range(15)), pod("p"))
    assert "… and 5 more that fit (--all shows every one)" in text
    assert not any(line.startswith("1 n10") for line in text)


def test_many_rejected_nodes_are_grouped_by_reason_the_nearest_first() -> None:
    small = [node(f"s{i:02}", cpu=str(1 + i % 3)) for i in range(20)]
    tainted = [node(f"t{i}", cpu="1", taints=["k=v:NoSchedule"]) for i in range(2)]
    text = explained(*small, *tainted, pod("p", cpu="6"))
    nearest = "s02: cpu: wants 6, 3 free of 3 (and 5 more as near)"
    first = text.index(f"22 20 NodeResourcesFit: Insufficient cpu {nearest}")
    assert text[first + 1].startswith(
        "2 0 TaintToleration: node(s) had untolerated taint {k: v} t0: "
    )


def test_plugins_that_score_alike_are_said_in_a_line_below_the_ranking() -> None:
    state = cluster(node("a" * 30), node("b" * 30, cpu="8"), pod("p", cpu="2"))
    answer = explanation(state, kubernetes_version="1.34")
    text = shown(answer, Limit(60, 40))
    assert "RANK NODE TOTAL FIT BALANCE" in text
    assert "the same in all rows: Taint 300, Image 0" in text
    assert "RANK NODE TOTAL TAINT FIT BALANCE IMAGE" in shown(answer, Limit(100))


def test_where_not_all_nodes_are_looked_at_it_says_so_and_which_is_the_best_of_all() -> None:
    small = [node(f"n{i:03}", cpu="4") for i in range(200)]
    text = " ".join(explained(*small, node("z", cpu="64"), pod("p", cpu="1")))
    assert "goes to n000, one of " in text
    assert "of 201 nodes were looked at; of all 201 that fit, z would be the best, with " in text
    text = " ".join(explained(*small, pod("p", cpu="1")))
    assert "of 200 nodes were looked at; of all 200 that fit, n000 is the best too" in text
    assert "looked at" not in " ".join(explained(*small[:20], pod("p", cpu="1")))


def test_why_a_running_pod_would_not_be_placed_where_it_is_comes_before_the_ranking() -> None:
    others = [node(f"n{i:02}") for i in range(12)]
    tainted = node("own", taints=["k=v:NoSchedule"])
    text = explained(*others, tainted, pod("p", node="own"), pod="p")
    assert text[0] == "default/p runs on own, where it would not be placed now"
    reason = (
        "own TaintToleration: node(s) had untolerated taint {k: v}; not tolerated: k=v:NoSchedule"
    )
    assert text.index(reason) < text.index("PLUGIN RAW 0-100 WEIGHT POINTS BECAUSE")


def test_a_page_counts_the_nodes_that_each_plugin_leaves_and_adds_up_points() -> None:
    nodes = [
        node("cordoned"),
        *(node(name, cpu=cpu) for name, cpu in zip("abc", "148", strict=True)),
    ]
    nodes[0]["spec"]["unschedulable"] = True
    answer = explanation(cluster(*nodes, pod("p", cpu="2")), kubernetes_version="1.34")
    view = view_of(answer, Medium.PAGE)
    assert [tile.label for tile in view.tiles[:2]] == ["nodes", "fit"]
    charts = {each.heading: each for each in view.sections if isinstance(each, Bars)}
    funnel, ranking = charts["Nodes left after each plugin"], charts["Ranking"]
    assert funnel.rows == [
        ("all nodes", 4, None),
        ("NodeUnschedulable", 3, 1),
        ("NodeResourcesFit", 2, 1),
    ]
    assert [column.title for column in funnel.columns] == ["", "Nodes left", "Rejected here"]
    assert funnel.note.startswith("Plugins that rejected no node: ")
    assert [sum(values) for values in ranking.values] == [row[-1] for row in ranking.rows]


@pytest.mark.parametrize(
    ("plugin", "name"),
    [("NodeResourcesFit", "Fit"), ("http://host/path/", "path"), ("https://host", "host")],
)
def test_an_extender_has_the_end_of_its_url_as_its_name(plugin: str, name: str) -> None:
    assert short_name(plugin) == name


def test_of_the_nodes_that_were_looked_at_a_page_has_the_number() -> None:
    nodes = (node(f"n{i:03}") for i in range(200))
    answer = explanation(cluster(*nodes, pod("p")), kubernetes_version="1.34")
    tiles = {tile.label: tile.value for tile in view_of(answer, Medium.PAGE).tiles}
    assert int(tiles["looked at in this attempt"]) == answer.evaluated < 200


def test_the_group_that_an_autoscaler_chooses_is_named_and_the_others_say_why_not() -> None:
    groups = (
        GroupScaleUp(
            group="small", nodes=1, max_size=3, verdict=GroupVerdict.NOT_CHOSEN, adds=2, pods=3
        ),
        GroupScaleUp(
            group="large", nodes=0, max_size=3, verdict=GroupVerdict.SCALES_UP, adds=1, pods=3
        ),
    )
    scale_up = ScaleUp(autoscaler="a.yaml", would_scale_up=True, groups=groups)
    answer = explanation(cluster(node("n", cpu="1"), pod("p", cpu="2")))
    text = shown(structs.replace(answer, scale_up=scale_up))
    assert "the autoscaler would add 1 node to large" in " ".join(text)
    assert "small 1 of 3 not chosen would add 2 nodes for 3 pending pods" in text
    assert "large 0 of 3 scales up 1 node for 3 pending pods" in text
