"""Patches, by the examples of RFC 7386 and RFC 6902 and by Kubernetes's merge keys."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.scenario.apply import JsonPatchError, json_patch, strategic_merge
from ksched_cli.scenario.objects import json_merge

KEYS = st.sampled_from(["a", "b", "c"])
PLAIN = st.recursive(
    st.one_of(st.integers(0, 3), st.sampled_from(["x", "y"])),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(KEYS, inner, max_size=3)),
    max_leaves=6,
)
OBJECTS = st.dictionaries(KEYS, PLAIN, max_size=3)


# RFC 7386, appendix A.
@pytest.mark.parametrize(
    ("original", "patch", "result"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ],
)
def test_a_merge_patch_does_what_its_rfc_says(original: Any, patch: Any, result: Any) -> None:
    assert json_merge(original, patch) == result


@given(OBJECTS, OBJECTS)
def test_merges_are_idempotent_and_leave_the_original_alone(
    original: dict[str, Any], patch: dict[str, Any]
) -> None:
    before = copy.deepcopy(original)
    for merge in (json_merge, strategic_merge):
        merged = merge(original, patch)
        assert merge(merged, patch) == merged
        assert merge(original, {}) == before == original


@pytest.mark.parametrize(
    ("original", "operations", "result"),
    [
        ({"a": 1}, [{"op": "add", "path": "/b", "value": 2}], {"a": 1, "b": 2}),
        ({"a": [1, 3]}, [{"op": "add", "path": "/a/1", "value": 2}], {"a": [1, 2, 3]}),
        ({"a": [1]}, [{"op": "add", "path": "/a/-", "value": 2}], {"a": [1, 2]}),
        ({"a": 1, "b": 2}, [{"op": "remove", "path": "/a"}], {"b": 2}),
        ({"a": {"b": 1}}, [{"op": "replace", "path": "/a/b", "value": 2}], {"a": {"b": 2}}),
        ({"a/b": 1, "m~n": 2}, [{"op": "remove", "path": "/a~1b"}], {"m~n": 2}),
        ({"a/b": 1, "m~n": 2}, [{"op": "remove", "path": "/m~0n"}], {"a/b": 1}),
        ({"a": 1}, {"op": "test", "path": "/a", "value": 1}, {"a": 1}),
        ({"a": [1, 2]}, [{"op": "move", "from": "/a/1", "path": "/a/0"}], {"a": [2, 1]}),
        ({"a": [1]}, [{"op": "copy", "from": "/a", "path": "/b"}], {"a": [1], "b": [1]}),
    ],
)
def test_a_json_patch_does_what_its_rfc_says(original: Any, operations: Any, result: Any) -> None:
    assert json_patch(original, operations) == result


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        ("x", "expected a list of {op, path, value}"),
        ({"op": "add"}, "expected a list of {op, path, value}"),
        (
            {"op": "mend", "path": "/a"},
            '"mend" at "/a": expected add, remove, replace, move, copy or test',
        ),
        ({"op": "move", "path": "/a"}, 'move to "/a": expected from'),
        ({"op": "copy", "path": "/a", "from": "/c"}, 'from "/c": this path does not exist'),
        ({"op": "add", "path": ""}, "expected add, remove, replace, move, copy or test"),
        ({"op": "remove", "path": "/z"}, 'remove at "/z": this path does not exist'),
        ({"op": "replace", "path": "/z", "value": 1}, "this path does not exist"),
        ({"op": "replace", "path": "/list/5", "value": 1}, "this path does not exist"),
        ({"op": "add", "path": "/list/x", "value": 1}, "this path does not exist"),
        ({"op": "test", "path": "/a", "value": 2}, 'test at "/a": the value differs'),
    ],
)
def test_a_patch_that_cannot_be_carried_out_is_an_error(operation: Any, message: str) -> None:
    with pytest.raises(JsonPatchError) as error:
        json_patch({"a": 1, "list": [1]}, [operation])
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("original", "patch", "result"),
    [
        (
            {"containers": [{"name": "a", "image": "1"}, {"name": "b"}]},
            {"containers": [{"name": "a", "image": "2"}]},
            {"containers": [{"name": "a", "image": "2"}, {"name": "b"}]},
        ),
        (
            {"containers": [{"name": "a"}]},
            {"containers": [{"name": "b"}]},
            {"containers": [{"name": "a"}, {"name": "b"}]},
        ),
        (
            {"containers": []},
            {"containers": [{"name": "b"}, {"name": "b", "image": "2"}, {}, {"image": "3"}]},
            {"containers": [{"name": "b", "image": "2"}, {}, {"image": "3"}]},
        ),
        (
            {"volumes": [{"name": "x"}, {"name": "y"}]},
            {"volumes": [{"$patch": "delete", "name": "x"}]},
            {"volumes": [{"name": "y"}]},
        ),
        (
            {"volumes": [{"name": "x"}, {"name": "y"}]},
            {"volumes": [{"$patch": "replace"}, {"name": "z"}]},
            {"volumes": [{"name": "z"}]},
        ),
        (
            {"taints": [{"key": "x"}, {"key": "y"}]},
            {"taints": [{"key": "z"}]},
            {"taints": [{"key": "z"}]},
        ),
        ({"args": ["a", "b"]}, {"args": ["c"]}, {"args": ["c"]}),
        ({"a": {"x": 1, "y": 2}}, {"a": {"$patch": "replace", "z": 3}}, {"a": {"z": 3}}),
        ({"a": {"x": 1, "y": 2}}, {"a": {"x": None}}, {"a": {"y": 2}}),
        ({"a": 1}, {"$setElementOrder/a": [1]}, {"a": 1}),
        ({}, {"volumes": [{"$patch": "replace"}, {"name": "z"}]}, {"volumes": [{"name": "z"}]}),
        ({}, {"a": {"$patch": "replace", "z": 3}, "b": {"x": None, "y": 1}}, {"b": {"y": 1}}),
    ],
)
def test_lists_are_merged_by_kubernetes_keys(original: Any, patch: Any, result: Any) -> None:
    assert strategic_merge(original, patch) == result
