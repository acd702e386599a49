"""Pods of one template share what is equal; times have one form."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ksched_cli.cluster.loading.pod_decoder import PartError, PodDecoder
from ksched_cli.cluster.loading.sources import PodParts
from ksched_cli.cluster.objects import Pod
from ksched_cli.errors import InputError
from tests.cluster.build import manifest, state


def parts(**fields: str) -> PodParts:
    return PodParts(**{name: msgspec.Raw(text.encode()) for name, text in fields.items()})


def test_a_pod_gets_namespace_and_uid_from_its_name() -> None:
    pod = PodDecoder().decode(parts(metadata='{"name": "p"}'), msgspec.Raw(b"{}"))
    assert (pod.namespace, pod.uid) == ("default", "default/p")


def test_the_node_name_is_read_whether_or_not_the_spec_is_cached() -> None:
    decoder, raw = PodDecoder(), msgspec.Raw(b"{}")
    specs = ('{"nodeName":"a","priority":1}', '{"nodeName": "b","priority":1}')
    pods = [decoder.decode(parts(spec=spec), raw) for spec in specs]
    assert [pod.node_name for pod in pods] == ["a", "b"]
    assert pods[0].spec.priority == pods[1].spec.priority == 1


def test_a_label_called_node_name_is_no_node_name() -> None:
    decoder, raw = PodDecoder(), msgspec.Raw(b"{}")
    specs = [f'{{"nodeSelector":{{"nodeName":"{name}"}}}}' for name in ("", "x", "y", "x")]
    pods = [decoder.decode(parts(spec=spec), raw) for spec in specs]
    assert [pod.node_name for pod in pods] == [""] * 4
    assert [pod.spec.node_selector["nodeName"] for pod in pods] == ["", "x", "y", "x"]


@pytest.mark.parametrize(
    ("part", "text", "path"),
    [
        ("metadata", '{"name": 1}', "metadata"),
        ("metadata", '{"labels": {"a": 1}}', "metadata.labels"),
        ("metadata", '{"creationTimestamp": "soon"}', "metadata.creationTimestamp"),
        ("spec", '{"containers": 1}', "spec"),
        ("status", '{"phase": 1}', "status"),
        ("status", '{"startTime": "soon"}', "status.startTime"),
    ],
)
def test_an_error_names_the_part_it_is_in(part: str, text: str, path: str) -> None:
    with pytest.raises(PartError) as caught:
        PodDecoder().decode(parts(**{part: text}), msgspec.Raw(b"{}"))
    assert caught.value.path == path


def test_times_are_brought_into_one_form() -> None:
    pod = manifest(status={"startTime": "2026-01-01T02:00:00+02:00"})
    pod["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00.25Z"
    loaded = state(pod).pods[0]
    assert loaded.metadata.creation_timestamp == "2026-01-01T00:00:00Z"
    assert loaded.status.start_time == "2026-01-01T00:00:00Z"


def test_the_year_of_a_time_has_four_digits() -> None:
    loaded = state(manifest(status={"startTime": "0001-01-02T00:30:00+00:45"})).pods[0]
    assert loaded.status.start_time == "0001-01-01T23:45:00Z"


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-01900:00:01Z",
        "2026-01-01T00:0-:00Z",
        "2026-01-01\u202800:04:08Z",
        "2026-01-01 00:00:00Z",
        "2026-01-01t00:00:00z",
        "2026-01-01T00:00:00",
        "20260101T000000Z",
        "2026-W01-1",
        "2026-02-30T00:00:00Z",
        "99999-01-01T00:00:00Z",
        "9999-12-31T23:59:59-23:59",
        "\u0662026-01-01T00:00:00Z",
    ],
)
def test_a_time_that_go_does_not_read_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"status\.startTime: .* is not a time"):
        state(manifest(status={"startTime": text}))


def test_pods_of_one_template_share_spec_and_labels_wherever_they_are_bound() -> None:
    pods = []
    for index, node in enumerate(["", "n1", "n2"]):
        binding: dict[str, Any] = {"nodeName": node} if node else {}
        pod = manifest(
            f"p{index}",
            **binding,
            volumes=[{"name": f"kube-api-access-abcd{index}"}],
            priority=0,
        )
        pod["metadata"]["labels"] = {"app": "web"}
        pods.append(pod)
    free, first, second = state(*pods).pods
    assert first.spec is second.spec
    assert first.metadata.labels is second.metadata.labels is free.metadata.labels
    assert [pod.node_name for pod in (free, first, second)] == ["", "n1", "n2"]


def test_a_node_selector_with_a_key_named_node_name_is_not_cut_out() -> None:
    selecting = manifest("a", nodeSelector={"nodeName": "x"})
    both = manifest("b", nodeSelector={"nodeName": "x"}, nodeName="x")
    first, second = state(selecting, both).pods
    assert (first.node_name, first.spec.node_selector) == ("", {"nodeName": "x"})
    assert (second.node_name, second.spec.node_selector) == ("x", {"nodeName": "x"})


def test_extenders_get_pods_and_nodes_as_they_came() -> None:
    node = {"kind": "Node", "metadata": {"name": "n"}, "status": {"podCIDR": "10.0.0.0/8"}}
    pod = {**manifest(nodeName="n", hostname="h"), "own": [1, None]}
    loaded = state(node, pod)
    assert msgspec.json.decode(bytes(loaded.pods[0].raw)) == pod
    assert msgspec.json.decode(bytes(loaded.nodes[0].raw)) == node


@pytest.mark.parametrize(("phase", "finished"), [("Succeeded", True), ("Running", False)])
def test_a_finished_pod_is_known_by_its_phase(phase: str, finished: bool) -> None:
    pod: Pod = state(manifest(status={"phase": phase})).pods[0]
    assert pod.finished is finished
