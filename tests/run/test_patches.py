"""Paths in a configuration, and values set there."""

from typing import Any

import pytest

from ksched_cli.run.patches import Item, PatchError, parse_path, patched


def set_at(data: Any, path: str, value: Any) -> Any:
    return patched(data, parse_path(path), value)


def test_a_path_is_keys_and_items_by_index_or_name() -> None:
    steps = parse_path("profiles[0].pluginConfig[NodeResourcesFit].args").steps
    assert steps == ("profiles", Item(0), "pluginConfig", Item(None, "NodeResourcesFit"), "args")


@pytest.mark.parametrize("name", ["-1", "\u00b2", "9" * 5000])
def test_what_is_no_index_is_a_name(name: str) -> None:
    assert parse_path(f"a[{name}]").steps == ("a", Item(None, name))


@pytest.mark.parametrize("text", ["", "[0].a", "a..b", "a.[0]", "a[", "a[]", "a b", ".a"])
def test_what_is_no_path_is_refused(text: str) -> None:
    with pytest.raises(PatchError, match="not a path in a configuration"):
        parse_path(text)


def test_what_is_missing_is_made_on_the_way() -> None:
    data = set_at({}, "profiles[0].plugins.score.enabled[ImageLocality].weight", 3)
    enabled = [{"name": "ImageLocality", "weight": 3}]
    assert data == {"profiles": [{"plugins": {"score": {"enabled": enabled}}}]}


def test_an_item_goes_by_its_name_or_scheduler_name() -> None:
    data: Any = {
        "profiles": [{"schedulerName": "x"}, {"schedulerName": "batch", "a": [{"name": "n"}]}]
    }
    after = set_at(data, "profiles[batch].a[n].weight", 2)
    assert after["profiles"][1]["a"] == [{"name": "n", "weight": 2}]
    assert data["profiles"][1]["a"] == [{"name": "n"}], "the data itself stays"


def test_resources_with_dots_are_names_of_items() -> None:
    data = set_at({"resources": []}, "resources[nvidia.com/gpu].weight", 5)
    assert data == {"resources": [{"name": "nvidia.com/gpu", "weight": 5}]}


def test_a_whole_item_can_be_set_or_appended() -> None:
    assert set_at({"a": [1]}, "a[0]", 2) == {"a": [2]}
    assert set_at({"a": [1]}, "a[1]", 2) == {"a": [1, 2]}


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("a.b", 'not a mapping, so it has no key "b"'),
        ("b[0]", r"not a list, so it has no item \[0\]"),
        ("a[4]", r"there is no item \[4\]; the list has 1 items"),
    ],
)
def test_a_path_through_something_else_is_refused(path: str, problem: str) -> None:
    with pytest.raises(PatchError, match=problem):
        set_at({"a": [1], "b": {}}, path, 1)
