"""What a file of kind Tune says."""

from pathlib import Path
from typing import Any

import pytest

from ksched_cli.errors import InputError
from ksched_cli.run.run import Run
from ksched_cli.sweep.plan import StudyPlan
from ksched_cli.sweep.tune_file import TuneFile, read_tune
from tests.sweep.sweeps import BASE, STRATEGY, WEIGHT, write_sweep

SPACE = [
    {"path": STRATEGY, "name": "strategy", "values": ["LeastAllocated", "MostAllocated"]},
    {"path": WEIGHT, "name": "weight", "between": [1, 20]},
]
OBJECTIVES = [{"metric": "nodesUsed", "goal": "minimize"}]


def tune_file(folder: Path, **fields: Any) -> TuneFile:
    fields = {"space": SPACE, "objectives": OBJECTIVES, "seeds": 3} | fields
    return read_tune(str(write_sweep(folder, "Tune", **fields)), BASE)


def seeds_of(plan: StudyPlan) -> list[int | None]:
    return [run.seed for run in plan.runs()]


@pytest.mark.parametrize(
    ("fields", "seeds"),
    [
        ({}, [3, 4, 5]),
        ({"seeds": [7, 2]}, [8, 9]),
        ({"heldOut": {"seeds": 1}}, [3]),
        ({"heldOut": {"seeds": [1, 2]}}, [1, 2]),
        ({"seeds": None, "heldOut": {"seeds": 2}}, [0, 1]),
    ],
)
def test_as_many_other_seeds_are_held_out(
    fields: dict[str, Any], seeds: list[int], tmp_path: Path
) -> None:
    given = {key: value for key, value in {"seeds": 3, **fields}.items() if value is not None}
    document = {"space": SPACE, "objectives": OBJECTIVES, **given}
    file = read_tune(str(write_sweep(tmp_path, "Tune", **document)), BASE)
    assert seeds_of(file.held_out) == seeds


def test_states_and_timelines_can_be_held_out(tmp_path: Path) -> None:
    file = tune_file(tmp_path, seeds=[1], heldOut={"states": "other.json"})
    assert [run.states for run in file.held_out.runs()] == [(f"{tmp_path}/other.json",)]
    held_out = {"timelines": ["friday.json"], "seeds": [1]}
    file = tune_file(tmp_path, timelines=["monday.json"], heldOut=held_out)
    assert [run.timeline for run in file.plan.runs()] == [f"{tmp_path}/monday.json"] * 3
    assert [run.timeline for run in file.held_out.runs()] == [f"{tmp_path}/friday.json"]


def test_all_runs_are_as_the_file_says(tmp_path: Path) -> None:
    fields = {"configuration": "c.yaml", "kubernetesVersion": "1.36", "noRetries": True}
    file = tune_file(tmp_path, seeds=[1], autoscalers=["none", "g.yaml"], timelines=["t.json"],
                     **fields)  # fmt: skip
    runs = list(file.plan.runs())
    assert [run.autoscaler for run in runs] == ["", f"{tmp_path}/g.yaml"]
    expected = Run(
        states=(f"{tmp_path}/cluster.json",),
        configuration=f"{tmp_path}/c.yaml",
        kubernetes_version="1.36",
        retries=False,
        timeline=f"{tmp_path}/t.json",
        tie_break="random",
        seed=1,
    )
    assert runs[0] == expected
    bounds = [[patch.value for patch in run.patches] for run in file.bounds.runs()]
    assert len(bounds) == 8, "the ends of each dimension"
    assert bounds[0] == ["LeastAllocated", 1]


def test_dimensions_are_values_or_numbers_between_two(tmp_path: Path) -> None:
    space = [*SPACE, {"path": "x", "between": [0.5, 2], "log": True}]
    strategy, weight, share = tune_file(tmp_path, space=space).dimensions
    assert strategy.values == ("LeastAllocated", "MostAllocated")
    assert (weight.low, weight.high, weight.is_whole) == (1, 20, True)
    assert (share.name, share.is_whole, share.is_log) == ("x", False, True)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"space": [{"path": WEIGHT}]}, "space.0"),
        ({"space": [{"path": WEIGHT, "between": [3, 1]}]}, r"expected \[least, most\]"),
        ({"space": [{"path": WEIGHT, "between": [0, 1], "log": True}]}, "above 0 with log"),
        ({"space": [*SPACE, SPACE[0]]}, '"strategy" appears twice'),
        ({"objectives": [{"metric": "pending", "goal": "less"}]}, r"objectives\[0\]\.goal"),
        ({"heldOut": {"timelines": ["t"]}}, "heldOut.timelines: requires"),
        ({"until": "6h"}, "until: requires `timelines`"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(
    fields: dict[str, Any], problem: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=rf"tune\.yaml:1:\d+: .*{problem}"):
        tune_file(tmp_path, **fields)


def test_something_must_be_held_out(tmp_path: Path) -> None:
    path = write_sweep(tmp_path, "Tune", space=SPACE, objectives=OBJECTIVES)
    with pytest.raises(InputError, match="nothing is held out to judge the result by"):
        read_tune(str(path), BASE)
