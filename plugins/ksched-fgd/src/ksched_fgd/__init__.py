"""Fragmentation gradient descent for ksched: the schedulers and the experiments of the paper."""

from __future__ import annotations

from collections.abc import Mapping

from ksched_cli.api import Plugin, hookimpl
from ksched_fgd.best_fit_score import BestFitScore
from ksched_fgd.dot_product_score import DotProductScore
from ksched_fgd.fgd_measures import FgdMeasures
from ksched_fgd.fgd_score import FgdScore
from ksched_fgd.gpu_clustering_score import GpuClusteringScore
from ksched_fgd.gpu_packing_score import GpuPackingScore
from ksched_fgd.open_gpu_share import OpenGpuShare
from ksched_fgd.random_score import RandomScore

__all__ = ["KSCHED_API", "PLUGINS", "ksched_plugins"]

KSCHED_API = 3

PLUGINS: tuple[type[Plugin], ...] = (
    OpenGpuShare,
    FgdScore,
    BestFitScore,
    DotProductScore,
    GpuPackingScore,
    GpuClusteringScore,
    RandomScore,
    FgdMeasures,
)


@hookimpl
def ksched_plugins() -> Mapping[str, type[Plugin]]:
    return {plugin.name: plugin for plugin in PLUGINS}
