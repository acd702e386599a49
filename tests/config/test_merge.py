"""Default plugins, the file's, and multiPoint: who runs, in which order, and from where."""

from ksched_cli.config import load_configuration
from ksched_cli.config.effective import Profile
from ksched_cli.framework.registry import Registry
from tests.config.registries import FOREIGN, REGISTRY, configured


def profile(plugins: str, registry: Registry = REGISTRY) -> Profile:
    text = configured(f"profiles:\n- plugins: {plugins}\n")
    return load_configuration(text, "config.yaml", registry).profiles[0]


def names(effective: Profile, point: str) -> list[str]:
    return [ref.name for ref in effective.plugins[point]]


def origins(effective: Profile, point: str) -> dict[str, str]:
    return {ref.name: ref.origin for ref in effective.plugins[point]}


def test_a_plugin_named_at_a_point_runs_first_with_its_own_weight() -> None:
    effective = profile("{score: {enabled: [{name: ImageLocality, weight: 5}]}}")
    assert names(effective, "score")[0] == "ImageLocality"
    assert effective.weights["ImageLocality"] == 5
    assert origins(effective, "score")["ImageLocality"] == "score"
    assert origins(effective, "score")["NodeAffinity"] == "default"


def test_a_plugin_reconfigured_under_multi_point_keeps_its_place() -> None:
    effective = profile("{multiPoint: {enabled: [{name: NodeAffinity, weight: 9}]}}")
    assert names(effective, "score")[:2] == ["TaintToleration", "NodeAffinity"]
    assert effective.weights["NodeAffinity"] == 9
    assert origins(effective, "score")["NodeAffinity"] == "multiPoint"


def test_a_star_at_a_point_leaves_only_what_is_named_there() -> None:
    effective = profile("{score: {disabled: [{name: '*'}], enabled: [{name: NodeAffinity}]}}")
    assert names(effective, "score") == ["NodeAffinity"]


def test_a_star_under_multi_point_drops_the_defaults() -> None:
    effective = profile(
        "{multiPoint: {disabled: [{name: '*'}], enabled: [{name: NodeName}]},"
        " queueSort: {enabled: [{name: PrioritySort}]}, bind: {enabled: [{name: DefaultBinder}]}}"
    )
    assert names(effective, "filter") == ["NodeName"]
    assert names(effective, "score") == []


def test_a_foreign_plugin_under_multi_point_runs_where_it_extends() -> None:
    effective = profile("{multiPoint: {enabled: [{name: Packing, weight: 2}]}}", FOREIGN)
    assert names(effective, "filter")[-1] == "Packing"
    assert effective.weights["Packing"] == 2
    assert "Packing" not in names(effective, "reserve")


def test_foreign_args_pass_as_plain_data() -> None:
    text = configured(
        "profiles:\n- plugins: {score: {enabled: [{name: Packing}]}}\n"
        "  pluginConfig: [{name: Packing, args: {deep: [1, {a: b}]}}]\n"
    )
    effective = load_configuration(text, "config.yaml", FOREIGN).profiles[0]
    assert effective.args["Packing"] == {"deep": [1, {"a": "b"}]}
