"""What a file of kind Tune says."""

from pathlib import Path
from typing import Any

import pytest

from ksched_cli.errors import InputError
from ksched_cli.sweep.tune_file import TuneFile, read_tune
from tests.sweep.sweeps import STRATEGY, WEIGHT, write_sweep

SPACE = [
    {"path": STRATEGY, "name": "strategy", "values": ["LeastAllocated", "MostAllocated"]},
    {"path": WEIGHT, "name": "weight", "between": [1, 20]},
]
OBJECTIVES = [{"metric": "nodesUsed", "goal": "minimize"}]


def tune_file(folder: Path, **fields: Any) -> TuneFile:
    fields = {"space": SPACE, "objectives": OBJECTIVES, "seeds": 3} | fields
    return read_tune(str(write_sweep(folder, "Tune", **fields)))


def test_as_many_other_seeds_are_held_out(tmp_path: Path) -> None:
    assert tune_file(tmp_path).held_out_seeds == (3, 4, 5)
    assert tune_file(tmp_path, seeds=[7, 2]).held_out_seeds == (8, 9)
    assert tune_file(tmp_path, heldOut={"seeds": 1}).held_out_seeds == (3,)
    assert tune_file(tmp_path, heldOut={"seeds": [1, 2]}).held_out_seeds == (1, 2)


def test_pods_are_tried_again_unless_told_otherwise(tmp_path: Path) -> None:
    assert tune_file(tmp_path).retries
    assert not tune_file(tmp_path, noRetries=True).retries


def test_states_can_be_held_out(tmp_path: Path) -> None:
    file = tune_file(tmp_path, seeds=[1], heldOut={"states": "other.json"})
    assert [state.paths for state in file.held_out_states] == [(str(tmp_path / "other.json"),)]


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
        ({"space": [{"path": WEIGHT, "between": [3, 1]}]}, "expected the least and the most"),
        ({"space": [{"path": WEIGHT, "between": [0, 1], "log": True}]}, "above 0 with log"),
        ({"space": [*SPACE, SPACE[0]]}, '"strategy" is there twice'),
        ({"objectives": [{"metric": "pending", "goal": "less"}]}, "objectives.0.goal"),
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
        read_tune(str(path))
