"""NodeDeclaredFeatures: nodes whose kubelets lack what the pod needs."""

from typing import Any

import pytest

from ksched_cli.plugins.node_declared_features import (
    RESTART_ALL,
    USER_NAMESPACES,
    NodeDeclaredFeatures,
    declared_features,
)
from ksched_cli.testing import cluster, simulation
from tests.narrowing import plugin_of
from tests.plugins.event_objects import pod_info


@pytest.mark.parametrize(
    ("declared", "features"),
    [
        ((), set()),
        ((RESTART_ALL, USER_NAMESPACES), {RESTART_ALL, USER_NAMESPACES}),
        (("Another", RESTART_ALL, "Zoo"), {RESTART_ALL}),
        ((USER_NAMESPACES, RESTART_ALL), {USER_NAMESPACES}),
    ],
)
def test_features_out_of_order_hide_others(declared: tuple[str, ...], features: set[str]) -> None:
    assert declared_features(declared) == features


RESTARTS: dict[str, Any] = {
    "containers": [
        {"name": "c", "image": "i", "restartPolicyRules": [{"action": "RestartAllContainers"}]}
    ]
}


def test_a_pod_is_tried_when_it_needs_other_features() -> None:
    plugin = plugin_of(simulation(cluster()), NodeDeclaredFeatures)
    (_, _), (_, after_pod_change) = plugin.events_to_register()
    assert after_pod_change is not None
    needy = pod_info(spec={"hostNetwork": True, "hostUsers": False})
    assert after_pod_change(pod_info(), needy, pod_info())
    assert not after_pod_change(pod_info(), pod_info(), pod_info())
    assert not after_pod_change(pod_info("other"), needy, pod_info())
