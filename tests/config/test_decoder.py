"""Plain data to a type with Go fields, with Go's messages."""

import pytest

from ksched_cli.config.decoder import Decoder, decode_base64
from ksched_cli.config.types import Extender, LeaderElection, SchedulerConfiguration

FIELD = "json: cannot unmarshal {} into Go struct field KubeSchedulerConfiguration.{} of type {}"


def decoded(data, cls=SchedulerConfiguration):
    decoder = Decoder()
    return decoder.decode(data, cls), decoder


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"parallelism": "3"}, FIELD.format("string", "parallelism", "int32")),
        ({"parallelism": 2**31}, FIELD.format("number 2147483648", "parallelism", "int32")),
        ({"enableProfiling": 1}, FIELD.format("number", "enableProfiling", "bool")),
        ({"profiles": {}}, FIELD.format("object", "profiles", "[]v1.KubeSchedulerProfile")),
    ],
)
def test_a_value_of_the_wrong_type_has_gos_message(data, message):
    value, decoder = decoded(data)
    assert decoder.fatal == message
    assert value == SchedulerConfiguration()


def test_decoding_goes_on_after_an_error():
    value, decoder = decoded({"enableProfiling": 1, "parallelism": 3, "foo": 1, "bar": 2})
    assert value.parallelism == 3
    assert decoder.strict == ['unknown field "bar"', 'unknown field "foo"']


def test_null_is_nil_for_a_pointer_and_nothing_for_a_value():
    value, decoder = decoded({"parallelism": None, "delayCacheUntilActive": None})
    assert (value.parallelism, value.delay_cache_until_active) == (None, False)
    assert decoder.fatal is None


def test_a_duration_is_nanoseconds_and_null_is_none():
    assert decoded({"leaseDuration": "1m1s"}, LeaderElection)[0].lease_duration == 61 * 10**9
    assert decoded({"leaseDuration": None}, LeaderElection)[1].fatal == 'time: invalid duration ""'


def test_bytes_are_base64_or_a_list_of_numbers():
    for data in ("YWI=", [97, 98]):
        value, _ = decoded({"tlsConfig": {"caData": data}}, Extender)
        assert value.tls_config.ca_data == b"ab"
    assert "illegal base64" in decoded({"tlsConfig": {"caData": "a b"}}, Extender)[1].fatal
    assert decode_base64("YW\nI=") == b"ab"
    assert decode_base64("!") is None
