"""Placements are divided by one plugin, and ranked by the weighted sum of several."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from ksched_cli.config.effective import PluginRef, Profile
from ksched_cli.framework.caller import PluginCaller
from ksched_cli.framework.interface import PlacementGeneratePlugin, PlacementScorePlugin
from ksched_cli.framework.pod_groups import Placement
from ksched_cli.framework.runtime import NO_PLACEMENTS, PodGroupPlugins
from ksched_cli.framework.status import SUCCESS, PluginError, Status
from ksched_cli.kube.versions import release_of

KEY = ("default", "red")
PLACEMENTS = [Placement(name, np.arange(1)) for name in "abc"]


class Scorer(PlacementScorePlugin):
    """Scores by the placement's name."""

    name = "Scorer"

    def __init__(self, **scores: int) -> None:
        self.scores = scores

    def score_placement(self, key: Any, placement: Placement, pods: Any) -> int:
        if placement.name not in self.scores:
            raise PluginError("no idea")
        return self.scores[placement.name]


class Nowhere(PlacementGeneratePlugin):
    name = "Nowhere"

    def __init__(self) -> None:
        pass

    def generate_placements(
        self, key: Any, parent: Placement
    ) -> tuple[Sequence[Placement], Status]:
        return (), SUCCESS


def plugins_of(weights: dict[str, int], **scorers: Any) -> PodGroupPlugins:
    refs = {"placementScore": tuple(PluginRef(name, 1, "") for name in scorers)}
    profile = Profile("default-scheduler", 0, refs, {}, {}, weights)
    return PodGroupPlugins(profile, scorers.get, PluginCaller(), release_of())


def best(plugins: PodGroupPlugins) -> str:
    return PLACEMENTS[plugins.best(KEY, [(placement, []) for placement in PLACEMENTS])].name


def test_the_highest_weighted_sum_wins_and_the_first_of_several() -> None:
    scorers = {"One": Scorer(a=1, b=3, c=9), "Two": Scorer(a=5, b=4, c=0)}
    assert best(plugins_of({"One": 1, "Two": 1}, **scorers)) == "c"
    assert best(plugins_of({"One": 1, "Two": 9}, **scorers)) == "a"
    assert best(plugins_of({})) == "a"


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ({"a": 1, "b": 2}, '"Scorer" failed with: no idea'),
        ({"a": 1, "b": 101, "c": 0}, "score 101"),
    ],
)
def test_a_scorer_that_fails_is_named(scores: dict[str, int], message: str) -> None:
    with pytest.raises(PluginError, match=message):
        best(plugins_of({"One": 1}, One=Scorer(**scores)))


def test_without_a_generator_all_nodes_are_one_placement() -> None:
    parent = PLACEMENTS[0]
    assert plugins_of({}).generate(KEY, parent) == ((parent,), SUCCESS)
    refs = {"placementGenerate": (PluginRef("Nowhere", 1, ""),)}
    profile = Profile("a", 0, refs, {}, {})
    nowhere = PodGroupPlugins(profile, {"Nowhere": Nowhere()}.get, PluginCaller(), release_of())
    assert nowhere.generate(KEY, parent) == ((), NO_PLACEMENTS)
