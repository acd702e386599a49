"""Which evictions violate PodDisruptionBudgets."""

from typing import Any

import pytest

from ksched_cli.framework.preemption_trial import budgets_of
from ksched_cli.plugins.default_preemption.victims import Disruptions
from ksched_cli.testing import cluster, node, simulation
from tests.plugins.default_preemption.manifests import budget, preemption_pod

DB = {"app": "db"}


def violated(pods: list[dict[str, Any]], *budgets: dict[str, Any]) -> dict[str, Any]:
    """Pod name → the names of the budgets that its eviction violates."""
    state = cluster(node("a"), *pods, *budgets)
    infos = simulation(state).snapshot.pods[0]
    disruptions = Disruptions(budgets_of(state.pod_disruption_budgets.values()))
    names = {info.uid: info.name for info in infos}
    return {
        names[uid]: [key.removeprefix("default/") for key in keys]
        for uid, keys in disruptions.pdb_violated_by(infos).items()
    }


def pods(*names: str, labels: dict[str, str] | None = DB) -> list[dict[str, Any]]:
    return [preemption_pod(name, node="a", labels=labels) for name in names]


def test_evictions_beyond_the_allowed_disruptions_violate_a_budget_in_the_order_of_pods() -> None:
    assert violated(pods("x", "y", "z"), budget(0, 1, DB)) == {"y": ["budget-0"], "z": ["budget-0"]}


def test_a_pod_violates_every_budget_that_it_overdraws() -> None:
    budgets = (budget(0, 0, DB), budget(1, 1, DB), budget(2, 0, {"app": "db"}))
    assert violated(pods("x"), *budgets) == {"x": ["budget-0", "budget-2"]}


def test_a_pod_whose_disruption_is_recorded_does_not_count() -> None:
    assert violated(pods("x", "y"), budget(0, 1, DB, disrupted=["x"])) == {}


def test_a_budget_of_another_namespace_does_not_count() -> None:
    assert violated(pods("x"), budget(0, 0, DB, namespace="blue")) == {}


def test_pods_without_labels_match_no_budget() -> None:
    selector = {"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}
    assert violated(pods("x", labels=None), budget(0, 0, selector=selector)) == {}
    assert violated(pods("y", labels={"k": "v"}), budget(0, 0, selector=selector)) == {
        "y": ["budget-0"]
    }


@pytest.mark.parametrize(
    "selector", [None, {}, {"matchExpressions": [{"key": "app", "operator": "Near"}]}]
)
def test_a_budget_without_a_selector_or_with_an_empty_or_broken_one_matches_no_pod(
    selector: dict[str, Any] | None,
) -> None:
    state = cluster(budget(0, 0, selector=selector))
    assert budgets_of(state.pod_disruption_budgets.values()) == ()
