"""What differs once two configurations take effect."""

from typing import Any

import pytest

from ksched_cli.config.differences import differences
from ksched_cli.config.load import load_configuration
from tests.config.registries import FOREIGN, configured

FIT = "{name: NodeResourcesFit, args: {scoringStrategy: {type: %s}}}"


def diff(before: str, after: str) -> list[tuple[str, str, Any, Any]]:
    first, second = (load_configuration(configured(body), "c", FOREIGN) for body in (before, after))
    changes = differences(first, second, FOREIGN)
    return [(item.profile, item.path, item.before, item.after) for item in changes]


def profile(plugins: str = "", args: str = "", name: str = "default-scheduler") -> str:
    return f"{{schedulerName: {name}, plugins: {{{plugins}}}, pluginConfig: [{args}]}}"


def profiles(*items: str) -> str:
    return f"profiles: [{', '.join(items)}]\n"


@pytest.mark.parametrize(
    "body",
    [
        "parallelism: 16\n",
        "profiles: [{schedulerName: default-scheduler}]\n",
        profiles(profile("score: {enabled: [{name: NodeAffinity, weight: 2}]}")),
        profiles(profile(args=FIT % "LeastAllocated")),
        profiles(profile("multiPoint: {enabled: [{name: NodePorts}]}")),
    ],
    ids=["a default value", "the default profile", "a weight", "default args", "multiPoint"],
)  # fmt: skip
def test_what_is_so_by_default_does_not_differ(body: str) -> None:
    assert diff("", body) == []


@pytest.mark.parametrize(
    ("plugins", "path", "before", "after"),
    [
        ("score: {enabled: [{name: NodeAffinity, weight: 9}]}", "plugins.score.NodeAffinity", 2, 9),
        ("score: {disabled: [{name: ImageLocality}]}", "plugins.score.ImageLocality", 1, None),
        ("filter: {disabled: [{name: NodePorts}]}", "plugins.filter.NodePorts", True, None),
    ],
)
def test_plugins_differ_by_point_and_weight(
    plugins: str, path: str, before: int | None, after: int | None
) -> None:
    assert diff("", profiles(profile(plugins))) == [("default-scheduler", path, before, after)]
    assert diff(profiles(profile(plugins)), "") == [("default-scheduler", path, after, before)]


def test_the_order_of_plugins_counts_where_it_has_an_effect() -> None:
    plugins = "filter: {enabled: [{name: VolumeZone}]}, score: {enabled: [{name: ImageLocality}]}"
    (change,) = diff("", profiles(profile(plugins)))
    assert change[1] == "plugins.filter.order"
    assert change[3][0] == "VolumeZone"
    assert sorted(change[2]) == sorted(change[3])


def test_args_differ_by_their_path() -> None:
    fit = (
        "{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated, resources: [%s]}}}"
    )
    cpu = "{name: cpu, weight: %s}, {name: memory, weight: 1}"
    before, after = (profiles(profile(args=fit % (cpu % weight))) for weight in (1, 5))
    path = "args.NodeResourcesFit.scoringStrategy"
    assert diff(before, after) == [("default-scheduler", f"{path}.resources.cpu", 1, 5)]
    assert diff("", before) == [
        ("default-scheduler", f"{path}.type", "LeastAllocated", "MostAllocated")
    ]


def test_args_of_a_plugin_that_one_side_does_not_run_differ_where_they_are_no_default() -> None:
    off = "multiPoint: {disabled: [{name: NodeResourcesFit}]}"
    packs, packs_off = (profiles(profile(item, FIT % "MostAllocated")) for item in ("", off))
    path = "args.NodeResourcesFit.scoringStrategy.type"
    args = [change for change in diff(packs, packs_off) if change[1].startswith("args")]
    assert args == [("default-scheduler", path, "MostAllocated", None)]
    assert not [change for change in diff("", packs_off) if change[1].startswith("args")]


def test_the_fields_of_foreign_args_are_shown_where_one_side_does_not_run_the_plugin() -> None:
    runs = profiles(
        profile("filter: {enabled: [{name: Packing}]}", "{name: Packing, args: {a: 1, b: {c: 2}}}")
    )
    args = [change[1:] for change in diff("", runs) if change[1].startswith("args")]
    assert args == [("args.Packing.a", None, 1), ("args.Packing.b", None, {"c": 2})]


def test_a_profile_that_one_side_lacks() -> None:
    both = profiles(profile(), profile(name="night"))
    assert diff(profiles(profile()), both) == [("night", "profile", "absent", "present")]
    assert diff(both, profiles(profile())) == [("night", "profile", "present", "absent")]


def test_what_is_of_all_profiles() -> None:
    extenders = "extenders: [{urlPrefix: 'http://a', filterVerb: f, httpTimeout: 5s}]\n"
    slower = extenders.replace("5s", "9s")
    assert diff(extenders, slower) == [("", "extenders[0].httpTimeout", "5s", "9s")]
    assert diff("", "leaderElection: {leaderElect: false}\n") == [
        ("", "leaderElection.leaderElect", True, False)
    ]


def test_a_percentage_takes_effect_in_each_profile() -> None:
    (change,) = diff("", "percentageOfNodesToScore: 50\n")
    assert change == ("default-scheduler", "percentageOfNodesToScore", 0, 50)
    own = "profiles: [{schedulerName: default-scheduler, percentageOfNodesToScore: 50}]\n"
    assert diff("percentageOfNodesToScore: 50\n", own) == []
