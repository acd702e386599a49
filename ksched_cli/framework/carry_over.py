"""What plugins assumed when the cluster's nodes or objects change and plugins are made anew."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class CarriesOver(Protocol):
    """A plugin, or a service of plugins, that assumes something of pods that run: volumes, devices.
    `ksched replay` makes plugins anew when nodes change; one without this method begins anew."""

    def carry_over(self, previous: Any) -> None:
        """Takes over what `previous`, its predecessor, assumed, as far as it still holds."""
        ...
