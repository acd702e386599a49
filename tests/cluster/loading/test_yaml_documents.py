"""YAML is split into documents of JSON, whatever way it is read, as if libyaml read it whole."""

from typing import TypeAlias

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.cluster.loading import yaml_documents
from ksched_cli.cluster.loading.yaml_documents import json_documents
from ksched_cli.kube.documents import read_documents
from ksched_cli.kube.yaml_errors import Duplicate, YamlError

Outcome: TypeAlias = list[tuple[bytes, tuple[Duplicate, ...]] | str]

LIST = """\
apiVersion: v1
items:
- kind: Pod
  metadata:
    name: a
- kind: Node
  spec:
    note: |
      - no item
    taints:
    - key: a
- {kind: Pod, spec: {}}
kind: List
metadata:
  resourceVersion: ""
"""
INDENTED = "items:\n  # first\n  - kind: Pod\n    metadata: {}\n  - kind: Node\nkind: List\n"
MANY = f"# nothing\n---\na: 1\n---\n{LIST}---\n---\nb: [1, 2]\n---\n{INDENTED}"
INSERTED = st.sampled_from(
    [*"-:#'\" |>{}[]&*!%\n", "", "- ", "  ", "\n---\n", "...\n", "\n- ", "items:\n- ", "a: b\n"]
)
MUTATIONS = st.lists(st.tuples(st.integers(0, 10_000), INSERTED, st.booleans()), max_size=3)


def by_libyaml(text: str) -> Outcome:
    outcome: Outcome = []
    try:
        for document in read_documents(text):
            if document.data is not None:
                outcome.append((msgspec.json.encode(document.data), document.duplicates))
    except YamlError as error:
        outcome.append(f"{error.line}:{error.column} {error.message}")
    return outcome


def split(text: str) -> Outcome:
    outcome: Outcome = []
    try:
        for document in json_documents(text):
            outcome.append((bytes(document.data), document.duplicates))
    except YamlError as error:
        outcome.append(f"{error.line}:{error.column} {error.message}")
    return outcome


@given(st.sampled_from([LIST, INDENTED, MANY]), MUTATIONS)
def test_any_text_gives_what_libyaml_gives(
    text: str, mutations: list[tuple[int, str, bool]]
) -> None:
    for position, inserted, replaces in mutations:
        position %= len(text) + 1
        text = text[:position] + inserted + text[position + replaces :]
    expected, outcome = by_libyaml(text), split(text)
    assert outcome == expected


@pytest.mark.parametrize("text", [LIST, INDENTED, MANY])
def test_a_list_is_never_read_whole(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = by_libyaml(text)
    monkeypatch.setattr(yaml_documents, "_read_all", None)
    assert split(text) == expected


def test_a_key_that_is_written_twice_in_an_item_has_its_line_in_the_file() -> None:
    text = LIST.replace("    name: a\n", "    name: a\n    name: b\n")
    ((_, duplicates),) = [each for each in split(text) if isinstance(each, tuple)]
    assert duplicates == (Duplicate("name", 6, 11),)


def test_an_anchor_reaches_into_other_items() -> None:
    text = "items:\n- a: &x {b: 1}\n- a: *x\nkind: List\n"
    assert split(text) == [(b'{"items":[{"a":{"b":1}},{"a":{"b":1}}],"kind":"List"}', ())]


def test_documents_before_an_error_are_given_first() -> None:
    outcome = split("a: 1\n---\nb: [\n")
    assert outcome[0] == (b'{"a":1}', ())
    assert isinstance(outcome[1], str)
