"""Pods: what their phase says, and which of them are equal."""

from __future__ import annotations

import pytest

from ksched_cli.cluster.objects import Container, ContainerPort, ObjectMeta, Pod, PodSpec, PodStatus
from tests.cluster.build import record


@pytest.mark.parametrize(
    ("phase", "finished"),
    [("Pending", False), ("Running", False), ("Succeeded", True), ("Failed", True)],
)
def test_a_pod_that_ended_is_finished(phase: str, finished: bool) -> None:
    assert Pod(status=PodStatus(phase=phase)).finished is finished


def test_a_pod_with_a_time_of_deletion_is_being_deleted() -> None:
    assert Pod(ObjectMeta(deletion_timestamp="2026-01-01T00:00:00Z")).deleting
    assert not Pod().deleting


def test_an_init_container_that_always_restarts_is_a_sidecar() -> None:
    assert Container(restart_policy="Always").is_sidecar
    assert not Container().is_sidecar


def test_a_spec_is_compared_by_identity_and_can_be_a_key() -> None:
    first, second = PodSpec(), PodSpec()
    assert first != second
    assert {first: 1}[first] == 1


def test_an_ip_address_keeps_its_capitals() -> None:
    assert record(ContainerPort, hostIP="10.0.0.1").host_ip == "10.0.0.1"
