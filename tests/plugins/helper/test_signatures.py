"""What of a pod is signed: the order of lists makes no difference, what plugins read does."""

from typing import Any

import pytest
from msgspec import Raw, structs

from ksched_cli.plugins.helper import sign_volumes
from ksched_cli.testing import cluster, find, node, pod, simulation

SPREAD = {"name": "PodTopologySpread", "args": {"defaultingType": "List"}}


def signed(*pods: dict[str, Any], minor: str = "1.36") -> list[int | None]:
    """The signatures of the pods, named p0, p1 and so on, by all of a minor's in-tree plugins."""
    named = [{**p, "metadata": {**p["metadata"], "name": f"p{i}"}} for i, p in enumerate(pods)]
    config = {"profiles": [{"pluginConfig": [SPREAD]}]}
    run = simulation(cluster(node("n"), *named), config, kubernetes_version=minor)
    signer = run.frameworks["default-scheduler"].signer
    assert signer is not None
    return [signer.sign(find(run, f"p{i}")) for i in range(len(pods))]


def affinity(*values: str, weight: int = 1) -> dict[str, Any]:
    term = {"matchExpressions": [{"key": "a", "operator": "In", "values": list(values)}]}
    preferred = [{"weight": weight, "preference": term}]
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}


def volumes(*sources: dict[str, Any]) -> dict[str, Any]:
    return {"volumes": [{"name": f"v{i}", **source} for i, source in enumerate(sources)]}


EMPTY: dict[str, Any] = {"emptyDir": {}}
HOST = {"hostPath": {"path": "/a"}}
SECRET, CONFIG = {"secret": {"secretName": "s"}}, {"configMap": {"name": "c"}}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (pod(), pod(namespace="blue", priority=7)),
        (pod(annotations={"a": "1"}), pod()),
        (pod(tolerations=["a", "b"]), pod(tolerations=["b", "a"])),
        (pod(ports=[1, 2]), pod(ports=[2, 1])),
        (pod(affinity=affinity("x", "y")), pod(affinity=affinity("y", "x"))),
        (pod(image="img"), pod(image="img:latest")),
        (pod(spec=volumes(EMPTY, HOST)), pod(spec=volumes(HOST, EMPTY, SECRET, CONFIG))),
        (pod(cpu="1"), pod(cpu="1000m")),
    ],
)
def test_pods_that_plugins_see_alike_share_a_signature(
    first: dict[str, Any], second: dict[str, Any]
) -> None:
    assert signed(first, second) == [0, 0]


@pytest.mark.parametrize(
    "other",
    [
        pod(labels={"app": "a"}),
        pod(tolerations=["a"]),
        pod(ports=[1]),
        pod(affinity=affinity("x")),
        pod(node_selector={"a": "b"}),
        pod(image="other"),
        pod(spec=volumes(HOST)),
        pod(spec=volumes({"hostPath": {"path": "/b"}})),
        pod(cpu="1"),
        pod(requests={"example.com/gpu": 1}),
    ],
)
def test_what_plugins_read_of_a_pod_is_in_its_signature(other: dict[str, Any]) -> None:
    assert signed(pod(), other) == [0, 1]


@pytest.mark.parametrize(
    "unsigned",
    [
        pod(affinity={"podAffinity": {}}),
        pod(affinity={"podAntiAffinity": {}}),
        pod(spec={"resourceClaims": [{"name": "c", "resourceClaimName": "c"}]}),
    ],
)
def test_pods_whose_nodes_depend_on_more_than_themselves_are_not_signed(
    unsigned: dict[str, Any],
) -> None:
    assert signed(unsigned) == [None]


def test_features_that_a_pod_needs_are_signed_where_nodes_declare_them() -> None:
    user_namespace = pod(spec={"hostNetwork": True, "hostUsers": False})
    assert signed(pod(), user_namespace) == [0, 1]
    assert signed(pod(), user_namespace, minor="1.35") == [0, 0]


def test_volumes_of_a_pod_that_came_from_no_file_are_signed_too() -> None:
    claim = {"persistentVolumeClaim": {"claimName": "c"}}
    run = simulation(cluster(pod(spec=volumes(claim))))
    unread = structs.replace(find(run).pod, raw=Raw())
    assert sign_volumes(run.catalog.info(unread)) != {"volumes": ()}
