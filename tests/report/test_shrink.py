"""An answer of `shrink`, and of `shrink --upgrade`, as a table."""

import csv
import io
import json

import pytest
from msgspec import UNSET, UnsetType, structs

from ksched_cli.analysis.cluster_cost import ClusterCost
from ksched_cli.analysis.drained_cluster import Hold
from ksched_cli.analysis.repack import NewNodes
from ksched_cli.analysis.shrink import Delay, NodeToDrain, ShrinkResult, UpgradePlan, Wave
from ksched_cli.analysis.usage import HourlyCost, PoolUsage, UtilizationByLabel
from ksched_cli.report.forms import Form, render
from tests.report.schemas import shown

END = ".eu-central-1.compute.internal"
HOLDS = (
    Hold("shop/a-1", "no controller would create it again", owner="shop/Pod/a-1"),
    Hold("shop/web-1", "it fits nowhere", "0/3 nodes", owner="shop/ReplicaSet/web"),
    Hold("shop/web-2", "it fits nowhere", "0/3 nodes", owner="shop/ReplicaSet/web"),
)
GOING = (
    NodeToDrain(node=f"n1{END}", removable=True, order=1, moves_to={"shop/p": f"n3{END}"}),
    NodeToDrain(
        node=f"n2{END}",
        removable=True,
        order=2,
        moves_to={"shop/q": f"n3{END}", "shop/r": f"n3{END}"},
        waits=1,
    ),
)
STAYING = (NodeToDrain(node=f"n3{END}", removable=False, held_by=HOLDS),)
ANSWER = ShrinkResult(
    nodes=GOING + STAYING,
    removable=2,
    freed={"memory": str(2 << 30), "cpu": "4", "pods": "220"},
    total={"memory": str(3 << 30), "cpu": "6", "pods": "330"},
    overhead={},
)
NONE = ShrinkResult(nodes=STAYING, removable=0, freed={}, total={}, overhead={})


def test_the_nodes_are_in_order_with_what_is_freed_and_what_holds_the_others() -> None:
    assert shown(ANSWER) == [
        "2 of 3 nodes could go: n1 and n2, in this order; 3 pods move",
        "freed: cpu 4 of 6, memory 2Gi of 3Gi",
        f"node names end in {END}",
        "",
        "Nodes that could go",
        "ORDER NODE PODS MOVE TO WAITS FOR BUDGETS",
        "1 n1 1 n3",
        "2 n2 2 n3 (2) 1",
        "",
        "What holds the nodes that stay",
        "NODES HELD BY BECAUSE",
        "n3 shop/a-1 no controller would create it again",
        "n3 shop/ReplicaSet/web (2 pods) web-1: it fits nowhere",
    ]


def test_the_wide_form_has_every_move_and_every_hold() -> None:
    lines = shown(ANSWER, form=Form.WIDE)
    at = lines.index("Moves")
    assert lines[at + 1 :] == [
        "ORDER DRAIN POD MOVES TO",
        "1 n1 shop/p n3",
        "2 n2 shop/q n3",
        "2 n2 shop/r n3",
        "",
        "What holds the nodes that stay",
        "NODE HELD BY BECAUSE",
        "n3 shop/a-1 no controller would create it again",
        "n3 shop/web-1 it fits nowhere",
        "n3 shop/web-2 it fits nowhere",
    ]
    assert shown(ANSWER, form=Form.NAME) == [f"n1{END}", f"n2{END}"]


def test_where_no_node_could_go_the_verdict_says_so() -> None:
    assert shown(NONE)[0] == "None of 1 node could go"


def test_waves_name_new_nodes_in_full_and_say_why_a_node_comes_late() -> None:
    plan = UpgradePlan(
        surge=1,
        nodes=3,
        replaced=2,
        waves=(
            Wave((f"n1{END}-new",), GOING[:1]),
            Wave((f"n2{END}-new",), GOING[1:], (Delay(f"n2{END}", HOLDS[1:2]),)),
        ),
        blocked=STAYING,
    )
    lines = shown(plan)
    assert lines[0] == (
        "2 of 3 nodes can be drained and replaced, in 2 waves of up to 1; 3 pods move"
    )
    assert "1 n1.eu-central-1.compute.internal-new n1 1 n3" in lines
    at = lines.index("Not in an earlier wave")
    assert lines[at + 1 : at + 3] == [
        "WAVE NODE HELD BY BECAUSE",
        "2 n2 shop/web-1 it fits nowhere",
    ]


def test_a_cause_of_more_nodes_comes_first_and_one_pod_needs_no_example() -> None:
    alone = Hold("shop/db-1", "it fits nowhere", "0/3 nodes", owner="shop/ReplicaSet/db")
    both = Hold("shop/web-1", "a budget keeps it", owner="shop/ReplicaSet/web")
    staying = (
        NodeToDrain(node="n1", removable=False, held_by=(alone, both)),
        NodeToDrain(node="n2", removable=False, held_by=(both,)),
    )
    lines = shown(structs.replace(NONE, nodes=staying))
    assert lines[-2:] == [
        "n1, n2 shop/ReplicaSet/web (2 pods) a budget keeps it",
        "n1 shop/ReplicaSet/db it fits nowhere",
    ]


def test_what_is_saved_is_without_what_added_nodes_cost() -> None:
    cost = ClusterCost(per_hour=3, idle=1)
    answer = structs.replace(ANSWER, per_hour=2.0, cost=cost, added=("n4",), added_per_hour=0.5)
    assert "saves 1.5 of 3 an hour, with n4 added, which cost 0.5" in shown(answer)


@pytest.mark.parametrize(
    ("zones", "prices", "text"),
    [
        (
            {"a": 1},
            (UNSET, UNSET),
            "(2 like n1) in place of 3 nodes; fewer than 2 do not hold them",
        ),
        (
            {"a": 1, "b": 1},
            (1.5, 3.0),
            "(2 like n1: 1 in a and 1 in b) in place of 3 nodes, at 1.5 an hour instead of 3; "
            "fewer than 2 do not hold them with one in each of 2 zones",
        ),
    ],
)
def test_new_nodes_are_shown_with_their_zones_and_prices(
    zones: dict[str, int], prices: tuple[float | UnsetType, float | UnsetType], text: str
) -> None:
    per_hour, replaced = prices
    new = NewNodes({"n1": 2}, zones, 3, 2, "", per_hour, replaced, (), "")
    line = f"placed afresh, all pods fit on 2 new nodes {text}"
    assert line in " ".join(shown(structs.replace(ANSWER, new_nodes=new)))


def test_a_pool_that_is_gone_costs_nothing_afterwards() -> None:
    def pool(value: str, nodes: int) -> PoolUsage:
        return PoolUsage(value, "", nodes, {}, {}, {}, HourlyCost(nodes * 2.0, nodes * 0.5))

    before = UtilizationByLabel("zone", (pool("a", 2), pool("b", 1)))
    after = UtilizationByLabel("zone", (pool("a", 1), pool("c", 3)))
    lines = shown(structs.replace(ANSWER, pools=before, pools_after=after))
    at = lines.index("What they cost, by zone")
    assert lines[at + 1 : at + 5] == [
        "NODES OF NODES COST AN HOUR IDLE NODES AFTER COST AFTER IDLE AFTER",
        "a 2 4 1 1 2 0.5",
        "b 1 2 0.5 0 0 0",
        "c 0 3 6 1.5",
    ]


def test_rows_have_moves_and_holds_as_json() -> None:
    first, _, last = csv.DictReader(io.StringIO(render(ANSWER, Form.CSV)))
    assert json.loads(first["movesTo"]) == {"shop/p": f"n3{END}"}
    assert json.loads(last["heldBy"])[0]["pod"] == "shop/a-1"
