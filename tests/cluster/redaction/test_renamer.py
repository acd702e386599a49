"""Each sort of text, and what of it stays."""

from collections.abc import Callable

import pytest

from ksched_cli.cluster.redaction.codebook import Codebook, Codes, SortedCodebook
from ksched_cli.cluster.redaction.renamer import Renamer

CODES = {"acme": "h", "gpu": "k", "7": "n", "latest": "p", "web": "t", "data": "m", "example": "j"}
IN_ORDER = {**CODES, "acme": "d", "example": "c"}


@pytest.fixture
def renamer() -> Renamer:
    renamer = Renamer(Codes(Codebook(CODES), SortedCodebook(IN_ORDER)))
    renamer.learn_stateful_set("web")
    renamer.learn_numeric_key("acme.example/cores")
    renamer.learn_expression('device.attributes["acme.example"].model == "gpu"')
    renamer.learned()
    return renamer


@pytest.mark.parametrize(
    ("sort", "text", "renamed"),
    [
        (Renamer.name, "acme-gpu", "h-k"),
        (Renamer.name, "acme-7", "h-n"),
        (Renamer.name, "web-7", "t-7"),
        (Renamer.name, "data-web-7", "m-t-7"),
        (Renamer.name, "system-node-critical", "system-node-critical"),
        (Renamer.namespace, "kube-system", "kube-system"),
        (Renamer.namespace, "acme", "h"),
        (Renamer.key, "topology.kubernetes.io/zone", "topology.kubernetes.io/zone"),
        (Renamer.key, "node-role.kubernetes.io/acme", "node-role.kubernetes.io/h"),
        (Renamer.key, "acme.example/gpu", "h.j/k"),
        (Renamer.key, "metadata.name", "metadata.name"),
        (Renamer.resource, "cpu", "cpu"),
        (Renamer.resource, "hugepages-2Mi", "hugepages-2Mi"),
        (Renamer.resource, "hugepages-acme", "hugepages-d"),
        (Renamer.resource, "acme", "d"),
        (Renamer.resource, "acme.example/gpu", "d.c/k"),
        (Renamer.resource, "acme.kubernetes.io/gpu", "d.kubernetes.io/k"),
        (Renamer.resource, "attachable-volumes-csi-acme", "attachable-volumes-csi-h"),
        (
            Renamer.resource,
            "deviceclass.resource.kubernetes.io/acme",
            "deviceclass.resource.kubernetes.io/d",
        ),
        (Renamer.sorted_name, "acme-7", "d-n"),
        (Renamer.sorted_name, "ebs.csi.aws.com", "ebs.csi.aws.com"),
        (Renamer.key, "acme.k8s.io/gpu", "h.k8s.io/k"),
        (Renamer.image, "acme/gpu:latest", "h/k:latest"),
        (Renamer.ebs_volume, "aws://acme/vol-7", "aws://h/vol-n"),
        (Renamer.pool, "rbd", "rbd"),
        (Renamer.pool, "acme", "h"),
        (Renamer.address, "0.0.0.0", "0.0.0.0"),
        (Renamer.address, "7.7.7.7", "n.n.n.n"),
        (Renamer.condition, "Ready", "Ready"),
        (Renamer.condition, "acme", "h"),
        (Renamer.condition, "acme.example/gpu", "h.j/k"),
        (Renamer.reason, "Unschedulable", "Unschedulable"),
        (Renamer.reason, "acme", ""),
        (Renamer.owner_kind, "ReplicaSet", "ReplicaSet"),
        (Renamer.owner_kind, "acme", "h"),
        (Renamer.owner_version, "apps/v1", "apps/v1"),
        (Renamer.owner_version, "acme.example/v1", "h.j/v1"),
        (Renamer.owner_version, "acme/v1", "h/v1"),
        (Renamer.owner_version, "apps/acme", "apps/h"),
        (Renamer.feature, "ExtendWebSocketsToKubelet", "ExtendWebSocketsToKubelet"),
        (Renamer.feature, "Acme", "0"),
        (Renamer.driver, "acme.example", "acme.example"),
        (Renamer.driver, "acme.web", "d.t"),
        (Renamer.attribute, "model", "model"),
        (Renamer.attribute, "web", "t"),
        (Renamer.attribute, "acme.example/model", "acme.example/model"),
        (Renamer.attribute, "acme.web/web", "d.t/t"),
        (Renamer.time, "2026-01-31T12:00:00Z", "2026-01-31T12:00:00Z"),
        (Renamer.time, "acme", ""),
        (Renamer.quantity, "1.5Gi", "1.5Gi"),
        (Renamer.quantity, "acme", "0"),
        (Renamer.percentage, "50%", "50%"),
        (Renamer.percentage, "acme", "0"),
        (Renamer.number, "12", "12"),
        (Renamer.number, "acme", ""),
        (Renamer.kubelet_version, "v1.34.1-acme-7", "v1.34.1"),
        (Renamer.nothing, "acme has no gpu", ""),
    ],
)
def test_a_text_is_renamed_by_its_sort(
    sort: Callable[[Renamer, str], str], text: str, renamed: str, renamer: Renamer
) -> None:
    assert sort(renamer, text) == renamed


@pytest.mark.parametrize(
    ("key", "text", "renamed"),
    [
        ("kubernetes.io/arch", "amd64", "amd64"),
        ("kubernetes.io/arch", "web", "t"),
        ("controller.kubernetes.io/pod-deletion-cost", "-7", "-7"),
        ("controller.kubernetes.io/pod-deletion-cost", "acme", "h"),
        (
            "storage.alpha.kubernetes.io/migrated-plugins",
            "kubernetes.io/cinder,acme",
            "kubernetes.io/cinder,h",
        ),
        ("kubernetes.io/hostname", "acme-7", "d-n"),
        ("kubernetes.io/metadata.name", "kube-system", "kube-system"),
        ("acme.example/cores", "7", "7"),
        ("acme.example/cores", "acme", "h"),
        ("acme.example/gpu", "7", "n"),
    ],
)
def test_values_are_renamed_by_their_key(
    key: str, text: str, renamed: str, renamer: Renamer
) -> None:
    assert renamer.value(key, text) == renamed


def test_an_attribute_of_a_device_that_a_selector_mentions_stays(renamer: Renamer) -> None:
    assert renamer.attribute_value("acme.example/model", "gpu") == "gpu"
    assert renamer.attribute_value("acme.example/serial", "gpu") == "k"
    assert renamer.attribute_version("acme.example/model", "7.7.7") == "7.7.7"
    assert renamer.attribute_version("acme.example/serial", "7.7-acme") == "0.0.0-n-n--h"


def test_while_it_learns_a_text_stays() -> None:
    renamer = Renamer(Codes.empty())
    assert renamer.name("acme-gpu") == "acme-gpu"
    renamer.learned()
    assert renamer.name("acme-gpu") not in ("acme-gpu", "")
