"""Plain data to a type with Go fields, with Go's messages."""

from typing import Any, TypeVar

import pytest

from ksched_cli.config.go_types import GoStruct
from ksched_cli.config.parsing import Decoder, decode_base64
from ksched_cli.config.types import Extender, LeaderElection, SchedulerConfiguration

FIELD = "json: cannot unmarshal {} into Go struct field KubeSchedulerConfiguration.{} of type {}"


T = TypeVar("T", bound=GoStruct)


def decoded_as(cls: type[T], data: dict[str, Any]) -> tuple[T, Decoder]:
    decoder = Decoder()
    return decoder.decode(data, cls), decoder


def decoded(data: dict[str, Any]) -> tuple[SchedulerConfiguration, Decoder]:
    return decoded_as(SchedulerConfiguration, data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"parallelism": "3"}, FIELD.format("string", "parallelism", "int32")),
        ({"parallelism": 2**31}, FIELD.format("number 2147483648", "parallelism", "int32")),
        ({"enableProfiling": 1}, FIELD.format("number", "enableProfiling", "bool")),
        ({"profiles": {}}, FIELD.format("object", "profiles", "[]v1.KubeSchedulerProfile")),
    ],
)
def test_a_value_of_the_wrong_type_has_gos_message(data: dict[str, Any], message: str) -> None:
    value, decoder = decoded(data)
    assert decoder.fatal == message
    assert value == SchedulerConfiguration()


def test_decoding_goes_on_after_an_error() -> None:
    value, decoder = decoded({"enableProfiling": 1, "parallelism": 3, "foo": 1, "bar": 2})
    assert value.parallelism == 3
    assert decoder.strict == ['unknown field "bar"', 'unknown field "foo"']


def test_null_is_nil_for_a_pointer_and_nothing_for_a_value() -> None:
    value, decoder = decoded({"parallelism": None, "delayCacheUntilActive": None})
    assert (value.parallelism, value.delay_cache_until_active) == (None, False)
    assert decoder.fatal is None


def test_a_duration_is_nanoseconds_and_null_is_none() -> None:
    election, _ = decoded_as(LeaderElection, {"leaseDuration": "1m1s"})
    assert election.lease_duration == 61 * 10**9
    _, decoder = decoded_as(LeaderElection, {"leaseDuration": None})
    assert decoder.fatal == 'time: invalid duration ""'


def test_bytes_are_base64_or_a_list_of_numbers() -> None:
    for data in ("YWI=", [97, 98]):
        value, _ = decoded_as(Extender, {"tlsConfig": {"caData": data}})
        assert value.tls_config is not None
        assert value.tls_config.ca_data == b"ab"
    _, decoder = decoded_as(Extender, {"tlsConfig": {"caData": "a b"}})
    assert "illegal base64" in str(decoder.fatal)
    assert decode_base64("YW\nI=") == b"ab"
    assert decode_base64("!") is None
