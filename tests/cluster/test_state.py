"""A state has a place for every kind that is read."""

from __future__ import annotations

from dataclasses import fields

from ksched_cli.cluster.loading.kinds import KINDS
from ksched_cli.cluster.state import ClusterState

OTHER_FIELDS = {
    "others",
    "skipped",
    "whole_kinds",
    "taken",
    "warnings",
    "unknown_fields",
    "changes",
    "noticed_nodes",
    "server_version",
}
OTHER_FIELDS |= {"pod_makers"}


def test_every_kind_has_an_attribute_of_its_own() -> None:
    attributes = [kind.attribute for kind in KINDS.values()]
    assert sorted(attributes) == sorted({f.name for f in fields(ClusterState)} - OTHER_FIELDS)
