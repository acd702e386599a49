"""What all objects have in common; their fields are those of Kubernetes's published schema."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any, get_args, get_origin

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.cluster.loading.kinds import KINDS, ObjectKind
from ksched_cli.cluster.loading.unknown_fields import field_tables
from ksched_cli.cluster.objects import (
    KubeObject,
    ObjectMeta,
    OwnerReference,
    PodSpec,
    Record,
    ResourceAmount,
    decode_hook,
    encode_hook,
)
from ksched_cli.kube.quantity import Quantity, QuantityError
from tests.cluster.build import container, pod

# Fields that Kubernetes does not have there, and what they are.
OWN_FIELDS = {
    ("core.v1.Pod", "nodeName"): "beside the spec, which bound pods share",
    (
        "core.v1.AzureFileVolumeSource",
        "secretNamespace",
    ): "of a persistent volume alone",
    ("core.v1.CSIVolumeSource", "volumeHandle"): "the same",
    ("resource.v1.ExactDeviceRequest", "name"): "its request's; empty where it is decoded",
}


def parts(kind: object, published: str) -> Iterator[tuple[type[Record], str]]:
    """Every record within a type, with the name of the published type at the same place.

    Fails where a list is no list there, or a map no map.
    """
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (types.UnionType, None) and arguments:
        for argument in arguments:
            yield from parts(argument, published)
    elif origin is tuple:
        assert published.startswith("[]") or not records_in(kind), (kind, published)
        yield from parts(arguments[0], published.removeprefix("[]"))
    elif origin is dict:
        assert published.startswith("{}") or not records_in(kind), (kind, published)
        yield from parts(arguments[1], published.removeprefix("{}"))
    elif isinstance(kind, type) and issubclass(kind, Record):
        yield kind, published


def records_in(kind: object) -> bool:
    return any(
        (isinstance(argument, type) and issubclass(argument, Record)) or records_in(argument)
        for argument in get_args(kind)
    )


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_every_field_that_is_read_is_one_of_kubernetes(kind: ObjectKind) -> None:
    tables = field_tables()
    version = f"{kind.group}/v1" if kind.group else "v1"
    todo = [*parts(kind.type, tables.kinds[f"{version}/{kind.name}"])]
    checked = set(todo)
    while todo:
        record, published = todo.pop()
        for field in msgspec.structs.fields(record):
            name = field.encode_name
            if field.type is msgspec.Raw or (published, name) in OWN_FIELDS:
                continue
            assert name in tables.types[published], f"{published} ({record.__name__})"
            inner = set(parts(field.type, tables.types[published][name])) - checked
            checked |= inner
            todo += inner


def test_what_is_written_reads_back_the_same() -> None:
    spec = pod(containers=[container(cpu="1500m", memory="1Gi")], nodeSelector={"a": "b"}).spec
    text = msgspec.json.encode(spec, enc_hook=encode_hook)
    again = msgspec.json.decode(text, type=PodSpec, dec_hook=decode_hook)
    assert msgspec.structs.asdict(again) == msgspec.structs.asdict(spec)


@pytest.mark.parametrize(
    ("namespace", "key"), [("web", "web/a"), ("", "a")], ids=["with a namespace", "without"]
)
def test_a_key_has_the_namespace_where_there_is_one(namespace: str, key: str) -> None:
    assert KubeObject(ObjectMeta("a", namespace)).key == key


def test_the_controller_is_the_owner_that_says_so() -> None:
    owners = (OwnerReference(name="a"), OwnerReference(name="b", controller=True))
    assert ObjectMeta(owner_references=owners).controller is owners[1]
    assert ObjectMeta(owner_references=owners[:1]).controller is None


@given(st.integers(0, 10**9), st.sampled_from(["", "n", "u", "m", "k", "Ki"]))
def test_an_amount_is_rounded_up_to_thousandths(number: int, suffix: str) -> None:
    exact = Quantity.parse(f"{number}{suffix}")
    amount = ResourceAmount.parse(f"{number}{suffix}")
    assert exact <= amount
    assert amount < exact + Quantity.parse("1m")
    assert ResourceAmount.of(amount) == amount


@pytest.mark.parametrize(
    ("value", "text"), [("1.5", "1500m"), (" 2 ", "2"), (3, "3"), (0.5, "500m"), (None, "0")]
)
def test_numbers_blanks_and_null_are_amounts(value: object, text: str) -> None:
    assert str(decode_hook(ResourceAmount, value)) == text


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("-1", "must be greater than or equal to 0"),
        ("much", 'quantity "much": '),
        ("\t2Gi", "quantity .*: "),
        ("50G\u2028", "quantity .*: "),
        (True, "Expected `quantity`, got `bool`"),
        ([1], "Expected `quantity`, got `array`"),
        ({}, "Expected `quantity`, got `object`"),
    ],
)
def test_what_is_no_amount_is_refused(value: Any, message: str) -> None:
    with pytest.raises(QuantityError, match=message):
        decode_hook(ResourceAmount, value)


def test_other_types_are_left_to_msgspec() -> None:
    with pytest.raises(NotImplementedError):
        decode_hook(int, "1")
    with pytest.raises(NotImplementedError):
        encode_hook(object())
