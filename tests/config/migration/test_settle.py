"""A document is edited until it takes effect as expected."""

from ksched_cli.config.migration.old_versions import OLD_VERSIONS, Expected, expected_of, old_effect
from ksched_cli.config.migration.settle import list_at, settle
from ksched_cli.kube.document_edits import EditableDocument
from tests.config.registries import REGISTRY, configured

V1BETA2 = OLD_VERSIONS["v1beta2"]
V1BETA3 = OLD_VERSIONS["v1beta3"]


def expected(version: str) -> Expected:
    chosen = {"v1beta2": V1BETA2, "v1beta3": V1BETA3}[version]
    return expected_of(old_effect(chosen, None, chosen.plugins(REGISTRY)), chosen, REGISTRY)


def test_weights_that_differ_are_written_out() -> None:
    document = EditableDocument(configured("profiles: [{schedulerName: a}]\n"))
    judgement, remaining, weights = settle(document, [expected("v1beta2")], REGISTRY)
    assert judgement.verdict.accepts
    assert remaining == []
    assert weights == {0: {"InterPodAffinity": 1, "NodeAffinity": 1, "TaintToleration": 1}}


def test_what_is_as_expected_stays() -> None:
    text = configured("profiles: [{schedulerName: a}]\n")
    document = EditableDocument(text)
    assert settle(document, [expected("v1beta3")], REGISTRY)[1:] == ([], {})
    assert document.text == text


def test_what_is_off_is_switched_on_and_the_other_way_round() -> None:
    off = "multiPoint: {disabled: [{name: NodePorts}]}, bind: {disabled: [{name: NodeName}]}"
    document = EditableDocument(
        configured(f"profiles:\n- plugins: {{{off}, postBind: {{}}, permit: }}\n")
    )
    _, remaining, _ = settle(document, [expected("v1beta3")], REGISTRY)
    assert remaining == []
    plugins = document.get(("profiles", 0, "plugins"))
    assert plugins["filter"] == {"enabled": [{"name": "NodePorts"}]}


def test_a_weight_is_set_where_the_plugin_stands() -> None:
    body = "profiles:\n- plugins:\n    score:\n      enabled:\n      - name: NodeAffinity\n"
    document = EditableDocument(configured(body))
    settle(document, [expected("v1beta3")], REGISTRY)
    entries = document.get(("profiles", 0, "plugins", "score", "enabled"))
    assert entries == [{"name": "NodeAffinity", "weight": 2}]


def test_an_order_that_differs_is_told_of() -> None:
    wants = expected("v1beta3")
    reversed_order = Expected(
        {**wants.running, "preBind": ("DynamicResources", "VolumeBinding")},
        wants.absent,
        wants.weights,
    )
    document = EditableDocument(configured("profiles: [{schedulerName: a}]\n"))
    _, remaining, _ = settle(document, [reversed_order], REGISTRY)
    (difference,) = remaining
    assert difference.actual == ["VolumeBinding", "DynamicResources"]


def test_a_document_that_cannot_start_is_left_as_it_is() -> None:
    text = configured("profiles:\n- plugins: {queueSort: {disabled: [{name: PrioritySort}]}}\n")
    document = EditableDocument(text)
    judgement, _, _ = settle(document, [expected("v1beta3")], REGISTRY)
    assert not judgement.verdict.accepts
    assert document.text == text


def test_what_is_no_list_has_no_items() -> None:
    document = EditableDocument("a: [1]\nb: {c: 1}\n")
    assert [list_at(document, (key,)) for key in "abc"] == [[1], [], []]
