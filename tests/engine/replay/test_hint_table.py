"""What hints make of events."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.pod_info import PodCatalog, PodInfo
from ksched_cli.engine.replay.queued_pod import QueuedPodInfo
from ksched_cli.engine.replay.scheduling_queue import HintTable, ObjectEvent, QueueingStrategy
from ksched_cli.framework.caller import PluginCaller
from ksched_cli.framework.cluster_events import (
    ASSIGNED_POD_DELETE,
    DEVICE_CLASS,
    EVERYTHING,
    NODE,
    POD,
    RESOURCE_CLAIM,
    RESOURCE_SLICE,
    VOLUME_ATTACHMENT,
    Action,
    ClusterEvent,
    Registration,
)
from ksched_cli.framework.runtime import Framework
from ksched_cli.kube.versions import release_of
from ksched_cli.testing import simulation
from tests.devices import state_of

NODE_ADD = ClusterEvent(NODE, Action.ADD)


def never(pod: PodInfo, old: Any, new: Any) -> bool:
    return False


def fails(pod: PodInfo, old: Any, new: Any) -> bool:
    raise ValueError


class Registers:
    def __init__(self, name: str, *registrations: Registration) -> None:
        self.name = name
        self._registrations = registrations

    def events_to_register(self) -> Iterable[Registration]:
        return self._registrations


TABLE = HintTable({
    "default-scheduler": cast(
        Framework,
        SimpleNamespace(
            handle=SimpleNamespace(release=release_of("1.36")),
            caller=PluginCaller(),
            plugins=(
                Registers("Node", (ClusterEvent(NODE, Action.ADD), None)),
                Registers("Never", (ClusterEvent(NODE, Action.ALL), never)),
                Registers("Fails", (ClusterEvent(POD, Action.DELETE), fails)),
                Registers("Silent"),
            )
        ),
    )
})  # fmt: skip


@pytest.mark.parametrize(
    ("plugins", "pending", "event", "strategy"),
    [
        ("Node", "", NODE_ADD, QueueingStrategy.AFTER_BACKOFF),
        ("Node", "Node", NODE_ADD, QueueingStrategy.IMMEDIATELY),
        ("Never", "", NODE_ADD, QueueingStrategy.SKIP),
        ("Never Node", "", NODE_ADD, QueueingStrategy.AFTER_BACKOFF),
        ("Node", "", ASSIGNED_POD_DELETE, QueueingStrategy.SKIP),
        ("Fails", "", ASSIGNED_POD_DELETE, QueueingStrategy.AFTER_BACKOFF),
        ("Silent", "", NODE_ADD, QueueingStrategy.SKIP),
        ("Silent", "", EVERYTHING, QueueingStrategy.AFTER_BACKOFF),
        ("Extender", "", ASSIGNED_POD_DELETE, QueueingStrategy.AFTER_BACKOFF),
        ("Extender", "", ClusterEvent(DEVICE_CLASS, Action.ADD), QueueingStrategy.AFTER_BACKOFF),
        ("Extender", "", ClusterEvent(RESOURCE_SLICE, Action.ADD), QueueingStrategy.SKIP),
        ("Extender", "", ClusterEvent(VOLUME_ATTACHMENT, Action.DELETE), QueueingStrategy.SKIP),
        ("", "", NODE_ADD, QueueingStrategy.AFTER_BACKOFF),
    ],
)
def test_only_the_plugins_that_rejected_the_pod_are_heard(
    plugins: str, pending: str, event: ClusterEvent, strategy: QueueingStrategy
) -> None:
    queued = QueuedPodInfo(0, 1, pod=PodCatalog().info(Pod()))
    queued.unschedulable_plugins = frozenset(plugins.split())
    queued.pending_plugins = frozenset(pending.split())
    assert TABLE.strategy(queued, ObjectEvent(event, None, None)) is strategy


def test_it_says_what_a_plugin_registered_for() -> None:
    events = (NODE_ADD, ClusterEvent(NODE, Action.UPDATE_NODE_TAINT))
    assert TABLE.events_of("default-scheduler", "Node") == events
    assert TABLE.events_of("default-scheduler", "Silent") == ()


def test_a_claim_that_comes_or_goes_concerns_the_pods_that_name_it() -> None:
    run = simulation(
        state_of({"claims": {"one": "gpu"}, "pods": {"p": ["one"], "q": []}}),
        kubernetes_version="1.38",
    )
    table = HintTable(run.frameworks)
    claim = run.resource_claims["default", "one"]
    event = ClusterEvent(RESOURCE_CLAIM, Action.ADD | Action.DELETE)
    for old, new in ((None, claim), (claim, None)):
        is_concerned = table.concerned(ObjectEvent(event, old, new))
        assert is_concerned is not None
        assert [info.name for info in run.pending() if is_concerned(info)] == ["p"]
    assert table.concerned(ObjectEvent(event, None, None)) is None
