"""Requests and responses have the names and the shapes of Go's types."""

import json

import msgspec
import pytest

from ksched_cli.extenders import wire
from ksched_cli.framework.preemption import ExtenderError


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "EOF"),
        (b" \n", "EOF"),
        (b"<html>", "invalid character '<' looking for beginning of value"),
        (b'{"Error": "x"', "unexpected EOF"),
        (b'{"Error": "x', "unexpected EOF"),
        (b'{"Error" "x"}', "invalid character '\"' after object key"),
        (b"[1]", "json: cannot unmarshal array into Go value of type v1.ExtenderFilterResult"),
        (b"5", "json: cannot unmarshal number into Go value of type v1.ExtenderFilterResult"),
        (
            b'{"Error": 5}',
            "json: cannot unmarshal number into "
            "Go struct field ExtenderFilterResult.Error of type string",
        ),
        (
            b'{"NodeNames": "a"}',
            "json: cannot unmarshal string into "
            "Go struct field ExtenderFilterResult.NodeNames of type []string",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_in_gos_words(text: bytes, message: str) -> None:
    with pytest.raises(ExtenderError) as refused:
        wire.filter_result(text)
    assert str(refused.value) == message


@pytest.mark.parametrize("text", [b"null", b"{}", b'{"NodeNames": null, "Other": [1, {}]}'])
def test_nothing_null_and_unknown_fields_are_an_empty_answer(text: bytes) -> None:
    assert wire.filter_result(text) == wire.FilterResult(None, None, {}, {}, "")


def test_an_empty_list_of_nodes_is_not_the_same_as_none() -> None:
    result = wire.filter_result(b'{"Nodes": {"items": null}, "NodeNames": []}')
    assert (result.nodes, result.node_names) == ((), ())


def test_names_of_fields_are_found_in_any_case() -> None:
    result = wire.filter_result(b'{"nodenames": ["a"], "FAILEDNODES": {"B": "why"}, "error": "e"}')
    assert (result.node_names, result.failed, result.error) == (("a",), {"B": "why"}, "e")


def test_what_follows_the_first_value_is_ignored() -> None:
    assert wire.filter_result(b'{"Error": "e"} and so on').error == "e"


def test_broken_text_is_replaced() -> None:
    assert wire.filter_result(b'{"Error": "\xff"}').error == "\ufffd"
    assert wire.filter_result(b'{"Error": "\\ud800"}').error == "\ufffd"


def test_scores_are_whole_numbers_of_64_bits_or_the_answer_is_refused() -> None:
    assert wire.host_priorities(b'[{"Host": "a", "Score": -3}, null, {"score": 7}]') == [
        ("a", -3),
        ("", 0),
        ("", 7),
    ]
    for score in ("1.0", "1e1", '"1"', "true", "9223372036854775808"):
        with pytest.raises(ExtenderError, match=r"HostPriority\.Score of type int64"):
            wire.host_priorities(b'[{"Host": "a", "Score": %s}]' % score.encode())


def test_victims_come_by_node_in_order_of_name() -> None:
    text = b'{"NodeNameToMetaVictims": {"b": {"Pods": [{"UID": "u"}, {"uid": "v"}]}, "a": null}}'
    result = wire.preemption_result(text)
    assert list(result.items()) == [
        ("a", wire.MetaVictims((), 0)),
        ("b", wire.MetaVictims(("u", "v"), 0)),
    ]


def test_arguments_have_either_nodes_or_names() -> None:
    data = json.loads(wire.extender_args(msgspec.Raw(b'{"p":1}'), [msgspec.Raw(b'{"n":1}')], None))
    assert data == {
        "Pod": {"p": 1},
        "Nodes": {"metadata": {}, "items": [{"n": 1}]},
        "NodeNames": None,
    }
    data = json.loads(wire.extender_args(msgspec.Raw(b"{}"), None, ["a"]))
    assert (data["Nodes"], data["NodeNames"]) == (None, ["a"])


def test_preemption_arguments_have_either_victims_or_their_uids() -> None:
    pod = msgspec.Raw(b"{}")
    data = json.loads(wire.preemption_args(pod, {"a": ([msgspec.Raw(b'{"p":1}')], 2)}, None))
    assert data["NodeNameToVictims"] == {"a": {"Pods": [{"p": 1}], "NumPDBViolations": 2}}
    assert data["NodeNameToMetaVictims"] is None
    data = json.loads(wire.preemption_args(pod, None, {"a": (["u"], 0)}))
    assert data["NodeNameToMetaVictims"] == {"a": {"Pods": [{"UID": "u"}], "NumPDBViolations": 0}}


def test_a_bindings_error_is_empty_where_the_response_has_none() -> None:
    assert wire.binding_error(b'{"Error": "no"}') == "no"
    assert wire.binding_error(b"{}") == wire.binding_error(b"null") == ""
    with pytest.raises(ExtenderError):
        wire.binding_error(b"[]")
