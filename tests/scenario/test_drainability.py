"""Which pods and annotations keep a node, as cluster-autoscaler and Karpenter have it."""

from typing import Any

import pytest

from ksched_cli.kube.time import unix_seconds
from ksched_cli.scenario.drain import (
    DO_NOT_DISRUPT,
    SAFE_TO_EVICT,
    SAFE_VOLUMES,
    SCALE_DOWN_DISABLED,
    PodRules,
    node_stays,
)
from ksched_cli.testing import Manifest, cluster, node, pod
from tests.scenario.build import owned

NOON = unix_seconds("2026-01-01T12:00:00Z")
LOCAL = {"volumes": [{"name": "scratch", "emptyDir": {}}, {"name": "logs", "hostPath": {}}]}
IN_MEMORY = {"volumes": [{"name": "scratch", "emptyDir": {"medium": "Memory"}}]}


def annotated(key: str, value: str, kind: str = "ReplicaSet", **more: Any) -> Manifest:
    return owned("p", kind, annotations={key: value}, **more)


def started(time: str) -> dict[str, Any]:
    return {"phase": "Running", "startTime": f"2026-01-01T{time}Z"}


def why(manifest: Manifest, **flags: bool) -> str:
    (only,) = cluster(node("n"), manifest).pods
    return PodRules(NOON, **flags).pod_stays(only)


@pytest.mark.parametrize(
    ("manifest", "because"),
    [
        (owned("p"), ""),
        (pod("p"), "no controller would create it again"),
        (owned("p", spec=LOCAL), "local storage: scratch, logs"),
        (owned("p", spec=IN_MEMORY), ""),
        (owned("p", spec=LOCAL, annotations={SAFE_VOLUMES: "scratch,logs"}), ""),
        (owned("p", spec=LOCAL, annotations={SAFE_VOLUMES: "logs"}), "local storage: scratch"),
        (annotated(SAFE_TO_EVICT, "true", spec=LOCAL), ""),
        (pod("p", annotations={SAFE_TO_EVICT: "true"}), ""),
        (annotated(SAFE_TO_EVICT, "false"), f"annotated {SAFE_TO_EVICT}=false"),
        (annotated(SAFE_TO_EVICT, "on-completion"), f"annotated {SAFE_TO_EVICT}=on-completion"),
        # DaemonSets' pods go with the node, whatever the autoscaler's annotation says.
        (annotated(SAFE_TO_EVICT, "false", "DaemonSet"), ""),
        # Karpenter's counts for them, too, and for no pod that has finished.
        (annotated(DO_NOT_DISRUPT, "true", "DaemonSet"), f"annotated {DO_NOT_DISRUPT}=true"),
        (annotated(DO_NOT_DISRUPT, "true", status={"phase": "Succeeded"}), ""),
        (annotated(DO_NOT_DISRUPT, "false"), ""),
        (annotated(DO_NOT_DISRUPT, "soon"), ""),
        (annotated(DO_NOT_DISRUPT, "-1h"), ""),
        (
            annotated(DO_NOT_DISRUPT, "1h", status=started("11:30:00")),
            f"annotated {DO_NOT_DISRUPT}=1h",
        ),
        (annotated(DO_NOT_DISRUPT, "1h", status=started("10:30:00")), ""),
        (annotated(DO_NOT_DISRUPT, "1h"), f"annotated {DO_NOT_DISRUPT}=1h"),
    ],
)
def test_what_keeps_a_pod_where_it_is(manifest: Manifest, because: str) -> None:
    assert why(manifest) == because


def test_flags_let_go_what_the_owner_answers_for() -> None:
    assert not why(pod("p"), force=True)
    assert not why(owned("p", spec=LOCAL), loses_local_storage=True)
    assert why(annotated(SAFE_TO_EVICT, "false"), force=True, loses_local_storage=True)


@pytest.mark.parametrize("key", [SCALE_DOWN_DISABLED, DO_NOT_DISRUPT])
def test_annotations_keep_nodes(key: str) -> None:
    manifest = node("n")
    manifest["metadata"]["annotations"] = {key: "true"}
    (only,) = cluster(manifest).nodes
    assert node_stays(only) == f"it is annotated {key}=true"
    manifest["metadata"]["annotations"] = {key: "false"}
    (only,) = cluster(manifest).nodes
    assert not node_stays(only)
