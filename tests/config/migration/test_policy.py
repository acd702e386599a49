"""Predicates and priorities as plugins."""

from typing import Any

import pytest

from ksched_cli.config.migration.migrate import PolicyPlugins, read_policy, strategy_names
from ksched_cli.config.migration.settle import RemarkKind, Remarks


def read(policy: dict[str, Any]) -> tuple[PolicyPlugins, list[str]]:
    """And what is lost."""
    remarks = Remarks("kind: Policy\n")
    plugins = read_policy(policy, remarks)
    lost = [item.message for item in remarks.in_order() if item.kind is RemarkKind.LOST]
    return plugins, lost


def priorities(*entries: tuple[str, int]) -> dict[str, Any]:
    return {
        "predicates": [],
        "priorities": [{"name": name, "weight": weight} for name, weight in entries],
    }


def test_a_policy_that_says_nothing_has_the_defaults() -> None:
    plugins, lost = read({})
    effect = plugins.effect()
    assert lost == []
    assert effect.weights["PodTopologySpread"] == 2
    assert effect.weights["NodeResourcesLeastAllocated"] == 1
    assert effect.runs("InterPodAffinity", "preFilter")
    assert effect.runs("VolumeBinding", "reserve")
    assert not effect.runs("CinderLimits", "filter")


def test_empty_lists_leave_what_is_mandatory() -> None:
    plugins, _ = read({"predicates": [], "priorities": []})
    effect = plugins.effect()
    assert set(effect.plugins["filter"]) == {"TaintToleration", "NodeUnschedulable"}
    assert effect.plugins["score"] == ()
    assert effect.plugins["bind"] == ("DefaultBinder",)


def test_of_two_priorities_for_spreading_the_first_by_name_gives_the_weight() -> None:
    spread = ("SelectorSpreadPriority", 7), ("EvenPodsSpreadPriority", 2)
    plugins, _ = read(priorities(*spread))
    assert plugins.effect().weights == {"PodTopologySpread": 2}
    assert plugins.args(0, "") == []
    plugins, _ = read(priorities(spread[1]))
    assert plugins.args(0, "") == [
        {"name": "PodTopologySpread", "args": {"defaultingType": "List"}}
    ]


def test_the_heaviest_strategy_comes_first() -> None:
    plugins, _ = read(priorities(("LeastRequestedPriority", 1), ("MostRequestedPriority", 4)))
    assert strategy_names(plugins) == ["NodeResourcesMostAllocated", "NodeResourcesLeastAllocated"]


def test_a_ratio_is_named_by_its_argument() -> None:
    ratio = {"shape": [{"utilization": 0, "score": 10}], "resources": [{"name": "cpu"}]}
    argument = {"requestedToCapacityRatioArguments": ratio}
    plugins, lost = read(
        {"priorities": [{"name": "Mine", "weight": 2, "argument": argument}], "predicates": []}
    )
    assert lost == []
    assert plugins.effect().weights == {"RequestedToCapacityRatio": 2}
    (config,) = plugins.args(0, "RequestedToCapacityRatio")
    assert config["args"]["scoringStrategy"]["requestedToCapacityRatio"]["shape"] == ratio["shape"]


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ({"predicates": [{"name": "CheckServiceAffinity"}]}, "not held together"),
        ({"predicates": [{"name": "Nope"}]}, 'no predicate "Nope"'),
        ({"priorities": [{"name": "Nope", "weight": 1}]}, 'no priority "Nope"'),
        (
            {"priorities": [{"name": "S", "argument": {"serviceAntiAffinity": {"label": "a"}}}]},
            "not spread",
        ),
        (
            {"priorities": [{"name": "L", "argument": {"labelPreference": {"label": "a"}}}]},
            "preferred nodes by a label",
        ),
        ({"priorities": [{"name": "NodePreferAvoidPodsPriority", "weight": 1}]}, "preferAvoidPods"),
        ({"alwaysCheckAllPredicates": True}, "alwaysCheckAllPredicates is gone"),
        ({"predicates": ["text"]}, 'no predicate ""'),
    ],
)
def test_what_v1_cannot_say_is_lost(policy: dict[str, Any], message: str) -> None:
    _, lost = read(policy)
    assert [text for text in lost if message in text]
    assert len(lost) == 1
