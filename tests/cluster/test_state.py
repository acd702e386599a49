"""A state has a place for every kind that is read."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields

import pytest

from ksched_cli.cluster.loading.kinds import KINDS
from ksched_cli.cluster.state import ClusterState

OTHER_FIELDS = {"others", "skipped", "whole_kinds", "warnings", "changes", "noticed_nodes"}


def test_every_kind_has_an_attribute_of_its_own() -> None:
    attributes = [kind.attribute for kind in KINDS.values()]
    assert sorted(attributes) == sorted({f.name for f in fields(ClusterState)} - OTHER_FIELDS)


def test_a_state_may_be_empty_and_does_not_change() -> None:
    state = ClusterState()
    assert (state.nodes, dict(state.services), state.warnings) == ((), {}, ())
    with pytest.raises(FrozenInstanceError):
        state.nodes = ()  # type: ignore[misc]  # that it cannot be set is the point
