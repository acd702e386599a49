"""A profile's plugins: one object each, whatever its extension points."""

from __future__ import annotations

from ksched_cli.framework.interface import FilterPlugin, PreFilterPlugin
from ksched_cli.testing import cluster, node, pod, simulation
from tests.framework.toys import filtering, profile, scoring


def test_a_plugin_of_several_points_is_made_once() -> None:
    framework = simulation(cluster(node("a"), pod("p"))).frameworks["default-scheduler"]
    fit = framework.plugin("NodeResourcesFit")
    assert fit is not None
    assert sum(plugin is fit for plugin in framework.plugins) == 1
    assert "NodeResourcesFit" in [plugin.name for plugin in framework.pre_filtering.plugins]
    assert "NodeResourcesFit" in [plugin.name for plugin in framework.filtering.plugins]


def test_plugins_of_a_point_are_in_the_order_of_the_profile() -> None:
    toys = [filtering("Z", {}), filtering("A", {}), scoring("M", {})]
    run = simulation(cluster(node("a"), pod("p")), profile(*toys), toys)
    framework = run.frameworks["default-scheduler"]
    assert [plugin.name for plugin in framework.filtering.plugins] == ["Z", "A"]
    assert isinstance(framework.plugin("A"), FilterPlugin)
    assert not isinstance(framework.plugin("A"), PreFilterPlugin)


def test_a_plugin_that_the_profile_does_not_have_is_none() -> None:
    toys = [filtering("Z", {})]
    run = simulation(cluster(node("a"), pod("p")), profile(*toys), toys)
    assert run.frameworks["default-scheduler"].plugin("NodeName") is None
