"""A file's text: YAML or JSON, documents, apiVersion and kind, plugin args."""

import pytest

from ksched_cli.config.parsing import is_json_buffer, parse
from tests.config.registries import HEAD, REGISTRY, configured


@pytest.mark.parametrize(
    ("text", "is_json"), [(" \n{}", True), ("a: {}", False), ("", False), ("[1]", False)]
)
def test_a_brace_first_is_json(text: str, is_json: bool) -> None:
    assert is_json_buffer(text) is is_json


def test_only_the_first_document_is_read_and_all_are_counted() -> None:
    parsed = parse(configured("parallelism: 3\n---\nparallelism: 4\n"), REGISTRY)
    assert (parsed.error, parsed.documents) == (None, 2)
    assert parsed.configuration.parallelism == 3


@pytest.mark.parametrize(("text", "line"), [("{", 1), ("a: b: c\n", 1), ('{"a": 1,\n]', 2)])
def test_a_text_that_is_neither_has_a_syntax_error(text: str, line: int) -> None:
    parsed = parse(text, REGISTRY)
    assert parsed.syntax_error is not None
    assert parsed.data is None
    assert parsed.error
    position = parsed.syntax_error.position
    assert position is None or position.line == line


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\n", "Object 'Kind' is missing"),
        ("kind: KubeSchedulerConfiguration\n", "Object 'apiVersion' is missing"),
        (HEAD.replace("/v1", "/v2"), 'is registered for version "kubescheduler.config.k8s.io/v2"'),
        (HEAD + "foo: 1\n", 'strict decoding error: unknown field "foo"'),
        (HEAD.replace("KubeSchedulerConfiguration", "NodeAffinityArgs"), "Kind=NodeAffinityArgs"),
    ],
)
def test_what_is_no_configuration_has_upstreams_message(text: str, message: str) -> None:
    assert message in str(parse(text, REGISTRY).error)


def test_args_are_typed_by_plugin_name_and_an_error_says_where() -> None:
    configs = "[{name: NodeAffinity, args: {x: 1}}, {name: Mine, args: {b: 1}}]"
    parsed = parse(configured(f"profiles: [{{pluginConfig: {configs}}}]\n"), REGISTRY)
    (profile,) = parsed.configuration.profiles or ()
    in_tree, foreign = profile.plugin_config or ()
    assert type(in_tree.args).__name__ == "NodeAffinityArgs"
    assert foreign.args == {"b": 1}
    assert "decoding .profiles[0].pluginConfig[0]" in str(parsed.error)
