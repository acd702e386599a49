"""The table of fields names fields that there are."""

import msgspec
import pytest

from ksched_cli.cluster.redaction.redact import FIELDS, KEYED_TYPES

READ_FROM_JSON = {"lastTransitionTime"}


@pytest.mark.parametrize("struct", FIELDS, ids=lambda struct: struct.__name__)
def test_every_field_is_one_of_its_type(struct: type[msgspec.Struct]) -> None:
    fields = {field.encode_name for field in msgspec.structs.fields(struct)}
    assert FIELDS[struct].keys() <= fields | READ_FROM_JSON


def test_every_keyed_type_has_a_key_and_its_values() -> None:
    for struct, values in KEYED_TYPES.items():
        assert {"key", values} <= {field.encode_name for field in msgspec.structs.fields(struct)}
