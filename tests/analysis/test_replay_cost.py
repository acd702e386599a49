"""What the nodes of a replay cost, worked out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ksched_cli.analysis.replay_figures import (
    ReplayCost,
    costs_at,
    replay_figures,
    unpriced_warning,
)
from ksched_cli.engine.replay.replay import Replay
from tests.replays import node, pod, replay

HOUR = 3_600
# One node more at a time, like n, two minutes after it was asked for.
GROUP: dict[str, Any] = {"name": "g", "like": "n", "maxSize": 1, "provisioningDelay": 120}
SCALE_DOWN = {"unneededTime": 600, "delayAfterAdd": 0}


def cost_of(run: Replay) -> ReplayCost:
    cost = ReplayCost.of(run)
    assert cost is not None
    return cost


def test_a_node_is_billed_while_it_is_there(tmp_path: Path) -> None:
    """n, at 0.5, is there for two hours: 1.00. m, at 2, joins after half an hour and leaves after
    an hour and a quarter: 0.75 h, 1.50."""
    events = [
        {"at": 1_800, "put": node("m", labels={"pool": "big"})},
        {"at": 4_500, "delete": {"kind": "Node", "name": "m"}},
    ]
    prices = ["pool=big=2", "n=0.5"]
    cost = cost_of(replay(tmp_path, [node("n")], events, until=2 * HOUR, prices=prices))
    assert [(each.name, each.nodes, each.hours, each.cost) for each in cost.prices] == [
        ("n", 1, 2, 1),
        ("pool=big", 1, 0.75, 1.5),
    ]
    assert (cost.total, cost.unpriced) == (2.5, 0)


def test_a_node_is_billed_from_when_the_autoscaler_asked_for_it(tmp_path: Path) -> None:
    """n is full. At 100 s p comes; the scan at 110 s asks for g-1, which joins at 230 s. p runs for
    1,000 s. The scan at 1,230, when it ends, finds g-1 unneeded, and that at 1,830 removes it:
    1,830 - 110 = 1,720 s at 3.6 an hour, 1.72. The end is at 3,600 s."""
    events = [{"at": 100, "pod": pod("p"), "runsFor": 1_000}]
    full = pod("full", nodeName="n")
    autoscaler = {"nodeGroups": [{**GROUP, "price": 3.6}], "scaleDown": SCALE_DOWN}
    run = replay(tmp_path, [node("n"), full], events, autoscaler=autoscaler, until=HOUR)
    cost = cost_of(run)
    assert [(each.name, each.hours, each.cost) for each in cost.prices] == [
        ("g", round(1_720 / HOUR, 6), 1.72)
    ]
    # n is of no group, and has no price.
    assert (cost.total, cost.unpriced) == (1.72, 1)
    assert unpriced_warning(run).startswith("1 node has no price")
    assert replay_figures(run).cost == 1.72
    assert run.biller is not None
    moments = [0, 109, 110, 470, 1_830, 3_600]
    # At 470 s, 360 s are billed.
    assert costs_at(run.biller.bills, [at * 1_000_000 for at in moments]) == [
        *(0, 0, 0),
        *(0.36, 1.72, 1.72),
    ]


def test_a_node_that_is_still_to_come_is_billed(tmp_path: Path) -> None:
    """Asked for at 110 s; the replay ends at 150 s: 40 s at 3,600 an hour."""
    events = [{"at": 100, "pod": pod("p")}]
    autoscaler = {"nodeGroups": [{**GROUP, "price": 3_600}]}
    full = pod("full", nodeName="n")
    run = replay(tmp_path, [node("n"), full], events, autoscaler=autoscaler, until=150)
    assert cost_of(run).total == 40


def test_a_node_is_billed_for_the_minimum(tmp_path: Path) -> None:
    """As above: g-1 is billed for an hour, though it leaves after 1,720 s. The minimum of n, which
    was there before, is over: an hour and a half, at 2."""
    (tmp_path / "prices.yaml").write_text(
        "apiVersion: ksched/v1\nkind: Prices\nprices:\n"
        "- {node: '*', price: {perHour: 2, minimumBilling: 1h}}\n"
    )
    events = [{"at": 100, "pod": pod("p"), "runsFor": 1_000}]
    full = pod("full", nodeName="n")
    autoscaler = {"nodeGroups": [GROUP], "scaleDown": SCALE_DOWN}
    run = replay(
        tmp_path,
        [node("n"), full],
        events,
        autoscaler=autoscaler,
        prices=[str(tmp_path / "prices.yaml")],
        until=1.5 * HOUR,
    )
    assert cost_of(run).total == 2 * 1 + 2 * 1.5
    assert run.biller is not None
    # From the first moment of g-1 on its hour is owed: at 110 s, 2, and n's 110 s at 2 an hour.
    (cost,) = costs_at(run.biller.bills, [110_000_000])
    assert cost == pytest.approx(2 + 110 / 1_800, abs=1e-6)


def test_a_share_of_spot_is_the_mean_of_two_prices(tmp_path: Path) -> None:
    """Three quarters at 0.40, a quarter at 1: 0.55 an hour, for two hours."""
    price = {"perHour": 1, "spotShare": 0.75, "spotPerHour": 0.4}
    group = {**GROUP, "nodeSelector": {"pool": "spot"}, "minSize": 1, "price": price}
    nodes = [node("n", labels={"pool": "spot"})]
    run = replay(tmp_path, nodes, [], autoscaler={"nodeGroups": [group]}, until=2 * HOUR)
    assert cost_of(run).total == 1.1


@pytest.mark.parametrize(
    ("prices", "name"),
    [
        (["n=1", "*=2"], "n"),
        (["*=2", "n=1"], "*"),
        (["g=1"], "g"),  # the group's name, before its own price
        (["pool=a=1", "g=2"], "pool=a"),
        (["other=1"], "g"),
    ],
)
def test_the_first_price_that_applies_counts(tmp_path: Path, prices: list[str], name: str) -> None:
    group = {**GROUP, "nodeSelector": {"pool": "a"}, "price": 7}
    nodes = [node("n", labels={"pool": "a"})]
    autoscaler = {"nodeGroups": [group]}
    run = replay(tmp_path, nodes, [], autoscaler=autoscaler, prices=prices, until=HOUR)
    assert [each.name for each in cost_of(run).prices] == [name]


def test_a_copy_costs_what_its_model_does(tmp_path: Path) -> None:
    """n and g-1, at 1: an hour, and 3,600 - 110 s."""
    events = [{"at": 100, "pod": pod("p")}]
    full = pod("full", nodeName="n")
    autoscaler = {"nodeGroups": [GROUP]}
    run = replay(
        tmp_path, [node("n"), full], events, autoscaler=autoscaler, prices=["n=1"], until=HOUR
    )
    assert cost_of(run).total == pytest.approx(1 + 3_490 / 3_600, abs=1e-6)


def test_without_prices_there_is_no_cost(tmp_path: Path) -> None:
    run = replay(tmp_path, [node("n")], [], until=HOUR)
    assert (ReplayCost.of(run), replay_figures(run).cost) == (None, None)
    assert unpriced_warning(run) == ""
