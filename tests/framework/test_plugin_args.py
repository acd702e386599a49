"""A plugin's args: checked by what it brings, and made into what it wants."""

from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.config.review import review
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.interface import ScorePlugin
from ksched_cli.framework.nodes import NodeInfo
from ksched_cli.framework.registry import PluginEntry, check, make
from ksched_cli.kube.versions import release_of
from ksched_cli.plugins import registry_of

SCHEMA = {
    "type": "object",
    "properties": {"weight": {"type": "integer", "minimum": 1}, "names": {"type": "array"}},
    "required": ["weight"],
    "additionalProperties": False,
}


class Typed(msgspec.Struct, rename="camel"):
    weight: int
    node_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.weight < 1:
            raise ValueError("weight must be positive")


@dataclass(frozen=True)
class Plain:
    weight: int
    node_names: tuple[str, ...] = ()
    more: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.weight < 1:
            raise ValueError("weight must be positive")


def problems(spec: dict[str, Any] | type[Any], given: dict[str, Any] | int | None) -> list[str]:
    return [error.text() for error in check(spec, given)]


@pytest.mark.parametrize("spec", [SCHEMA, Typed, Plain])
def test_right_args_have_nothing_wrong(spec: dict[str, Any] | type[Any]) -> None:
    assert problems(spec, {"weight": 2}) == []


@pytest.mark.parametrize("spec", [SCHEMA, Typed, Plain])
def test_a_kind_and_a_version_may_stand_in_them(spec: dict[str, Any] | type[Any]) -> None:
    given = {"apiVersion": "example.com/v1", "kind": "MineArgs", "weight": 2}
    assert problems(spec, given) == []


@pytest.mark.parametrize("spec", [SCHEMA, Typed, Plain])
@pytest.mark.parametrize("given", [None, {}, {"weight": "2"}, {"weight": 0}, {"height": 1}, 3])
def test_wrong_args_are_found(
    spec: dict[str, Any] | type[Any], given: dict[str, Any] | int | None
) -> None:
    assert problems(spec, given)


def test_a_schema_finds_every_problem_with_its_place() -> None:
    assert problems(SCHEMA, {"weight": 0, "names": "a"}) == [
        'names: Invalid value: "a": expected a list, got "a"; write it as a list: [a]',
        "weight: Invalid value: 0: 0 is less than 1",
    ]


@pytest.mark.parametrize("spec", [Typed, Plain])
@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, "weight: Required value"),
        ({"weight": 1, "height": 2}, "height: Forbidden: the plugin has no such field"),
        (
            {"weight": 1, "nodeNames": ["a", 1]},
            "nodeNames[1]: Invalid value: 1: Expected str, got int",
        ),
    ],
)
def test_a_type_finds_a_problem_with_its_place(
    spec: type[Any], given: dict[str, Any], text: str
) -> None:
    assert problems(spec, given) == [text]


def test_what_a_type_itself_refuses_is_found() -> None:
    assert "weight must be positive" in problems(Typed, {"weight": 0})[0]
    assert "weight must be positive" in problems(Plain, {"weight": 0})[0]


def test_a_schema_leaves_the_data_as_it_is() -> None:
    assert make(SCHEMA, {"weight": 2, "kind": "MineArgs"}) == {"weight": 2}


def test_a_type_makes_itself_with_defaults() -> None:
    assert make(Typed, {"weight": 2, "nodeNames": ["a"]}) == Typed(2, ("a",))
    assert make(Plain, {"weight": 2}) == Plain(2)


def test_without_a_check_args_come_as_they_are() -> None:
    assert check(None, 3) == ()
    assert make(None, 3) == 3


def test_validate_says_where_in_the_file() -> None:
    class Mine(ScorePlugin):
        name = "Mine"
        args = SCHEMA

        def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
            return 0

    text = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
  - plugins:
      score:
        enabled: [{name: Mine}]
    pluginConfig:
      - name: Mine
        args:
          weight: none
"""
    findings = review(text, registry_of(release_of(), [PluginEntry.of(Mine, "mine 1.0")]))
    (finding,) = findings.findings
    assert (finding.line, finding.path) == (10, "profiles[0].pluginConfig[0].args.weight")
    assert "expected a whole number" in finding.message
    assert not findings.verdict.accepts
