"""`ksched snapshot --redact`."""

import json
from pathlib import Path

import pytest

from ksched_cli.commands import snapshot_files as redaction
from ksched_cli.testing import node, pod
from tests.commands.runners import Ksched, WriteState
from tests.report.schemas import conforms

OBJECTS = (
    node("acme-a", cpu=2),
    node("acme-b", cpu=4),
    pod("acme-web", namespace="acme-prod", cpu=1),
    pod("acme-huge", namespace="acme-prod", cpu=64),
)


@pytest.fixture
def state(write_state: WriteState, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    return str(write_state(*OBJECTS))


def test_a_redacted_file_tells_no_name_and_is_decided_alike(
    ksched: Ksched, state: str, tmp_path: Path
) -> None:
    code, out, err = ksched(
        "snapshot", "red.json", "--state", state, "--redact-key", "key.json", "-o", "json"
    )
    assert (code, "checked: every pod" in err) == (0, True)
    conforms(json.loads(out), "snapshot_result")
    assert "acme" not in (tmp_path / "red.json").read_text()
    key = json.loads((tmp_path / "key.json").read_text())
    _, out, _ = ksched("schedule", "--state", "red.json", "-o", "json")
    placements = {
        key["names"]["Pod"][placed]: key["names"]["Node"][host]
        for placed, host in json.loads(out)["placements"].items()
    }
    assert placements == {"acme-prod/acme-web": "acme-b"}


def test_a_key_that_exists_is_used_again(ksched: Ksched, state: str, tmp_path: Path) -> None:
    for name in ("first.json", "second.json"):
        ksched("snapshot", name, "--state", state, "--redact-key", "key.json")
    texts = [(tmp_path / name).read_bytes() for name in ("first.json", "second.json")]
    assert texts[0] == texts[1]
    assert (tmp_path / "key.json").stat().st_mode & 0o777 == 0o600


def test_decisions_that_differ_are_exit_code_1(
    ksched: Ksched, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redaction, "redaction_differences", lambda *_: ["acme-prod/acme-web"])
    code, _, err = ksched("snapshot", "red.json", "--state", state, "--redact")
    assert code == 1
    assert "warning: 1 pod ends up elsewhere in the redacted state than in the original: " in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--full", "--redact"], "--full cannot be combined with --redact"),
        (["--context", "a"], "--context has no effect with --state"),
        (["-n", "a"], "-n has no effect with --state"),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    arguments: list[str], message: str, ksched: Ksched, state: str
) -> None:
    code, _, err = ksched("snapshot", "a.json", "--state", state, *arguments)
    assert (code, err) == (2, f"error: {message}\n")


def test_words_cannot_be_guessed_by_the_rank_of_their_codes(
    ksched: Ksched, write_state: WriteState, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Labels, namespaces, images and names of pods; those of nodes, which plugins sort by, can."""
    monkeypatch.chdir(tmp_path)
    vocabulary = [f"word{number:03}" for number in range(101)]
    pods = [pod(word, namespace=word, labels={word: word}) for word in vocabulary]
    state = write_state(*map(node, vocabulary), *pods)
    assert ksched("snapshot", "red.json", "--state", state, "--redact-key", "key.json")[0] == 0
    key = json.loads((tmp_path / "key.json").read_text())
    drawn, in_order = key["parts"], key["sortedParts"]
    guessed = dict(zip(sorted(drawn[word] for word in vocabulary), vocabulary, strict=True))
    assert sum(guessed[drawn[word]] == word for word in vocabulary) < 10
    assert [in_order[word] for word in vocabulary] == sorted(in_order[word] for word in vocabulary)


def test_a_file_tells_no_kind_that_only_plugins_read(
    ksched: Ksched, write_state: WriteState, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not in the lists of what was read, either, nor in warnings."""
    monkeypatch.chdir(tmp_path)
    widget = {"apiVersion": "merger.acme.com/v1", "kind": "AcmeMerger", "metadata": {"name": "m"}}
    state = write_state(*OBJECTS, widget)
    assert ksched("snapshot", "red.json", "--state", state, "--redact")[0] == 0
    assert "acme" not in (tmp_path / "red.json").read_text().lower()
