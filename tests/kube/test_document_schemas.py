"""Small documents checked against their schemas; the readers of each kind test the messages."""

import json

import pytest

from ksched_cli.errors import InputError
from ksched_cli.kube.document_schemas import check_document, schema_of


def test_what_fits_passes() -> None:
    document = {"apiVersion": "ksched/v1", "kind": "Scenario", "changes": []}
    check_document(document, "scenario", "", "s.yaml", "")


def test_what_does_not_is_refused_with_its_place_and_the_hint() -> None:
    text = "apiVersion: ksched/v1\nkind: Scenario\nchanges: 3\n"
    document = {"apiVersion": "ksched/v1", "kind": "Scenario", "changes": 3}
    with pytest.raises(InputError, match=r"s\.yaml:3:1: changes: no scenario: 3 is not.*\n  try"):
        check_document(document, "scenario", text, "s.yaml", "try")


def test_a_text_that_yaml_reads_as_a_boolean_is_told_to_be_quoted() -> None:
    header = {"apiVersion": "ksched/v1", "kind": "Autoscaler"}
    document = {**header, "nodeGroups": [{"name": "a", "like": False, "maxSize": 1}]}
    text = "nodeGroups:\n- {name: a, like: n, maxSize: 1}\n"
    message = r"2:\d+: nodeGroups\.0\.like: .*False is not of type 'string' \(YAML reads y"
    with pytest.raises(InputError, match=message):
        check_document(document, "autoscaler", text, "a.yaml", "")
    with pytest.raises(InputError, match=r"type 'string'$"):
        check_document(document, "autoscaler", json.dumps(document), "a.json", "")


def test_schemas_are_read_by_name() -> None:
    assert "changes" in schema_of("scenario")["properties"]
