"""Default plugins, the file's, and multiPoint: who runs, in which order, and from where."""

from ksched_cli.config import load_configuration
from tests.config.known import FOREIGN, KNOWN, configured


def profile(plugins, registry=KNOWN):
    text = configured(f"profiles:\n- plugins: {plugins}\n")
    return load_configuration(text, "config.yaml", registry).profiles[0]


def names(found, point):
    return [ref.name for ref in found.plugins[point]]


def origins(found, point):
    return {ref.name: ref.origin for ref in found.plugins[point]}


def test_a_plugin_named_at_a_point_runs_first_with_its_own_weight():
    found = profile("{score: {enabled: [{name: ImageLocality, weight: 5}]}}")
    assert names(found, "score")[0] == "ImageLocality"
    assert found.weights["ImageLocality"] == 5
    assert origins(found, "score")["ImageLocality"] == "score"
    assert origins(found, "score")["NodeAffinity"] == "default"


def test_a_plugin_reconfigured_under_multi_point_keeps_its_place():
    found = profile("{multiPoint: {enabled: [{name: NodeAffinity, weight: 9}]}}")
    assert names(found, "score")[:2] == ["TaintToleration", "NodeAffinity"]
    assert found.weights["NodeAffinity"] == 9
    assert origins(found, "score")["NodeAffinity"] == "multiPoint"


def test_a_star_at_a_point_leaves_only_what_is_named_there():
    found = profile("{score: {disabled: [{name: '*'}], enabled: [{name: NodeAffinity}]}}")
    assert names(found, "score") == ["NodeAffinity"]


def test_a_star_under_multi_point_drops_the_defaults():
    found = profile(
        "{multiPoint: {disabled: [{name: '*'}], enabled: [{name: NodeName}]},"
        " queueSort: {enabled: [{name: PrioritySort}]}, bind: {enabled: [{name: DefaultBinder}]}}"
    )
    assert names(found, "filter") == ["NodeName"]
    assert names(found, "score") == []


def test_a_foreign_plugin_under_multi_point_runs_where_it_extends():
    found = profile("{multiPoint: {enabled: [{name: Packing, weight: 2}]}}", FOREIGN)
    assert names(found, "filter")[-1] == "Packing"
    assert found.weights["Packing"] == 2
    assert "Packing" not in names(found, "reserve")


def test_foreign_args_pass_as_plain_data():
    text = configured(
        "profiles:\n- plugins: {score: {enabled: [{name: Packing}]}}\n"
        "  pluginConfig: [{name: Packing, args: {deep: [1, {a: b}]}}]\n"
    )
    found = load_configuration(text, "config.yaml", FOREIGN).profiles[0]
    assert found.args["Packing"] == {"deep": [1, {"a": "b"}]}
