"""Every place of a file is changed in every way, and every format has commands that read it."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest
from format import Format
from formats import FORMATS
from substitutes import (
    CELLS,
    TOKENS,
    VALUES,
    byte_variants,
    cell_variants,
    json_variants,
    token_variants,
)
from systematic import verdicts

pytestmark = pytest.mark.slow

# Variants of each format, so far apart that they are in different places.
COUNT, APART = 3, 41


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_a_few_variants_of_each_format_break_no_rule(form: Format, tmp_path: Path) -> None:
    verdicts_of_format = list(
        verdicts(form, tmp_path, every=APART, first=7, last=7 + COUNT * APART)
    )
    assert verdicts_of_format
    for label, command, verdict in verdicts_of_format:
        assert not verdict.rule, (label, command, verdict)


def test_a_place_has_every_value_and_is_left_out_doubled_and_renamed() -> None:
    texts = [each.make() for each in json_variants([{"kind": "A", "b": [1, 2]}], set())]
    changed = [text for text in texts if text.startswith('{"kind":"A","b":[')]
    assert '{"kind":"A","b":[1e400,2]}\n' in changed
    assert {'{"kind":"A","b":[2]}\n', '{"kind":"A","b":[1, 1,2]}\n'} < set(changed)
    assert '{"kind":"A","b":[1, 2], "b": null}\n' in texts
    assert {'{"kind":"A"}\n', '{"kind":"A","bx":[1,2]}\n', ""} < set(texts)
    # The document, its two keys, and one item of the list, for the other is as good.
    assert len(texts) == 4 * (len(VALUES) + 3) + 2 * 2


def test_a_place_that_was_changed_in_one_file_is_left_alone_in_the_next() -> None:
    seen: set[object] = set()
    assert list(json_variants([{"kind": "A", "b": 1}], seen))
    labels = {each.label.partition(" ")[0] for each in json_variants([{"kind": "A", "c": 1}], seen)}
    assert {label.rstrip("x") for label in labels} == {"0.c"}


def test_tokens_cells_and_bytes_are_changed() -> None:
    lines = [each.make() for each in token_variants(["drain n0"])]
    assert len(lines) == 2 * (len(TOKENS) + 2)
    assert {"drain", "n0", "drain n0 n0", "drain --all"} < set(lines)
    assert len(list(cell_variants([["a", "b"]]))) == 2 * len(CELLS)
    assert [data for _, data in islice(byte_variants(b"abcd", 2), 3)] == [b"", b"tbcd", b"\xffbcd"]


def test_formats_have_names_of_their_own() -> None:
    names = [form.name for form in FORMATS]
    assert len(set(names)) == len(names)
