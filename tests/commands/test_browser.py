"""-o html and --open."""

import sys
import tempfile
import webbrowser
from pathlib import Path

import pytest

from ksched_cli.testing import node, pod
from tests.commands.runners import Ksched, WriteState
from tests.report.html.pages import check_stands_alone


@pytest.fixture
def browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that a browser was told to show; pages go to tmp_path."""
    addresses: list[str] = []

    def shows(address: str) -> bool:
        addresses.append(address)
        return True

    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    monkeypatch.setattr(webbrowser, "open", shows)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return addresses


def test_a_page_goes_to_standard_output(ksched: Ksched, write_state: WriteState) -> None:
    path = write_state(node("a"), pod("p"), pod("big", cpu="99"))
    code, out, err = ksched("schedule", "--state", path, "-o", "html")
    assert (code, err) == (1, "")
    page = check_stands_alone(out)
    assert "1 of 2 pods stays pending" in page.text


def test_open_shows_the_page_and_prints_nothing(
    ksched: Ksched, write_state: WriteState, browser: list[str]
) -> None:
    path = write_state(node("a"), pod("p"))
    code, out, err = ksched("schedule", "--state", path, "--open")
    assert (code, out) == (0, "")
    file = Path(browser[0].removeprefix("file://"))
    assert err == f"the page is {file}\n"
    assert [entry.name for entry in file.parent.iterdir()] == ["page.html"]
    check_stands_alone(file.read_text())


def test_without_a_browser_the_page_is_written_all_the_same(
    ksched: Ksched,
    write_state: WriteState,
    browser: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(webbrowser, "open", lambda _: False)
    code, _, err = ksched("schedule", "--state", write_state(node("a"), pod("p")), "--open")
    assert code == 0
    assert err.startswith("warning: there is no browser to show it; the page is ")
    assert Path(err.strip().rpartition(" ")[2]).exists()
    assert not browser


def test_a_folder_that_cannot_be_written_to_is_told(
    ksched: Ksched, write_state: WriteState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/nonexistent")
    code, _, err = ksched("schedule", "--state", write_state(node("a")), "--open")
    assert code == 2
    assert "No such file or directory" in err


def test_open_goes_with_no_other_form(ksched: Ksched, write_state: WriteState) -> None:
    code, out, err = ksched("schedule", "--state", write_state(node("a")), "--open", "-o", "json")
    assert (code, out) == (2, "")
    assert err == "error: --open cannot be combined with -o json\n"


def test_a_terminal_is_not_filled_with_a_page(
    ksched: Ksched, write_state: WriteState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    code, out, err = ksched("schedule", "--state", write_state(node("a")), "-o", "html")
    assert (code, out) == (2, "")
    assert "-o html prints a page: redirect it to a file" in err


@pytest.mark.parametrize(
    ("address", "shown"), [("10.0.0.7", "10.0.0.7"), ("2001:db8::7", "[2001:db8::7]")]
)
def test_over_ssh_it_says_how_to_fetch_the_page(
    ksched: Ksched,
    write_state: WriteState,
    browser: list[str],
    monkeypatch: pytest.MonkeyPatch,
    address: str,
    shown: str,
) -> None:
    monkeypatch.setenv("SSH_CONNECTION", f"192.0.2.1 50000 {address} 22")
    monkeypatch.delenv("DISPLAY", raising=False)
    _, _, err = ksched("schedule", "--state", write_state(node("a")), "--open")
    assert not browser
    path = err.partition("the page is ")[2].partition(";")[0]
    assert Path(path).exists()
    assert f"fetch it with: scp {shown}:{path} ." in err
