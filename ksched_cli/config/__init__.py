"""KubeSchedulerConfiguration: read, defaulted, merged, checked.

load_configuration(text, source_name, registry) -> Configuration
default_configuration(registry) -> Configuration

review.review(text, registry) judges a text without an effective configuration of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ksched_cli.config.effective import Configuration, PluginRef, Profile
    from ksched_cli.config.load import default_configuration, load_configuration

__all__ = ["Configuration", "PluginRef", "Profile", "default_configuration", "load_configuration"]


def __getattr__(name: str) -> Any:
    """Load on first use: importing config.types must not import a YAML parser."""
    if name in ("Configuration", "PluginRef", "Profile"):
        from ksched_cli.config import effective

        return getattr(effective, name)
    if name in ("default_configuration", "load_configuration"):
        from ksched_cli.config import load

        return getattr(load, name)
    raise AttributeError(name)
