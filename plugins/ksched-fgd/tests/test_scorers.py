"""The scores of the paper's policies; the expected ones are worked out by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest
from gpu_objects import gpu_node, gpu_pod, typical
from ksched_fgd import PLUGINS, ksched_plugins
from ksched_fgd.best_fit_score import BestFitScore
from ksched_fgd.dot_product_score import DotProductScore
from ksched_fgd.fgd_score import FgdScore
from ksched_fgd.gpu_clustering_score import GpuClusteringScore
from ksched_fgd.gpu_packing_score import GpuPackingScore
from ksched_fgd.gpu_requests import GpuRequest
from ksched_fgd.random_score import RandomScore
from ksched_fgd.typical_pods import Demand, TypicalPod

from ksched_cli.errors import InputError
from ksched_cli.testing import Manifest, PluginClass, cluster, explanation, scores, simulate

WHOLE = TypicalPod(Demand(1000, GpuRequest(1, 1000)), 1.0)


def scored(plugin: PluginClass, *objects: Manifest, **args: Any) -> dict[str, int]:
    return scores(plugin, cluster(*objects), pod="p", args=args or None)


def fgd(gain: float) -> int:
    return int(100 / (1 + math.exp(-gain / 1000)))


def test_fgd_scores_by_the_fragments_that_the_pod_makes() -> None:
    """All typical pods want a whole GPU: 500 of a free one make 500 of fragments; on one with 600
    left they use up 500 of its 600."""
    objects = [
        gpu_node("free"),
        gpu_node("used", 1),
        gpu_pod("a", 400, on="used/0"),
        typical(WHOLE),
    ]
    answers = scored(FgdScore, *objects, gpu_pod("p", 500))
    assert answers == {"free": fgd(-500), "used": fgd(500)}


def test_fgd_takes_the_best_gpu_of_a_node() -> None:
    objects = [gpu_node("n", 2), gpu_pod("a", 400, on="n/1"), typical(WHOLE)]
    assert scored(FgdScore, *objects, gpu_pod("p", 500)) == {"n": fgd(500)}


def test_fgd_scores_a_gain_of_nothing_as_50() -> None:
    objects = [gpu_node("n", 2), typical(WHOLE)]
    assert scored(FgdScore, *objects, gpu_pod("p", 1000)) == {"n": 50}


def test_best_fit_prefers_the_fullest_node_and_scales_to_100() -> None:
    objects = [
        gpu_node("small", 1, cpu=32),
        gpu_node("mid", 2, cpu=64),
        gpu_node("big", 8, cpu=128),
    ]
    raw = {"small": 100 * (1 - 31 / 256), "mid": 100 * (1 - 63 / 256 - 1 / 16), "big": 6}
    answers = scored(BestFitScore, *objects, gpu_pod("p", 1000))
    assert (answers["small"], answers["big"]) == (100, 0)
    assert answers["mid"] == (int(raw["mid"]) - 6) * 100 // (int(raw["small"]) - 6)


def test_best_fit_scores_nodes_that_are_alike_0() -> None:
    assert scored(BestFitScore, gpu_node("a"), gpu_node("b"), gpu_pod("p")) == {"a": 0, "b": 0}


def test_dot_product_prefers_little_left_of_what_the_pod_wants() -> None:
    objects = [gpu_node("a", 8, cpu=128), gpu_node("b", 2, cpu=64)]
    answers = scored(DotProductScore, *objects, gpu_pod("p", 1000, 2, cpu=64))
    assert answers == {
        "a": int(100 * (1 - (0.5 + 0.25) / 2)),
        "b": int(100 * (1 - (0.25 + 0.0625) / 2)),
    }


def test_dot_product_refuses_other_ways_than_the_papers() -> None:
    with pytest.raises(InputError, match="dimExtMethod"):
        scored(DotProductScore, gpu_node("a"), gpu_pod("p"), dimExtMethod="extend")


def test_packing_fills_gpus_in_use_then_nodes_in_use() -> None:
    objects = [
        gpu_node("free", 2),
        gpu_node("shared", 2),
        gpu_pod("a", 400, on="shared/0"),
        gpu_node("used", 2),
        gpu_pod("b", 900, on="used/0"),
    ]
    answers = scored(GpuPackingScore, *objects, gpu_pod("p", 500))
    assert answers == {"free": 33 - 2, "shared": 100 - 60 // 10, "used": 50 - 1}
    answers = scored(GpuPackingScore, *objects, gpu_pod("p", 1000))
    assert answers == {"free": 33 - 2, "shared": 49, "used": 49}


def test_packing_scores_a_pod_without_gpus_0() -> None:
    assert scored(GpuPackingScore, gpu_node("a"), gpu_pod("p", count=0)) == {"a": 0}


def test_clustering_puts_pods_of_a_kind_together() -> None:
    objects = [
        gpu_node("alone", 8),
        gpu_pod("a", 400, on="alone/0"),
        gpu_node("among", 8),
        gpu_pod("b", 400, on="among/0"),
        gpu_pod("c", 1000, on="among/1"),
        gpu_node("empty", 8),
        gpu_node("others", 8),
        gpu_pod("d", 1000, 2, on="others/0-1"),
    ]
    answers = scored(GpuClusteringScore, *objects, gpu_pod("p", 100))
    assert answers == {
        "alone": 75 + 25 * 400 // 8000,
        "among": 50 + 25 * 1400 // 8000,
        "empty": 25,
        "others": 25 * 2000 // 8000,
    }
    assert scored(GpuClusteringScore, gpu_node("a"), gpu_pod("p", count=0)) == {"a": 0}


def test_random_prefers_one_node_the_same_for_the_same_seed() -> None:
    nodes = [gpu_node(f"n{i}") for i in range(6)]
    pods = [gpu_pod(f"p{i}", 100) for i in range(8)]

    def placed(seed: int) -> dict[str, str]:
        config = {
            "profiles": [
                {
                    "plugins": {
                        "multiPoint": {"enabled": [{"name": "RandomScore", "weight": 1000}]}
                    },
                    "pluginConfig": [{"name": "RandomScore", "args": {"seed": seed}}],
                }
            ]
        }
        return dict(simulate(cluster(*nodes, *pods), config, plugins=[RandomScore]).placements)

    assert placed(1) == placed(1) != placed(2)
    assert len(set(placed(1).values())) > 1


def test_explain_tells_what_a_score_is_made_of() -> None:
    objects = [gpu_node("n", 2), gpu_node("m", 2), gpu_pod("a", 400, on="n/1"), typical(WHOLE)]
    state = cluster(*objects, gpu_pod("p", 500))
    text = str(explanation(state, pod="p", plugins=[FgdScore]))
    assert "600.0 thousandths of its idle GPUs are fragments" in text
    assert f"0: {fgd(-500)}, 1: {fgd(500)}" in text
    text = str(explanation(state, pod="p", plugins=[BestFitScore]))
    assert "left of its cpu 95000m; of its GPUs 1000, 600" in text


def test_every_plugin_is_registered_by_its_name() -> None:
    assert dict(ksched_plugins()) == {plugin.name: plugin for plugin in PLUGINS}
    assert len(PLUGINS) == 8
