"""YAML means what it means to sigs.k8s.io/yaml."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from ksched_cli.kube.yaml_errors import YamlError
from ksched_cli.kube.yaml_tree import Builder, compose, plain

SCALARS = yaml.load((Path(__file__).parent / "data" / "scalars.yaml").read_text(), yaml.CSafeLoader)


def build(text: str) -> tuple[dict[str, Any], Builder]:
    """The plain data of the only document, and its builder."""
    (node,) = compose(text)
    builder = Builder(aliased="*" in text)
    return builder.build(node), builder


def data(text: str) -> dict[str, Any]:
    return build(text)[0]


@pytest.mark.parametrize("case", SCALARS, ids=lambda case: case["written"])
def test_a_scalar_means_what_it_means_to_kubernetes(case: dict[str, Any]) -> None:
    assert data(f"a: {case['written']}") == {"a": case["meant"]}


def test_keys_become_strings() -> None:
    assert data("1: a\ntrue: b\n") == {"1": "a", "true": "b"}


@pytest.mark.parametrize(
    ("text", "message"),
    [("[a]: 1", "invalid map key"), ("~: 1", "unsupported map key of type")],
)
def test_keys_that_are_no_scalars_or_null_are_refused(text: str, message: str) -> None:
    with pytest.raises(YamlError, match=message):
        data(text)


def test_merge_keys_and_aliases_are_followed() -> None:
    text = "base: &b {x: 1, z: 2}\nuse:\n  <<: *b\n  z: 3\n"
    assert data(text)["use"] == {"x": 1, "z": 3}


def test_only_maps_can_be_merged() -> None:
    with pytest.raises(YamlError, match="map merge requires map or sequence of maps"):
        data("use:\n  <<: 1\n")


def test_an_anchor_may_be_given_twice() -> None:
    assert data("a: &x 1\nb: *x\nc: &x {d: [&y 2, *y]}\ne: *x\n") == {
        "a": 1,
        "b": 1,
        "c": {"d": [2, 2]},
        "e": {"d": [2, 2]},
    }


def test_duplicate_keys_are_listed_with_the_position_of_their_value() -> None:
    value, builder = build("a: 1\nb: {c: 1, c: 2}\n")
    assert value == {"a": 1, "b": {"c": 2}}
    (duplicate,) = builder.duplicates
    assert (duplicate.key, duplicate.line, duplicate.column) == ("c", 2, 14)


def test_a_tag_that_does_not_fit_is_an_error_with_its_position() -> None:
    with pytest.raises(YamlError, match="cannot decode !!str `x` as a !!int") as caught:
        data("a: 1\nb: !!int x\n")
    assert (caught.value.line, caught.value.column) == (2, 4)


def test_binary_scalars_are_decoded() -> None:
    assert data("a: !!binary aGk=\n") == {"a": "hi"}
    with pytest.raises(YamlError, match="invalid base64 data"):
        data("a: !!binary '?'\n")
    with pytest.raises(YamlError, match="invalid base64 data"):
        data("a: !!binary é\n")


def test_a_syntax_error_has_go_yamls_line_and_the_true_one() -> None:
    with pytest.raises(YamlError) as caught:
        list(compose("a: 1\nb: [\n"))
    assert caught.value.message == "yaml: line 2: did not find expected node content"
    assert (caught.value.line, caught.value.column) == (3, 1)


def test_integers_beyond_64_bits_become_floats() -> None:
    assert plain("18446744073709551615") == 2**64 - 1
    assert isinstance(plain("18446744073709551616"), float)
    assert isinstance(plain("-9223372036854775809"), float)


def test_digits_without_end_are_no_integer() -> None:
    assert plain("9" * 5_000) == "9" * 5_000
