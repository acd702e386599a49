"""Block style read line by line means what libyaml reads in it, or is refused."""

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.kube.documents import read_documents
from ksched_cli.kube.yaml_blocks import UnsupportedYamlError, parse
from ksched_cli.kube.yaml_errors import YamlError

POD = """\
# from kubectl
apiVersion: v1
kind: Pod
metadata:
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: |
      {"apiVersion":"v1","kind":"Pod"}
    checksum: "1234"
    note: 'it''s: fine'
  creationTimestamp: "2026-01-01T00:00:00Z"
  managedFields:
  - fieldsV1:
      f:spec:
        f:ports:
          k:{"containerPort":80,"protocol":"TCP"}:
            .: {}
            f:name: {}
        'k:{"name":"a b"}':
          'v:"it"': {}
  name: web-0
  finalizers: []
spec:
  containers:
  - args:
    - --port=80
    - -v
    image: registry.k8s.io/pause:3.10
    resources:
      requests:
        cpu: 100m
        memory: 1Gi
    name: main

  nodeSelector: {}
  nodeName:
  priority: -5
  tolerations:
    - key: a
      operator: Exists
    - key: b
status:
  message: |-
    first

      second
  ready: true
"""

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8),
    st.sampled_from(
        ["y", "12", "1e3", "a: b", "a #b", "#", "- a", "a\nb", "a\n\n b\n", "é", "~", "0x1F", "{}"]
    ),
)
KEYS = st.one_of(
    st.sampled_from(
        ["name", "on", "f:x", "a.b/c", "1", "-", ".", 'k:{"n":1}', 'a:"', "a:}", "v:1,"]
    ),
    st.text(max_size=4),
)
DATA = st.dictionaries(
    KEYS,
    st.recursive(
        SCALARS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
        max_leaves=8,
    ),
    min_size=1,
    max_size=4,
)
MUTATIONS = st.lists(
    st.tuples(
        st.integers(0, 2000),
        st.sampled_from(
            [
                *"-:#'\" |>{}[]&*!%~?,\n\t",
                "",
                "- ",
                "  ",
                ": ",
                "\n  ",
                "<<: ",
                "---\n",
                "\n\n",
                "é",
            ]
        ),
        st.booleans(),
    ),
    min_size=1,
    max_size=4,
)


def mutated(text: str, mutations: list[tuple[int, str, bool]]) -> str:
    """The text with strings put in, or in place of a character."""
    for position, inserted, replaces in mutations:
        position %= len(text) + 1
        text = text[:position] + inserted + text[position + replaces :]
    return text


def holds(text: str) -> bool:
    """Whether the text is read line by line; that it then means what libyaml reads is checked."""
    try:
        data = parse(text)
    except UnsupportedYamlError:
        return False
    documents = [each for each in read_documents(text) if each.data is not None]
    assert [each.data for each in documents] == ([] if data is None else [data])
    assert repr([each.data for each in documents]) == repr([] if data is None else [data])
    assert not any(each.duplicates for each in documents)
    return True


@given(DATA, st.sampled_from([None, "|", '"']), st.booleans())
def test_data_that_is_written_as_yaml_is_read_as_by_libyaml(
    data: dict[str, Any], style: str | None, allow_unicode: bool
) -> None:
    text = yaml.safe_dump(
        data, default_style=style, allow_unicode=allow_unicode, default_flow_style=False
    )
    holds(text)


@given(MUTATIONS)
def test_a_slip_is_read_as_by_libyaml_or_refused(mutations: list[tuple[int, str, bool]]) -> None:
    try:
        holds(mutated(POD, mutations))
    except YamlError as error:
        pytest.fail(f"read line by line, but libyaml refuses it: {error}")


def test_an_object_as_kubectl_writes_it_is_read_line_by_line() -> None:
    assert holds(POD)


@pytest.mark.parametrize(
    "text",
    [
        "a: &x 1\nb: *x\n",
        "a: {b: 1}\n",
        "a: [1]\n",
        "a: 1\na: 2\n",
        "a: one\n  two\n",
        "a: 'one\n  two'\n",
        "a: >\n  folded\n",
        "a: |+\n  keep\n\n",
        "a: |\n  no newline at the end",
        "a: |\n  \ttab\n",
        "a: !!str 1\n",
        "a: 1 # comment\n",
        "y: 1\n",
        "<<: {a: 1}\n",
        "- - a\n",
        "-\n  a: 1\n",
        "a:\n   b: 1\n  c: 2\n",
        "a: .inf\n",
        "a: 1\t\n",
        "a: 1\r\n",
        "a\n",
        "? a\n: b\n",
        "a:\n" + "".join(f"{' ' * depth}a:\n" for depth in range(1, 200)),
    ],
)
def test_other_styles_are_refused(text: str) -> None:
    with pytest.raises(UnsupportedYamlError):
        parse(text)


@pytest.mark.parametrize("text", ["", "\n", "# nothing\n  # at all\n"])
def test_text_without_content_is_no_document(text: str) -> None:
    assert parse(text) is None


def test_collections_written_as_empty_are_not_shared() -> None:
    data = parse("a: {}\nb: {}\nc:\n- []\n- []\n")
    assert data["a"] is not data["b"]
    assert data["c"][0] is not data["c"][1]
