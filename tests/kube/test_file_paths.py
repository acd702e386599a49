"""Files, folders and globs of a command line."""

from pathlib import Path

import pytest

from ksched_cli.errors import InputError
from ksched_cli.kube.file_paths import expand_paths


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("b.yaml", "a.json", "notes.txt", "sub/c.YML", ".git/d.yaml"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("")
    return tmp_path


def names(*paths: object) -> list[tuple[str, bool]]:
    return [(Path(path).name, named) for path, named in expand_paths(map(str, paths))]


def test_a_folder_has_the_manifests_below_it(folder: Path) -> None:
    assert names(folder) == [("a.json", False), ("b.yaml", False), ("c.YML", False)]


def test_a_file_and_a_glob_are_named(folder: Path) -> None:
    assert names(folder / "notes.txt", folder / "*.yaml") == [("notes.txt", True), ("b.yaml", True)]


def test_each_file_comes_once(folder: Path) -> None:
    assert names(folder / "b.yaml", folder, folder / "b.yaml")[0] == ("b.yaml", True)
    assert len(names(folder / "b.yaml", folder, folder / "b.yaml")) == 3


def test_standard_input_and_missing_files_are_left_to_the_reader(folder: Path) -> None:
    assert names("-", folder / "none.yaml") == [("-", True), ("none.yaml", True)]


def test_a_glob_without_a_file_is_an_error(folder: Path) -> None:
    with pytest.raises(InputError, match="no file matches"):
        names(folder / "*.toml")
