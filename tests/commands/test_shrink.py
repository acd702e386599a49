"""`ksched shrink` from the command line."""

import json
from pathlib import Path

import pytest

from ksched_cli.testing import node, pod
from tests.commands.runners import Answer, Ksched, WriteState, answering
from tests.report.schemas import squeezed
from tests.scenario.build import owned


@pytest.fixture
def shrink(ksched: Ksched, write_state: WriteState) -> Answer:
    return answering("shrink", "shrink_result", ksched, write_state)


def test_a_node_that_could_go_is_exit_code_0(shrink: Answer) -> None:
    code, result = shrink(objects=[node("a"), node("b"), owned("p", cpu=1, node="a")])
    assert (code, result["removable"]) == (0, 1)
    going, staying = result["nodes"]
    assert (going["node"], going["removable"], going["order"]) == ("b", True, 1)
    assert staying["heldBy"][0]["pod"] == "default/p"


def test_no_node_that_could_go_is_exit_code_1(shrink: Answer) -> None:
    code, result = shrink(objects=[node("a"), owned("p", node="a")])
    assert (code, result["removable"], result["freed"]) == (1, 0, {})


def test_a_plugin_that_fails_is_exit_code_3(shrink: Answer, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text(
        "from ksched_cli.api import FilterPlugin\n\n\n"
        "class Broken(FilterPlugin):\n"
        "    name = 'Broken'\n\n"
        "    def filter(self, state, pod, node):\n"
        "        raise ValueError('broken')\n"
    )
    plugin = f"{tmp_path / 'broken.py'}:Broken"
    code, _ = shrink("--plugin", plugin, objects=[node("a"), node("b"), owned("p", node="a")])
    assert code == 3


def test_selectors_choose_what_to_keep_and_what_to_look_at(shrink: Answer) -> None:
    objects = [node(name, labels={"pool": name}) for name in "abc"]
    _, result = shrink("--keep", "pool=a", "-l", "pool in (a,b)", objects=objects)
    assert [each["node"] for each in result["nodes"] if each["removable"]] == ["b"]
    (staying,) = result["nodes"][1:]
    (hold,) = staying["heldBy"]
    assert (staying["node"], hold["pod"]) == ("a", None)
    assert hold["because"] == "--keep selects it"


@pytest.mark.parametrize(
    ("options", "problem"), [(("--keep", "a=("), "a=("), (("-l", "pool=x"), "no node has")]
)
def test_selectors_that_choose_nothing_are_refused(
    options: tuple[str, str], problem: str, ksched: Ksched, write_state: WriteState
) -> None:
    code, out, err = ksched("shrink", *options, "--state", write_state(node("a")))
    assert (code, out) == (2, "")
    assert problem in err


def test_pods_without_a_controller_move_with_force_and_are_named(
    ksched: Ksched, write_state: WriteState
) -> None:
    state = write_state(node("a", cpu=1), node("b"), pod("p", cpu=1, node="a"))
    assert ksched("shrink", "--state", state, "-o", "name")[:2] == (0, "b\n")
    code, out, _ = ksched("shrink", "--state", state, "--force")
    assert code == 0
    assert "no controller creates these pods again, somebody has to: default/p" in out


def test_a_drain_that_waits_for_budgets_is_said_to(ksched: Ksched, write_state: WriteState) -> None:
    labels = {"app": "web"}
    running = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    pods = [owned(f"p{i}", node="a", labels=labels, status=running) for i in range(2)]
    budget = {
        "kind": "PodDisruptionBudget",
        "apiVersion": "policy/v1",
        "metadata": {"name": "b", "namespace": "default"},
        "spec": {"selector": {"matchLabels": labels}, "minAvailable": 1},
        "status": {
            "expectedPods": 2,
            "currentHealthy": 2,
            "desiredHealthy": 1,
            "disruptionsAllowed": 1,
        },
    }
    state = write_state(node("a", cpu=1), node("b"), *pods, budget)
    _, out, _ = ksched("shrink", "--state", state, "--keep", "kubernetes.io/hostname=b")
    assert "ORDER NODE PODS MOVE TO WAITS FOR BUDGETS" in squeezed(out)
    assert "1 a 2 b (2) 1" in squeezed(out)


def test_an_upgrade_is_exit_code_0_when_every_node_can_be_replaced(
    ksched: Ksched, write_state: WriteState
) -> None:
    shrink = answering("shrink", "upgrade_plan", ksched, write_state)
    nodes = [node(name, labels={"pool": "x"}) for name in "ab"]
    options = ("--upgrade", "-l", "pool=x", "--surge", "2")
    code, result = shrink(*options, objects=[*nodes, owned("p", node="a")])
    assert (code, result["replaced"], len(result["waves"])) == (0, 2, 1)
    code, result = shrink(*options, objects=[*nodes, pod("p", node="a")])
    assert (code, result["replaced"], result["blocked"][0]["node"]) == (1, 1, "a")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--upgrade",), "--upgrade requires -l SELECTOR"),
        (("--upgrade", "-l", "pool=x", "--max", "1"), "cannot be combined with --max"),
        (("--upgrade", "-l", "pool=x", "--keep-free", "20%"), "combined with --keep-free"),
        (("--keep-free", "120%"), 'a share below 100%, such as 20%; not "120%"'),
        (("--replace-with", "a"), "--replace-with requires --price"),
        (("--replace-with", "b", "--price", "*=1"), 'no node "b" in the state'),
        (("--replace-with", "a", "--price", "b=1"), "a has none; add --price a=N"),
        (("--keep-free", "some"), 'a share below 100%, such as 20%; not "some"'),
        (("--upgrade", "-l", "pool=x", "--repack"), "cannot be combined with --repack"),
        (("--surge", "2"), "--surge requires --upgrade"),
        (("--like", "a"), "--like requires --repack"),
        (("--repack", "--like", "pool=x"), "no node has the label pool=x of --like"),
        (("--repack", "--like", "a", "--price", "b=1"), "add --price a=N"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    options: tuple[str, ...], problem: str, ksched: Ksched, write_state: WriteState
) -> None:
    code, _, err = ksched("shrink", *options, "--state", write_state(node("a")))
    assert code == 2
    assert problem in err


def test_prices_and_repacking_are_said_above_the_nodes(
    ksched: Ksched, write_state: WriteState
) -> None:
    state = write_state(node("a"), node("b"), owned("p", cpu=1, node="a"))
    _, out, _ = ksched("shrink", "--state", state, "--price", "*=2", "--repack")
    assert "saves 2 of 4 an hour" in out
    assert "placed afresh, all pods fit on 1 node of the cluster; no placement needs fewer" in out


def test_new_nodes_are_said_with_their_price(ksched: Ksched, write_state: WriteState) -> None:
    pods = [owned(f"p{at}", cpu=3, node="a") for at in range(2)]
    state = write_state(node("a", cpu=8), node("b", cpu=3), *pods)
    prices = ("--price", "a=3", "--price", "b=1")
    _, out, _ = ksched("shrink", "--state", state, "--repack", "--like", "b", *prices)
    assert (
        "placed afresh, all pods fit on 2 new nodes (2 like b) in place of 2 nodes, at 2 an hour "
        "instead of 4; fewer than 2 do not hold them" in out.replace("\n", " ")
    )


def test_what_each_pod_requests_proves_how_many_nodes_are_needed_at_least(
    ksched: Ksched, write_state: WriteState
) -> None:
    pytest.importorskip("ortools", reason="the extra optimum is not installed")
    pods = [owned(f"p{at}", cpu=3, node=f"n{at}") for at in range(6)]
    state = write_state(*(node(f"n{at}", cpu=8) for at in range(6)), *pods)
    _, out, _ = ksched("shrink", "--state", state, "--repack")
    assert "all pods fit on 3 nodes of the cluster; no placement needs fewer than 3" in out


def test_prices_say_what_each_pool_costs_before_and_after(
    ksched: Ksched, write_state: WriteState
) -> None:
    pools = {"large": ["a", "b"], "small": ["c", "d"]}
    nodes = [
        node(name, cpu=4, labels={"agentpool": pool})
        for pool, names in pools.items()
        for name in names
    ]
    state = write_state(*nodes, owned("p", cpu=1, node="a"), owned("q", cpu=1, node="c"))
    prices = ("--price", "agentpool=large=2", "--price", "agentpool=small=1")
    _, out, _ = ksched("shrink", "--state", state, *prices)
    assert "saves 5 of 6 an hour" in out
    assert squeezed(out.partition("What they cost, by agentpool\n")[2])[:3] == [
        "NODES OF NODES COST AN HOUR IDLE NODES AFTER COST AFTER IDLE AFTER",
        "large 2 4 3.5 0 0 0",
        "small 2 2 1.75 1 1 0.5",
    ]
    document = json.loads(ksched("shrink", "--state", state, *prices, "-o", "json")[1])
    (after,) = document["poolsAfter"]["pools"]
    assert (after["value"], after["cost"]["perHour"]) == ("small", 1.0)
    assert "pools" not in json.loads(ksched("shrink", "--state", state, "-o", "json")[1])


def test_new_nodes_are_in_the_costs_of_their_pool(ksched: Ksched, write_state: WriteState) -> None:
    """Their price is that of the node that they are copies of, also where it is given by name."""
    large = [node(name, cpu=16, labels={"agentpool": "large"}) for name in "abc"]
    small = node("small", cpu=4, labels={"agentpool": "small", "stays": "yes"})
    pods = [owned(f"p-{name}", cpu=2, node=name) for name in "abc"]
    state = write_state(*large, small, *pods, owned("q", cpu=4, node="small"))
    prices = ("--price", "small=1", "--price", "agentpool=large=10")
    line = ("shrink", "--state", state, *prices, "--replace-with", "small", "--keep", "stays")
    document = json.loads(ksched(*line, "-o", "json")[1])
    (after,) = document["poolsAfter"]["pools"]
    assert after["cost"]["perHour"] == 1.0 + len(document["added"])
    assert after["cost"]["unpriced"] == 0
    assert document["addedPerHour"] == len(document["added"]) > 0
