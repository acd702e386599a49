"""What old effects mean in v1."""

from dataclasses import replace

import pytest

from ksched_cli.config.migration.old_versions import (
    OLD_VERSIONS,
    EnabledPlugins,
    OldStrategy,
    expected_of,
    old_effect,
    strategy_of,
    with_strategy,
)
from tests.config.registries import REGISTRY

V1BETA1 = OLD_VERSIONS["v1beta1"]
V1BETA2 = OLD_VERSIONS["v1beta2"]

LEAST, MOST = "NodeResourcesLeastAllocated", "NodeResourcesMostAllocated"


def scoring(*names: str) -> EnabledPlugins:
    return EnabledPlugins({"score": names}, dict.fromkeys(names, 3))


@pytest.mark.parametrize(
    ("effect", "named", "strategy"),
    [
        (scoring(LEAST, "ImageLocality"), (), OldStrategy(LEAST)),
        (scoring(LEAST, MOST), (MOST,), OldStrategy(MOST, (LEAST,))),
        (scoring("NodeResourcesFit"), (), OldStrategy("NodeResourcesFit")),
        (scoring("ImageLocality"), (), OldStrategy("")),
    ],
)
def test_what_the_file_names_goes_before_the_defaults(
    effect: EnabledPlugins, named: tuple[str, ...], strategy: OldStrategy
) -> None:
    assert strategy_of(effect, named) == strategy


def test_node_resources_fit_scores_in_the_place_of_a_strategy() -> None:
    effect = with_strategy(scoring(LEAST, "ImageLocality"), OldStrategy(LEAST))
    assert effect.weights == {"NodeResourcesFit": 3, "ImageLocality": 3}
    assert not with_strategy(scoring(LEAST), OldStrategy("")).runs("NodeResourcesFit", "score")


def test_a_plugin_runs_at_points_that_it_has_since() -> None:
    effect = old_effect(V1BETA1, None, V1BETA1.plugins(REGISTRY))
    expected = expected_of(with_strategy(effect, OldStrategy(LEAST)), V1BETA1, REGISTRY)
    assert "VolumeZone" in expected.running["preFilter"]
    assert "NodeResourcesFit" in expected.running["preScore"]
    assert "VolumeBinding" not in expected.running["score"]
    assert "VolumeBinding" not in expected.absent["score"]


def test_what_ran_nowhere_is_to_run_nowhere() -> None:
    effect = old_effect(V1BETA2, None, V1BETA2.plugins(REGISTRY))
    without = {
        point: tuple(name for name in names if name != "VolumeBinding")
        for point, names in effect.plugins.items()
    }
    expected = expected_of(replace(effect, plugins=without), V1BETA2, REGISTRY)
    assert expected.is_off("VolumeBinding")
    assert "VolumeBinding" in expected.absent["preScore"]
    assert not expected.is_off("ImageLocality")


def test_plugins_that_came_later_are_as_v1_has_them() -> None:
    effect = old_effect(V1BETA2, None, V1BETA2.plugins(REGISTRY))
    expected = expected_of(effect, V1BETA2, REGISTRY)
    mentioned = {*expected.running["preEnqueue"], *expected.absent["preEnqueue"]}
    assert "SchedulingGates" not in mentioned
