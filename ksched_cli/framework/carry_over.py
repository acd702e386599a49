"""What plugins assumed when the cluster's nodes or objects change and plugins are made anew, and
when a replay is written to a file."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class CarriesOver(Protocol):
    """A plugin, or a service of plugins, that assumes something of pods that run: volumes, devices.
    `ksched replay` makes plugins anew when nodes change; one without this method begins anew."""

    def carry_over(self, previous: Any) -> None:
        """Takes over what `previous`, its predecessor, assumed, as far as it still holds."""
        ...


@runtime_checkable
class Checkpointed(Protocol):
    """What carries over and can be written to a checkpoint of a replay, too."""

    def assumed(self) -> Any:
        """What it has assumed, as data that can be pickled and consists of builtin types and of
        objects of the API."""
        ...

    def assume(self, assumed: Any) -> None:
        """Takes it up, over the objects that the cluster had then."""
        ...
