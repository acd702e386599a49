"""Which runs a sweep has, and what its result compares."""

from pathlib import Path
from typing import Any

import pytest

from ksched_cli.errors import UsageError
from ksched_cli.run.run import Run
from ksched_cli.sweep.plan import StudyPlan
from tests.sweep.sweeps import BASE, STRATEGY, WEIGHT, sweep_file

PATCHES = [
    {"path": STRATEGY, "values": ["LeastAllocated", "MostAllocated"]},
    {"path": WEIGHT, "name": "fit", "values": [1, 2]},
]


def plan(folder: Path, base: Run = BASE, **fields: Any) -> StudyPlan:
    return sweep_file(folder, base, **fields).plan


def names(folder: Path, base: Run = BASE, **fields: Any) -> list[str]:
    """Each run's variant, in the order of the runs."""
    sweep = plan(folder, base, **fields)
    return [sweep.variant(indexes) for indexes in sweep.indexes()]


def test_a_product_has_every_combination_once(tmp_path: Path) -> None:
    sweep = plan(tmp_path, patches=PATCHES, changes=["cordon a", "cordon b"], seeds=3)
    runs = list(sweep.runs())
    assert len(runs) == len(sweep) == len(set(map(repr, runs))) == 2 * 2 * 2 * 3
    assert sweep.parameters(sweep.at(0)) == {
        "state": "cluster.json",
        "timeline": None,
        "configuration": "default configuration",
        "changes": "cordon a",
        "plugins": [],
        "patches": {STRATEGY: "LeastAllocated", "fit": 1},
        "kubernetesVersion": "1.34",
        "autoscaler": None,
        "prices": None,
        "seed": 0,
    }


def test_a_run_has_the_fields_of_its_values_over_those_of_the_base(tmp_path: Path) -> None:
    base = Run(kubernetes_version="1.34", plugins=("p.py",), preemption=False)
    sweep = plan(tmp_path, base, plugins=["q.py"], kubernetesVersions=["1.36"], seeds=[7])
    (run,) = sweep.runs()
    assert run == Run(
        states=(f"{tmp_path}/cluster.json",),
        plugins=("p.py", f"{tmp_path}/q.py"),
        kubernetes_version="1.36",
        preemption=False,
        tie_break="random",
        seed=7,
    )


def test_a_zip_goes_side_by_side_with_every_seed(tmp_path: Path) -> None:
    sweep = plan(tmp_path, patches=PATCHES, seeds=2, combine="zip")
    values = [tuple(sweep.parameters(each)["patches"].values()) for each in sweep.indexes()]
    assert len(sweep) == 4
    assert values == [("LeastAllocated", 1)] * 2 + [("MostAllocated", 2)] * 2


def test_a_zip_of_axes_that_are_not_of_one_length_is_refused(tmp_path: Path) -> None:
    longer = [PATCHES[0], {"path": WEIGHT, "values": [1, 2, 3]}]
    with pytest.raises(UsageError, match=r"axes of equal length; .* has 2, .* has 3"):
        plan(tmp_path, patches=longer, combine="zip")


def test_variants_are_named_by_what_varies_and_paired_by_the_rest(tmp_path: Path) -> None:
    sweep = plan(tmp_path, patches=PATCHES, changes=["cordon a", "cordon b"], seeds=2)
    assert sweep.variants == [
        f"NodeResourcesFit.type={strategy}, fit={weight}"
        for strategy in ("LeastAllocated", "MostAllocated")
        for weight in (1, 2)
    ]
    pairs = {sweep.pair(indexes) for indexes in sweep.indexes()}
    assert len(pairs) == 4, "changes and seeds"


def test_changes_are_compared_where_nothing_else_varies(tmp_path: Path) -> None:
    changes = ["none", "cordon a"]
    assert names(tmp_path, changes=changes) == ["none", "cordon a"]
    sweep = plan(tmp_path, changes=changes, seeds=2)
    assert len({sweep.pair(indexes) for indexes in sweep.indexes()}) == 2, "seeds"


@pytest.mark.parametrize(
    ("fields", "variants"),
    [
        ({}, ["default configuration"]),
        ({"plugins": ["p.py"]}, ["default with p.py"]),
        ({"plugins": [[], "p.py"]}, ["default configuration", "default with p.py"]),
        (
            {"plugins": [[], "p.py"], "configurations": [{"name": "own"}]},
            ["without plugins", "with p.py"],
        ),
        (
            {"plugins": [[], "p.py"], "configurations": [{"name": "own"}, "sub/c.yaml"]},
            ["own, without plugins", "c.yaml, without plugins", "own, with p.py",
             "c.yaml, with p.py"],
        ),
        (
            {"plugins": [[], "p.py"], "kubernetesVersions": ["1.34", "1.36"]},
            ["Kubernetes 1.34, default configuration", "Kubernetes 1.36, default configuration",
             "Kubernetes 1.34, default with p.py", "Kubernetes 1.36, default with p.py"],
        ),
        (
            {"timelines": ["t.yaml"], "autoscalers": ["none", {"name": "cheap", "file": "g.yaml"}]},
            ["without autoscaler", "with cheap"],
        ),
        ({"noPreemption": [False, True]}, ["with preemption", "without preemption"]),
        ({"featureGates": ["", "A=true"]}, ["default feature gates", "A=true"]),
        (
            {"minCompatibilityVersion": ["", "1.37"]},
            ["default compatibility version", "compatible with 1.37"],
        ),
        ({"configurations": [{"name": "a name that is longer than those of sides are"}, "c.yaml"]},
         ["a name that is longer than those of sides are", "c.yaml"]),
    ],
)  # fmt: skip
def test_variants_are_named_as_sides_of_a_comparison(
    fields: dict[str, Any], variants: list[str], tmp_path: Path
) -> None:
    assert names(tmp_path, **fields) == variants


def test_a_plugin_of_the_options_is_named(tmp_path: Path) -> None:
    assert names(tmp_path, Run(plugins=("x/p.py",))) == ["default with p.py"]


def test_patches_whose_short_names_are_the_same_have_their_whole_path(tmp_path: Path) -> None:
    other = "profiles[0].plugins.score.enabled[NodeResourcesFit].weight"
    patches = [{"path": path, "values": [1, 2]} for path in (WEIGHT, other)]
    assert names(tmp_path, patches=patches)[0] == f"{WEIGHT}=1, {other}=1"


def test_a_patch_with_a_single_value_is_in_rows_and_in_no_name(tmp_path: Path) -> None:
    sweep = plan(tmp_path, patches=[{"path": WEIGHT, "name": "fit", "values": [2]}])
    assert sweep.parameters(sweep.at(0))["patches"] == {"fit": 2}
    assert sweep.variants == ["default configuration"]


def test_a_patch_with_the_name_of_another_axis_is_a_patch(tmp_path: Path) -> None:
    patches = [{"path": WEIGHT, "name": name, "values": [1, 2]} for name in ("seeds", "states")]
    sweep = plan(tmp_path, patches=patches, seeds=2)
    assert (len(sweep), len(sweep.variants)) == (8, 4)
