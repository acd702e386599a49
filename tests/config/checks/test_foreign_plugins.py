"""The plugins of other builds that ksched has heard of."""

from ksched_cli.config.checks.foreign_plugins import FOREIGN_PLUGINS, FOREIGN_POINTS
from ksched_cli.kube.extension_points import POINT_KEYS


def test_each_has_a_project_and_points_that_there_are() -> None:
    assert FOREIGN_PLUGINS.keys() == FOREIGN_POINTS.keys()
    assert frozenset().union(*FOREIGN_POINTS.values()) <= set(POINT_KEYS)


def test_projects_are_told_apart() -> None:
    assert FOREIGN_PLUGINS["Reservation"] == "koordinator"
    assert FOREIGN_PLUGINS["TargetLoadPacking"] == "kubernetes-sigs/scheduler-plugins"
