"""Which runs a sweep has, and what its result compares."""

from pathlib import Path

import pytest

from ksched_cli.errors import UsageError
from ksched_cli.sweep.plan import Variants
from tests.sweep.sweeps import STRATEGY, WEIGHT, plan

PATCHES = [
    {"path": STRATEGY, "values": ["LeastAllocated", "MostAllocated"]},
    {"path": WEIGHT, "name": "fit", "values": [1, 2]},
]


def test_a_product_has_every_combination_once(tmp_path: Path) -> None:
    sweep = plan(tmp_path, patches=PATCHES, changes=["cordon a", "cordon b"], seeds=3)
    runs = list(sweep.runs())
    assert len(runs) == len(sweep) == len({run.id for run in runs}) == 2 * 2 * 2 * 3
    assert sweep.parameters(runs[0]) == {
        "state": "cluster.json",
        "configuration": "default configuration",
        "changes": "cordon a",
        "plugins": [],
        "patches": {STRATEGY: "LeastAllocated", "fit": 1},
        "kubernetesVersion": "1.34",
        "seed": 0,
    }


def test_a_zip_goes_side_by_side_with_every_seed(tmp_path: Path) -> None:
    sweep = plan(tmp_path, patches=PATCHES, seeds=2, combine="zip")
    values = [tuple(sweep.parameters(run)["patches"].values()) for run in sweep.runs()]
    assert len(sweep) == 4
    assert values == [("LeastAllocated", 1)] * 2 + [("MostAllocated", 2)] * 2


def test_a_zip_of_axes_that_are_not_of_one_length_is_refused(tmp_path: Path) -> None:
    longer = [PATCHES[0], {"path": WEIGHT, "values": [1, 2, 3]}]
    with pytest.raises(UsageError, match=r"axes of one length; .* has 2, .* has 3"):
        plan(tmp_path, patches=longer, combine="zip")


def test_variants_are_named_by_what_varies_and_paired_by_the_rest(tmp_path: Path) -> None:
    sweep = plan(tmp_path, patches=PATCHES, changes=["cordon a", "cordon b"], seeds=2)
    variants = Variants.of(sweep)
    parameters = [sweep.parameters(run) for run in sweep.runs()]
    names = dict.fromkeys(map(variants.name_of, parameters))
    assert list(names)[:2] == [
        "NodeResourcesFit.type=LeastAllocated, fit=1",
        "NodeResourcesFit.type=LeastAllocated, fit=2",
    ]
    assert variants.pair_of(parameters[0]) == ("cluster.json", "cordon a", 0)


def test_changes_are_compared_where_nothing_else_varies(tmp_path: Path) -> None:
    sweep = plan(tmp_path, changes=[{"name": "none"}, "cordon a"])
    variants = Variants.of(sweep)
    names = [variants.name_of(sweep.parameters(run)) for run in sweep.runs()]
    assert names == ["none", "cordon a"]
    assert variants.paired == ("state", "seed")


def test_versions_and_plugins_are_variants_too(tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text(
        "from ksched_cli.api import FilterPlugin, SUCCESS\n"
        "class P(FilterPlugin):\n"
        "    name = 'P'\n"
        "    def filter(self, state, pod, node):\n"
        "        return SUCCESS\n"
    )
    sweep = plan(tmp_path, kubernetesVersions=["1.34", "1.36"], plugins=[[], "p.py"])
    variants = Variants.of(sweep)
    names = [variants.name_of(sweep.parameters(run)) for run in sweep.runs()]
    assert names[0] == "no plugins, Kubernetes 1.34"
    assert names[3] == f"{tmp_path}/p.py, Kubernetes 1.36"


def test_patches_whose_short_names_are_the_same_have_their_whole_path(tmp_path: Path) -> None:
    other = "profiles[0].plugins.score.enabled[NodeResourcesFit].weight"
    patches = [{"path": path, "values": [1, 2]} for path in (WEIGHT, other)]
    labels = Variants.of(plan(tmp_path, patches=patches)).labels
    assert set(labels.values()) == {WEIGHT, other}
