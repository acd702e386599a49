"""Which group gets more nodes, and how many."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.cluster.objects import Node
from ksched_cli.engine.replay.autoscaler.scale_up import (
    ScaleUpOption,
    ScaleUpPlan,
    ScaleUpPlanner,
    best_option,
)
from ksched_cli.errors import UsageError
from ksched_cli.scenario.node_groups import Expander, NodeGroup
from ksched_cli.scenario.prices import NO_PRICES, read_prices
from tests.replays import Plain, autoscaler_of, cluster_of, node, pod, state_of


def option(name: str, count: int, pods: int, waste: float, priority: int = 0) -> ScaleUpOption:
    group = NodeGroup(name, Node(), priority=priority)
    return ScaleUpOption(group, count, ("p",) * pods, waste)


OPTIONS = [
    option("small", 5, 5, 0.5, priority=1),
    option("large", 1, 4, 0.9),
    option("exact", 4, 4, 0.1, priority=1),
]


@pytest.mark.parametrize(
    ("expanders", "name"),
    [
        ([Expander.LEAST_WASTE], "exact"),
        ([Expander.MOST_PODS], "small"),
        ([Expander.LEAST_NODES], "large"),
        ([Expander.PRIORITY], "small"),
        ([Expander.PRIORITY, Expander.LEAST_WASTE], "exact"),
    ],
)
def test_expanders_choose_one_after_the_other(expanders: Sequence[Expander], name: str) -> None:
    best = best_option(OPTIONS, expanders)
    assert best is not None
    assert best.group.name == name


def test_without_options_there_is_no_best() -> None:
    assert best_option([], [Expander.LEAST_WASTE]) is None


def plan(
    folder: Path,
    pods: Sequence[Plain],
    upcoming: int = 0,
    headroom: int = 9,
    group: Plain | None = None,
) -> ScaleUpPlan:
    """With a node of 2 cpus that is there, and others like it."""
    state = state_of(folder, node("n", "2"), *pods)
    group = group or {"like": "n"}
    settings = autoscaler_of(folder, state, {"nodeGroups": [{"name": "g", "maxSize": 9, **group}]})

    def next_names(group: NodeGroup, count: int) -> list[str]:
        return [f"{group.name}-{number + upcoming}" for number in range(1, count + 1)]

    planner = ScaleUpPlanner(cluster_of(state), settings, True, next_names)
    requested = [(settings.groups[0], f"g-{number}") for number in range(1, upcoming + 1)]
    return planner.plan(state.pods, requested, {"g": headroom})


def test_pods_that_fit_need_no_nodes_but_those_that_are_there(tmp_path: Path) -> None:
    result = plan(tmp_path, [pod("a"), pod("b")])
    placed = {"default/a": "n", "default/b": "n"}
    assert result == ScaleUpPlan((), frozenset({"n"}), placed)


def test_nodes_are_packed_and_the_waste_is_what_stays_free(tmp_path: Path) -> None:
    result = plan(tmp_path, [pod(f"p{index}", "1") for index in range(5)])
    (only,) = result.options
    assert (only.count, only.pods) == (2, ("default/p2", "default/p3", "default/p4"))
    # A quarter of the cpu, and all of the memory.
    assert only.waste == 1.25


def test_nodes_that_were_requested_count_as_there(tmp_path: Path) -> None:
    pods = [pod(f"p{index}", "1") for index in range(5)]
    (only,) = plan(tmp_path, pods, upcoming=1).options
    assert (only.count, only.pods) == (1, ("default/p4",))


def test_no_more_nodes_are_planned_than_there_may_be(tmp_path: Path) -> None:
    pods = [pod(f"p{index}", "2") for index in range(5)]
    (only,) = plan(tmp_path, pods, headroom=3).options
    assert only.count == 3
    assert plan(tmp_path, pods, headroom=0).options == ()


def test_taints_and_labels_of_the_group_count(tmp_path: Path) -> None:
    capacity = {"cpu": "2", "memory": "8Gi", "pods": "10"}
    taint = {"key": "k", "value": "v", "effect": "NoSchedule"}
    tainted = {"template": {"spec": {"taints": [taint]}, "status": {"capacity": capacity}}}
    pods = [pod(f"p{index}", "2") for index in range(2)]
    assert plan(tmp_path, pods, group=tainted).options == ()
    labelled = {
        "template": {"metadata": {"labels": {"pool": "x"}}, "status": {"capacity": capacity}}
    }
    chosen = [pod("a", "2", nodeSelector={"pool": "x"}), pod("b", "2", nodeSelector={"pool": "y"})]
    (only,) = plan(tmp_path, chosen, group=labelled).options
    assert only.pods == ("default/a",)


def ratios(folder: Path, prices: Sequence[str], *pods: Plain) -> list[tuple[str, Any]]:
    """The groups' price ratios: small has 2 cpus at 0.2, large 8 cpus at 0.6, both 8 GiB."""
    capacity = {"memory": "8Gi", "pods": "10"}
    groups = [
        {"name": name, "maxSize": 9, "price": price, "template": {"status": {"capacity": size}}}
        for name, price, size in (
            ("small", 0.2, {"cpu": "2", **capacity}),
            ("large", 0.6, {"cpu": "8", **capacity}),
        )
    ]
    state = state_of(folder, node("n", "1m"), *pods)
    settings = autoscaler_of(folder, state, {"nodeGroups": groups, "expanders": ["price"]})
    planner = ScaleUpPlanner(
        cluster_of(state),
        settings,
        True,
        lambda group, count: [f"{group.name}-{number}" for number in range(count)],
        read_prices(prices),
    )
    options = planner.plan(state.pods, [], {"small": 9, "large": 9}).options
    best = best_option(options, settings.expanders)
    assert best is not None
    ordered = sorted(options, key=lambda option: option is not best)
    return [(option.group.name, option.price_ratio) for option in ordered]


# At best, a core costs 0.6 / 8 = 0.075 an hour (large), and a GiB 0.2 / 8 = 0.025 (small). The pod
# that stabilizes, 0.5 cores and 500 MiB, is worth 0.0375 + 0.025 * 500 / 1,024.
STABLE = 0.0375 + 0.025 * 500 / 1024


def test_the_price_expander_takes_the_nodes_that_cost_least_for_what_is_requested(
    tmp_path: Path,
) -> None:
    """Two pods of 2 cores are worth 0.3: two small nodes cost 0.4, a large one 0.6. Eight are worth
    1.2: eight small ones cost 1.6, two large ones 1.2."""
    two = ratios(tmp_path, [], pod("a", "2"), pod("b", "2"))
    assert two == [
        ("small", pytest.approx((0.4 + STABLE) / (0.3 + STABLE))),
        ("large", pytest.approx((0.6 + STABLE) / (0.3 + STABLE))),
    ]
    eight = ratios(tmp_path, [], *(pod(f"p{n}", "2") for n in range(8)))
    assert eight == [
        ("large", pytest.approx((1.2 + STABLE) / (1.2 + STABLE))),
        ("small", pytest.approx((1.6 + STABLE) / (1.2 + STABLE))),
    ]


def test_a_price_of_the_command_line_comes_before_a_groups(tmp_path: Path) -> None:
    assert ratios(tmp_path, ["large=0.1"], pod("a", "2"), pod("b", "2"))[0][0] == "large"


def test_the_price_expander_needs_a_price_of_every_group(tmp_path: Path) -> None:
    state = state_of(tmp_path, node("n", "1"))
    group = {"name": "g", "like": "n", "maxSize": 1}
    settings = autoscaler_of(tmp_path, state, {"nodeGroups": [group], "expanders": ["price"]})
    with pytest.raises(UsageError, match=r'a price for the node group "g": .*--price g=N'):
        settings.check_prices(NO_PRICES)
    settings.check_prices(read_prices(["g=1"]))
