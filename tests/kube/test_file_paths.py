"""Files, folders and globs of a command line."""

from pathlib import Path

import pytest

from ksched_cli.errors import InputError, UsageError
from ksched_cli.kube.file_paths import check_standard_input, expand_paths, split_reference


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("b.yaml", "a.json", "notes.txt", "sub/c.YML", ".git/d.yaml", ".e.yaml"):
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


@pytest.mark.parametrize(
    ("reference", "parts"),
    [
        ("b.yaml", ("b.yaml", None)),
        ("b.yaml#a", ("b.yaml", "a")),
        ("b.yaml#a#b/c", ("b.yaml", "a#b/c")),
        ("b.yaml#", ("b.yaml", "")),
        ("none.yaml#a", ("none.yaml#a", None)),
        ("x#y", ("x#y", None)),
        ("x#y#z", ("x#y", "z")),
        ("-", ("-", None)),
        ("-#a", ("-", "a")),
    ],
)
def test_a_reference_is_a_file_and_a_name(
    folder: Path, reference: str, parts: tuple[str, str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    (folder / "x#y").write_text("")
    assert split_reference(reference) == parts


def test_a_name_after_a_file_is_no_glob(folder: Path) -> None:
    assert names(folder / "b.yaml#a[0].b*") == [("b.yaml#a[0].b*", True)]


def test_only_one_option_is_standard_input() -> None:
    check_standard_input({"--a": ["-", "b", "-"], "--b": ["c"], "--c": [None], "--d": None})
    with pytest.raises(UsageError, match=r"^only one of --a and --b can be standard input$"):
        check_standard_input({"--a": ["-"], "--b": ["c", "-#d"]})
