"""What a file of kind Sweep says."""

from pathlib import Path
from typing import Any

import pytest

from ksched_cli.errors import InputError
from ksched_cli.sweep.sweep_file import UNCHANGED, read_sweep
from tests.sweep.sweeps import sweep_file, write_sweep


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    states = ["a.json", {"name": "both", "files": ["a.json", "b.json"]}]
    file = sweep_file(tmp_path, states=states, configurations=["x.yaml", {"name": "default"}])
    assert [state.name for state in file.states] == ["a.json", "both"]
    assert file.states[1].paths == (str(tmp_path / "a.json"), str(tmp_path / "b.json"))
    assert file.configurations[0].paths == (str(tmp_path / "x.yaml"),)
    assert file.configurations[1].paths == ()


def test_what_the_file_leaves_out_is_one_value_each(tmp_path: Path) -> None:
    file = sweep_file(tmp_path)
    assert file.change_sets == (UNCHANGED,)
    assert (file.patches, file.minors, file.plugin_sets) == ((), ("",), ((),))
    assert file.seeds == (None,)
    assert not file.is_zipped


def test_seeds_are_a_number_or_a_list(tmp_path: Path) -> None:
    assert sweep_file(tmp_path, seeds=3).seeds == (0, 1, 2)
    assert sweep_file(tmp_path, seeds=[7, 9]).seeds == (7, 9)


def test_changes_are_lines_lists_and_scenarios(tmp_path: Path) -> None:
    (tmp_path / "night.yaml").write_text(
        "apiVersion: ksched/v1\nkind: Scenario\nchanges: [cordon a, cordon b]\n"
    )
    changes = [
        {"name": "nothing"},
        "drain a",
        {"name": "two", "changes": ["cordon a", "drain b"]},
        {"name": "night", "scenario": "night.yaml"},
    ]
    file = sweep_file(tmp_path, changes=changes)
    texts = {item.name: [change.text for change in item.changes] for item in file.change_sets}
    assert texts == {
        "nothing": [],
        "drain a": ["drain a"],
        "two": ["cordon a", "drain b"],
        "night": ["cordon a", "cordon b"],
    }


def test_plugins_that_are_files_are_relative_to_the_file_too(tmp_path: Path) -> None:
    plugins: list[Any] = [[], "p.py:P", ["q.py", "package.module:Q"]]
    file = sweep_file(tmp_path, plugins=plugins)
    assert file.plugin_sets == (
        (),
        (f"{tmp_path}/p.py:P",),
        (f"{tmp_path}/q.py", "package.module:Q"),
    )


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"states": ["a.json", "a.json"]}, '"a.json" is there twice'),
        ({"patches": [{"path": "a b", "values": [1]}]}, "patches.0.path"),
        ({"changes": [{"name": "x", "scenario": "y", "changes": []}]}, "expected one of them"),
        ({"changes": ["dran a"]}, "did you mean drain"),
        ({"seed": 3}, "'seed' was unexpected"),
        ({"seeds": 0}, "seeds"),
        ({"metrics": {"pending": "less"}}, "metrics.pending"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(
    fields: dict[str, Any], problem: str, tmp_path: Path
) -> None:
    path = write_sweep(tmp_path, **fields)
    with pytest.raises(InputError, match=rf"sweep\.yaml:1:\d+: .*{problem}"):
        read_sweep(str(path))


def test_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="kind: Sweep"):
        read_sweep(str(write_sweep(tmp_path, kind="Tune")))
