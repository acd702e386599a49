"""NodeDeclaredFeatures: nodes whose kubelets lack what the pod needs."""

from typing import Any

import pytest

from ksched_cli.plugins.node_declared_features import (
    RESTART_ALL,
    USER_NAMESPACES,
    declared_features,
)


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
