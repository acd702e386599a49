"""The file that rows go to."""

from pathlib import Path

import pytest

from ksched_cli.errors import InputError, UsageError
from ksched_cli.sweep.outcome import RowsFile


def row(identity: str, status: str = "ok") -> dict[str, str]:
    return {"id": identity, "status": status}


def test_rows_are_there_as_soon_as_they_are_appended(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    with RowsFile(str(path)) as rows:
        rows.append(row("x"))
        assert path.read_text() == '{"id": "x", "status": "ok"}\n'
        assert rows.settled == {"x"}


def test_a_file_is_gone_on_with(tmp_path: Path) -> None:
    path = str(tmp_path / "rows.jsonl")
    for identity in ("x", "y"):
        with RowsFile(path) as rows:
            rows.append(row(identity))
    with RowsFile(path) as rows:
        assert rows.settled == {"x", "y"}
        assert [item["id"] for item in rows.rows()] == ["x", "y"]


def test_lost_runs_are_to_be_made_again(tmp_path: Path) -> None:
    path = str(tmp_path / "rows.jsonl")
    with RowsFile(path) as rows:
        for identity, status in (("x", "lost"), ("y", "lost"), ("y", "ok"), ("z", "timeout")):
            rows.append(row(identity, status))
    with RowsFile(path) as rows:
        assert rows.settled == {"y", "z"}


def test_a_line_that_was_not_finished_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"id": "x", "status": "ok"}\n{"id": "y", "sta')
    with RowsFile(str(path)) as rows:
        rows.append(row("z"))
    assert [line[:10] for line in path.read_text().splitlines()] == ['{"id": "x"', '{"id": "z"']


def test_a_first_line_that_was_not_finished_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    for text in ("{", '{"id": "x'):
        path.write_text(text)
        with RowsFile(str(path)) as rows:
            assert list(rows.rows()) == []
        assert path.read_text() == ""


def test_a_last_row_whose_line_an_editor_left_open_counts(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"id": "x", "status": "ok"}')
    with RowsFile(str(path)) as rows:
        rows.append(row("y"))
        assert [item["id"] for item in rows.rows()] == ["x", "y"]


@pytest.mark.parametrize("path", ["/dev/null", "/dev/full"])
def test_rows_are_in_a_plain_file(path: str) -> None:
    with pytest.raises(UsageError, match=f"--rows {path}: expected a plain file"):
        RowsFile(path)


@pytest.mark.parametrize("line", ["apiVersion: v1", "[1]", '{"id": "x"}'])
def test_a_file_of_other_things_is_left_alone(line: str, tmp_path: Path) -> None:
    path = tmp_path / "precious.yaml"
    for text in (line, f"{line}\n"):
        path.write_text(text)
        with pytest.raises(InputError, match="line 1 is not a row of a sweep"):
            RowsFile(str(path))
        assert path.read_text() == text


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--rows .*missing.*No such file"):
        RowsFile(str(tmp_path / "missing" / "rows.jsonl"))


def test_without_a_path_nothing_is_left(tmp_path: Path) -> None:
    with RowsFile() as rows:
        rows.append(row("x"))
        assert [item["id"] for item in rows.rows()] == ["x"]
        path = Path(rows.path)
    assert not path.exists()
