"""Fragmentation gradient descent for ksched: the schedulers and the experiments of the paper."""

from __future__ import annotations

from collections.abc import Mapping

from ksched_cli.api import Plugin, hookimpl

__all__ = ["KSCHED_API", "ksched_plugins"]

KSCHED_API = 1


@hookimpl
def ksched_plugins() -> Mapping[str, type[Plugin]]:
    return {}
