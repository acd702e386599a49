"""A snapshot's file: whole or not at all, and read as any state is."""

import gzip
import json
import os
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path

import pytest

from ksched_cli.cluster.loading.load import load_state
from ksched_cli.errors import ReaderGoneError, UsageError
from ksched_cli.live.snapshot import ClusterSnapshot
from ksched_cli.live.snapshot_file import (
    check_suffix,
    check_writable,
    snapshot_text,
    written_aside,
)
from ksched_cli.testing import node

ABOUT = ClusterSnapshot(
    "", "v1.34.1", "2026-01-01T00:00:00Z", (), absences=("no CSINode",), warnings=("a part",)
)


def test_a_file_is_a_list_with_a_line_for_each_object() -> None:
    objects = [json.dumps(node(name)).encode() for name in ("a", "b")]
    text = b"".join(snapshot_text(objects, lambda: ABOUT))
    assert text.count(b"\n") == 4
    document = json.loads(text)
    assert [item["metadata"]["name"] for item in document["items"]] == ["a", "b"]
    assert document["snapshot"]["serverVersion"] == "v1.34.1"


def test_who_reads_the_file_is_warned_of_what_concerns_them_alone(tmp_path: Path) -> None:
    path = tmp_path / "cluster.json"
    path.write_bytes(b"".join(snapshot_text([json.dumps(node("a")).encode()], lambda: ABOUT)))
    state = load_state([str(path)])
    assert "a part" in state.warnings
    assert "no CSINode" not in state.warnings
    assert not state.skipped


def test_what_cannot_be_written_is_said_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written: No such file or directory"):
        check_writable(str(tmp_path / "no" / "a.json"))
    with pytest.raises(UsageError, match="is a folder"):
        check_writable(str(tmp_path))


def test_asking_whether_a_file_can_be_written_leaves_the_folder_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("before")
    check_writable(str(tmp_path / "a.json"))
    check_writable(str(tmp_path / "b.json"))
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
    assert (tmp_path / "a.json").read_text() == "before"


def test_a_file_is_gzipped_by_name(tmp_path: Path) -> None:
    with written_aside(str(tmp_path / "a.json.gz")) as file:
        file.write(b"text")
    assert gzip.decompress((tmp_path / "a.json.gz").read_bytes()) == b"text"


def test_a_block_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("old")

    def write() -> None:
        with written_aside(str(path)) as file:
            file.write(b"new")
            raise ValueError("midway")

    with pytest.raises(ValueError, match="midway"):
        write()
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.json"]
    assert path.read_text() == "old"


def test_a_private_file_is_the_owners_only(tmp_path: Path) -> None:
    for name, private in (("a", False), ("b", True)):
        with written_aside(str(tmp_path / name), private=private) as file:
            file.write(b"text")
    assert (tmp_path / "b").stat().st_mode & 0o777 == 0o600
    mask = os.umask(0)
    os.umask(mask)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o666 & ~mask


def test_a_file_keeps_its_owner_where_that_is_allowed(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.touch()
    owner = (12345, 12345) if os.geteuid() == 0 else (os.geteuid(), os.getegid())
    os.chown(path, *owner)
    with written_aside(str(path)) as file:
        file.write(b"text")
    assert (path.stat().st_uid, path.stat().st_gid) == owner
    assert path.read_text() == "text"


def test_a_reader_that_closed_the_pipe_is_no_error_of_usage(tmp_path: Path) -> None:
    pipe = tmp_path / "a.json"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)

    def write() -> None:
        with written_aside(str(pipe)) as file:
            os.close(reader)
            file.write(b"text")

    with pytest.raises(ReaderGoneError):
        write()


@pytest.mark.parametrize("path", ["missing/a.json", "loop", "plain/a.json"])
def test_what_leads_nowhere_is_a_usage_error(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "plain").touch()
    with pytest.raises(UsageError, match=f"{path} cannot be written: [A-Z]"):
        check_writable(path)
    with pytest.raises(UsageError, match=f"{path} cannot be written: [A-Z]"), written_aside(path):
        pass


@pytest.mark.parametrize("path", ["missing/a.json", "."])
def test_a_file_that_cannot_be_written_is_a_usage_error(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"cannot be written|is a folder"), written_aside(path):
        pass


def test_a_name_of_yaml_is_refused() -> None:
    with pytest.raises(UsageError, match=r"a snapshot is JSON; name it \*\.json"):
        check_suffix("cluster.yaml")
    check_suffix("cluster.json.gz")


def test_what_a_killed_ksched_left_is_removed_by_the_next(tmp_path: Path) -> None:
    left, mine, busy = (
        tmp_path / f".state.json.{name}"
        for name in ("abcd1234.ksched", "original", "abcd5678.ksched")
    )
    for path in (left, mine, busy):
        path.write_text("half")
    with busy.open("rb") as file:  # another ksched writes it
        flock(file, LOCK_EX)
        with written_aside(str(tmp_path / "state.json")) as state:
            state.write(b"whole")
            (own,) = set(tmp_path.iterdir()) - {mine, busy}
            with own.open("rb") as again, pytest.raises(BlockingIOError):
                flock(again, LOCK_EX | LOCK_NB)
    assert {*tmp_path.iterdir()} == {mine, busy, tmp_path / "state.json"}
    assert (tmp_path / "state.json").read_bytes() == b"whole"


def test_a_file_that_is_written_anew_keeps_its_mode_and_a_new_one_is_like_any_other(
    tmp_path: Path,
) -> None:
    old, new, plain = tmp_path / "old", tmp_path / "new", tmp_path / "plain"
    for path in (old, plain):
        path.touch()
    old.chmod(0o640)
    for path in (old, new):
        with written_aside(str(path)) as file:
            file.write(b"x")
    assert old.stat().st_mode & 0o777 == 0o640
    assert new.stat().st_mode == plain.stat().st_mode


def test_a_device_can_be_written() -> None:
    check_writable(os.devnull)
