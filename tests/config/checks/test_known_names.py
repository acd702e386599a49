"""Names that users bring, and what is likely meant."""

import pytest

from ksched_cli.config.checks.foreign_plugins import FOREIGN_PLUGINS
from ksched_cli.config.checks.known_names import DISTRIBUTIONS, REMOVED_PLUGINS
from ksched_cli.kube.near_names import did_you_mean, nearest
from tests.config.registries import REGISTRY


@pytest.mark.parametrize(
    ("name", "candidate"),
    [("nodeaffinity", "NodeAffinity"), ("NodeResourceFit", "NodeResourcesFit"), ("Zebra", "")],
)
def test_the_nearest_name_ignores_case_and_small_mistakes(name: str, candidate: str) -> None:
    assert nearest(name, REGISTRY) == candidate
    assert (did_you_mean(name, REGISTRY) != "") is bool(candidate)


def test_no_plugin_is_both_there_and_gone() -> None:
    assert not set(REGISTRY) & (set(REMOVED_PLUGINS) | set(FOREIGN_PLUGINS))
    assert set(DISTRIBUTIONS) <= set(FOREIGN_PLUGINS)
