"""The JSON Schema of a configuration comes from the types."""

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from ksched_cli.kube.versions import release_of
from ksched_cli.plugins import registry_of
from ksched_cli.schemas.configuration import configuration_schema

SCHEMA = configuration_schema(registry_of(release_of()))


def errors(document: dict[str, Any]) -> set[str]:
    return {error.json_path for error in Draft202012Validator(SCHEMA).iter_errors(document)}


def args(name: str, value: dict[str, Any] | None) -> dict[str, Any]:
    head = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    return head | {"profiles": [{"pluginConfig": [{"name": name, "args": value}]}]}


def test_it_is_a_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)


def test_every_definition_is_referred_to() -> None:
    for name in SCHEMA["$defs"]:
        assert f'"#/$defs/{name}"' in json.dumps(SCHEMA), name


@pytest.mark.parametrize(
    ("name", "value", "wrong"),
    [
        ("NodeResourcesFit", {"shape": []}, ""),
        ("NodeResourcesFit", {"ignoredResources": [1]}, ".ignoredResources[0]"),
        ("NodeResourcesFit", {"kind": "NodeAffinityArgs"}, ".kind"),
        ("NodeResourcesFit", {"scoringStrategy": {"type": "Best"}}, ".scoringStrategy.type"),
        ("InterPodAffinity", {"hardPodAffinityWeight": 101}, ".hardPodAffinityWeight"),
        ("DynamicResources", {"filterTimeout": 3}, ".filterTimeout"),
    ],
)
def test_the_args_of_a_plugin_are_checked_by_its_name(
    name: str, value: dict[str, Any], wrong: str
) -> None:
    assert errors(args(name, value)) == {f"$.profiles[0].pluginConfig[0].args{wrong}"}


@pytest.mark.parametrize("value", [None, {}, {"filterTimeout": None}, {"filterTimeout": "1s"}])
def test_null_stands_wherever_go_takes_it(value: dict[str, Any] | None) -> None:
    assert errors(args("DynamicResources", value)) == set()


def test_the_args_of_other_plugins_are_anything() -> None:
    assert errors(args("Coscheduling", {"a": [1]})) == set()
