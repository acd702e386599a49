"""JSON that is shown."""

import json

import pytest

from ksched_cli.kube.shown_json import shown_json


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("ü 日本", "ü 日本"),
        ("\x00\x1b", r"\u0000\u001b"),
        ("a\x7fb", r"a\u007fb"),
        ("\x9b31m ü", r"\u009b31m ü"),
        ("\ud800", r"\ud800"),
    ],
)
def test_control_characters_are_escaped_and_letters_are_not(text: str, shown: str) -> None:
    assert shown_json([text]) == f'[\n  "{shown}"\n]'
    assert json.loads(shown_json([text])) == [text]
