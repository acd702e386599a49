"""Objects keep Kubernetes's names and can be shared, kept as keys and compared."""

from __future__ import annotations

import msgspec
import pytest

from ksched_cli.cluster.objects import (
    AWSElasticBlockStore,
    ContainerPort,
    DeviceAttribute,
    PodSpec,
    Record,
    Taint,
    decode_hook,
    encode_hook,
)
from tests.cluster.build import container, pod, record


@pytest.mark.parametrize(
    ("kind", "written", "attribute"),
    [
        (ContainerPort, "hostIP", "host_ip"),
        (AWSElasticBlockStore, "volumeID", "volume_id"),
        (DeviceAttribute, "string", "string_value"),
        (DeviceAttribute, "version", "version_value"),
    ],
)
def test_names_that_are_no_plain_camel_case_are_kept(
    kind: type[Record], written: str, attribute: str
) -> None:
    assert getattr(record(kind, **{written: "x"}), attribute) == "x"


def test_a_spec_is_compared_by_identity_and_can_be_a_key() -> None:
    first, second = PodSpec(), PodSpec()
    assert first != second
    assert {first: 1}[first] == 1


def test_taints_are_values() -> None:
    assert {Taint("k", "v", "NoSchedule")} == {Taint("k", "v", "NoSchedule")}


def test_what_is_written_reads_back_the_same() -> None:
    spec = pod(containers=[container(cpu="1500m", memory="1Gi")], nodeSelector={"a": "b"}).spec
    text = msgspec.json.encode(spec, enc_hook=encode_hook)
    again = msgspec.json.decode(text, type=PodSpec, dec_hook=decode_hook)
    assert msgspec.structs.asdict(again) == msgspec.structs.asdict(spec)
