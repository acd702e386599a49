"""An answer of `shrink`, and of `shrink --upgrade`, as a table."""

from ksched_cli.analysis.drained_cluster import Hold
from ksched_cli.analysis.shrink import Delay, NodeToDrain, ShrinkResult, UpgradePlan, Wave
from ksched_cli.report.forms import Form
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
