"""Names that users bring, and what is likely meant."""

import pytest

from ksched_cli.config.checks.known_names import name_tables
from ksched_cli.kube.extension_points import POINT_KEYS
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
    tables = name_tables()
    assert not set(REGISTRY) & {*tables.removed_plugins, *tables.foreign_plugins}
    assert set(tables.distributions) <= set(tables.foreign_plugins)


def test_plugins_of_other_builds_have_a_project_and_points_that_there_are() -> None:
    tables = name_tables()
    assert all(tables.project_of(name) for name in tables.foreign_plugins)
    assert frozenset().union(*tables.foreign_plugins.values()) <= set(POINT_KEYS)


def test_projects_are_told_apart() -> None:
    tables = name_tables()
    assert tables.project_of("Reservation") == "koordinator"
    assert tables.project_of("TargetLoadPacking") == "kubernetes-sigs/scheduler-plugins"
    assert tables.project_of("NodeName") == ""
