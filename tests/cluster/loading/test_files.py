"""States are found and read wherever they lie: plain, gzipped, in folders, in standard input."""

from __future__ import annotations

import gzip
from io import BytesIO
from pathlib import Path

import pytest

from ksched_cli.cluster.loading.load import (
    DEFAULT_FILES,
    StateFiles,
    default_state_path,
    load_state,
)
from ksched_cli.cluster.loading.sources import Source
from ksched_cli.cluster.state import ClusterState
from ksched_cli.errors import InputError, UsageError
from ksched_cli.kube.streams import STDIN_NAME

NODE = '{"kind": "Node", "metadata": {"name": "%s"}, "status": {"capacity": {"cpu": "1"}}}'
POD = '{"kind": "Pod", "metadata": {"name": "%s"}}'


def names(state: ClusterState) -> list[str]:
    return [node.name for node in state.nodes]


def write(folder: Path, **contents: str) -> str:
    """Files of these names, with __ for slashes and _ for dots; the folder's path."""
    for name, content in contents.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return str(folder)


def test_files_and_standard_input_are_read_in_the_order_of_the_paths(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("{}")
    sources = list(StateFiles(["-", str(path)], BytesIO(b"kind: Node")).sources())
    assert sources == [Source(STDIN_NAME, b"kind: Node"), Source(str(path), b"{}")]


def test_a_folder_is_read_with_its_sub_folders_in_order_of_name(tmp_path: Path) -> None:
    contents = {
        "b_json": NODE % "b",
        "a_yml": NODE % "a",
        "kube-system__nodes": NODE % "d",
        "core__nodes__c_yaml": NODE % "c",
        "_hidden__z_json": NODE % "z",
        "_z_json": NODE % "z",
    }
    state = load_state([write(tmp_path, **contents, pods_json=POD % "p")])
    assert names(state) == ["a", "b", "c", "d"]
    assert state.warnings == ()


def test_links_to_folders_are_followed_once(tmp_path: Path) -> None:
    write(tmp_path, real__a_json=NODE % "a", state__pod_json=POD % "p")
    (tmp_path / "state" / "nodes").symlink_to(tmp_path / "real")
    (tmp_path / "state" / "again").symlink_to(tmp_path / "state")
    assert names(load_state([str(tmp_path / "state")])) == ["a"]


@pytest.mark.parametrize("name", ["state.json.gz", "state.json", "state.yaml", "state"])
def test_gzip_is_known_by_its_content(name: str, tmp_path: Path) -> None:
    packed = gzip.compress((NODE % "a").encode())
    (tmp_path / name).write_bytes(packed)
    assert names(load_state([str(tmp_path / name)])) == ["a"]
    assert names(load_state([str(tmp_path)])) == ["a"]
    assert names(load_state(["-"], BytesIO(packed))) == ["a"]


@pytest.mark.parametrize("damage", [slice(0, -9), slice(0, 3), slice(0, 12)])
def test_damaged_gzip_is_an_error_that_names_the_file(damage: slice, tmp_path: Path) -> None:
    path = tmp_path / "state.json.gz"
    path.write_bytes(gzip.compress((NODE % "a").encode())[damage])
    with pytest.raises(InputError, match=r"state\.json\.gz: not gzip: .*is the file complete\?"):
        load_state([str(path)])


def test_one_warning_names_the_files_of_a_folder_that_hold_no_object(tmp_path: Path) -> None:
    foreign = {
        "Makefile": "all:\n\t@true\n",
        "empty_yaml": "",
        "log_txt": "started",
        "metrics_json": '[{"value": 1}, 2]',
        "notes_yaml": "# nothing but a remark\n",
    }
    folder = write(tmp_path, **foreign, a_json=NODE % "a", pod_json=POD % "p")
    (warning,) = load_state([folder]).warnings
    assert warning == (
        "skipped 5 files without Kubernetes objects: "
        f"{folder}/Makefile, {folder}/empty.yaml, {folder}/log.txt, …"
    )
    for name in ("Makefile", "empty.yaml", "metrics.json", "notes.yaml"):
        (tmp_path / name).unlink()
    (warning,) = load_state([folder]).warnings
    assert warning == f"skipped a file without Kubernetes objects: {folder}/log.txt"


def test_a_broken_file_of_a_folder_is_no_foreign_one(tmp_path: Path) -> None:
    folder = write(tmp_path, a_json=NODE % "a", b_json=(NODE % "b")[:-1])
    with pytest.raises(InputError, match=r"b\.json: not JSON"):
        load_state([folder])


def test_an_object_without_kind_among_others_is_no_foreign_file(tmp_path: Path) -> None:
    folder = write(tmp_path, a_yaml="metadata: {name: a}\n---\nkind: Node\nmetadata: {name: b}\n")
    with pytest.raises(InputError, match="kind is missing"):
        load_state([folder])


def test_a_file_given_twice_is_read_once_and_said(tmp_path: Path) -> None:
    folder = write(tmp_path, a_json=NODE % "a", pod_json=POD % "p")
    path = f"{folder}/a.json"
    state = load_state([path, "-", folder, "-"], BytesIO((NODE % "b").encode()))
    assert names(state) == ["a", "b"]
    assert state.warnings == (
        f"{path} is given more than once; ksched reads it once",
        "standard input is given more than once; ksched reads it once",
    )


def test_without_a_path_the_variable_counts_then_a_file_that_lies_here(tmp_path: Path) -> None:
    assert default_state_path({"KSCHED_STATE": "x.yaml"}, tmp_path) == "x.yaml"
    (tmp_path / "cluster.json.gz").write_bytes(b"")
    assert default_state_path({}, tmp_path) == str(tmp_path / "cluster.json.gz")


@pytest.mark.parametrize("name", DEFAULT_FILES[1:])
def test_two_candidates_are_an_error_that_names_them(name: str, tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text("")
    (tmp_path / name).write_text("")
    with pytest.raises(
        UsageError, match=f"several cluster states.*cluster.yaml, {name}\n.*--state"
    ):
        default_state_path({}, tmp_path)
    assert default_state_path({"KSCHED_STATE": "x.yaml"}, tmp_path) == "x.yaml"


def test_where_there_is_no_state_the_error_says_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"KSCHED_STATE.*cluster\.yaml, cluster\.yml, cluster"):
        default_state_path({}, tmp_path)


def test_a_missing_file_and_an_empty_folder_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        load_state([str(tmp_path / "gone.yaml")])
    with pytest.raises(InputError, match="no such file"):
        load_state(["a\0b.yaml"])
    with pytest.raises(InputError, match=r"has no \.yaml"):
        load_state([str(tmp_path)])
