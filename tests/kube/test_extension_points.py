"""The extension points are those of a configuration, with Go's names of their interfaces."""

from __future__ import annotations

from ksched_cli.config.go_types import to_wire
from ksched_cli.config.types import Plugins, PluginSet, PluginSetEntry
from ksched_cli.framework import interface
from ksched_cli.kube.extension_points import POD_GROUP_POINTS, POINT_KEYS, interface_of


def test_a_configuration_has_a_plugin_set_for_each_point() -> None:
    plugin_set = PluginSet(enabled=(PluginSetEntry("a"),))
    plugins = Plugins(**{field.attribute: plugin_set for field in Plugins.FIELDS.values()})
    assert set(to_wire(plugins)) == {*POINT_KEYS, "multiPoint"}
    assert len(set(POINT_KEYS)) == len(POINT_KEYS)


def test_each_point_is_named_after_its_interface() -> None:
    assert interface_of("preFilter") == "PreFilterPlugin"
    for key in POINT_KEYS:
        assert hasattr(interface, interface_of(key)) or key in POD_GROUP_POINTS
