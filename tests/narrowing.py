"""What a test expects to be there, with the type that it then has."""

from typing import TypeVar

from ksched_cli.engine.simulation import Simulation
from ksched_cli.framework.interface import Plugin

T = TypeVar("T")
P = TypeVar("P", bound=Plugin)


def present(value: T | None) -> T:
    assert value is not None
    return value


def plugin_of(run: Simulation, kind: type[P]) -> P:
    """The plugin of this class in the default profile."""
    plugin = run.frameworks["default-scheduler"].plugin(kind.name)
    assert isinstance(plugin, kind)
    return plugin
