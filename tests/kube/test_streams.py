"""Standard streams that cannot be read or written. tests/commands/test_streams.py has what comes of
it."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ksched_cli.errors import InputError
from ksched_cli.kube.streams import read_standard_input, unfailing


def test_standard_input_that_cannot_be_read_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with (tmp_path / "written").open("wb") as file:
        stream = io.TextIOWrapper(io.BufferedReader(io.FileIO(file.fileno(), closefd=False)))
        monkeypatch.setattr(sys, "stdin", stream)
        with pytest.raises(InputError, match=r"^standard input: cannot be read: Bad file"):
            read_standard_input()
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InputError, match=r"^standard input: it is closed$"):
        read_standard_input()


def test_what_cannot_be_written_is_lost_and_the_rest_is_not(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with path.open("w", encoding="utf-8", errors="backslashreplace") as file:
        print("é\ud800", file=unfailing(file))
    assert path.read_text() == "é\\ud800\n"
    with open("/dev/full", "w") as full:
        stream = unfailing(full)
        print("x" * 100_000, file=stream, flush=True)
        stream.close()
    read, write = os.pipe()
    os.set_blocking(write, False)
    with os.fdopen(write, "w") as pipe:
        print("x" * 1_000_000, file=unfailing(pipe), flush=True)
    os.close(read)
    print("x", file=unfailing(None), flush=True)


def test_a_stream_of_others_is_theirs() -> None:
    for stream in (io.StringIO(), io.TextIOWrapper(io.BytesIO())):
        assert unfailing(stream) is stream


def test_closed_streams_are_occupied_and_children_have_them() -> None:
    code = (
        "import os\n"
        "from ksched_cli.kube.streams import occupy_closed_streams\n"
        "occupy_closed_streams()\n"
        "os.execvp('sh', ['sh', '-c', 'true <&0 && true >&1 && true >&2 && exit 7'])\n"
    )
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", sys.executable, "-c", code], check=False
    )
    assert done.returncode == 7
