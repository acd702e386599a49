"""How old versions merged a file with their defaults."""

from ksched_cli.config.migration.old_versions import (
    OLD_VERSIONS,
    EnabledPlugins,
    enabled_names,
    old_effect,
)
from ksched_cli.config.types import Plugins, PluginSet, PluginSetEntry
from tests.config.registries import FOREIGN


def entries(*names: str) -> tuple[PluginSetEntry, ...]:
    return tuple(map(PluginSetEntry, names))


def effect_of(name: str, plugins: Plugins) -> EnabledPlugins:
    version = OLD_VERSIONS[name]
    return old_effect(version, plugins, version.plugins(FOREIGN))


HEAVY = Plugins(score=PluginSet((PluginSetEntry("NodeAffinity", 9),)))


def test_v1beta2_sets_a_default_plugin_anew() -> None:
    effect = effect_of("v1beta2", HEAVY)
    assert effect.weights["NodeAffinity"] == 9
    assert not effect.refusal


def test_v1beta1_refuses_a_default_plugin_that_is_not_disabled_before() -> None:
    effect = effect_of("v1beta1", HEAVY)
    assert effect.refusal == 'plugin "NodeAffinity" already registered as "ScorePlugin"'
    assert effect.weights["NodeAffinity"] == 9
    twice = Plugins(score=PluginSet(HEAVY.score.enabled, entries("NodeAffinity")))
    effect = effect_of("v1beta1", twice)
    assert (effect.refusal, effect.weights["NodeAffinity"]) == ("", 9)
    assert effect.plugins["score"][-1] == "NodeAffinity"


def test_all_defaults_of_a_point_are_switched_off_at_once() -> None:
    only = Plugins(filter=PluginSet(entries("Packing"), entries("*")))
    for name in OLD_VERSIONS:
        assert effect_of(name, only).plugins["filter"] == ("Packing",)


def test_v1beta3_alone_minds_multi_point() -> None:
    everywhere = Plugins(multi_point=PluginSet(entries("Packing"), entries("ImageLocality")))
    assert effect_of("v1beta2", everywhere) == effect_of("v1beta2", Plugins())
    effect = effect_of("v1beta3", everywhere)
    assert effect.runs("Packing", "filter")
    assert not effect.runs("ImageLocality", "score")


def test_a_plugin_that_is_not_there_is_a_refusal() -> None:
    missing = Plugins(filter=PluginSet(entries("Nowhere")))
    effect = effect_of("v1beta3", missing)
    assert effect.refusal == 'FilterPlugin "Nowhere" does not exist'
    assert not effect.runs("Nowhere", "filter")


def test_the_names_that_a_file_enables() -> None:
    plugins = Plugins(score=PluginSet(entries("A", "B", "A")), filter=PluginSet(entries("C")))
    assert enabled_names(plugins, ("score",)) == ("A", "B")
    assert enabled_names(None, ("score",)) == ()
