"""Codes of names that plugins sort by are in the order of what they stand for; others are drawn."""

from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.cluster.redaction.codebook import ALPHABET, Codebook, SortedCodebook, code_between

PARTS = st.text("ab19Z_", min_size=1, max_size=4).filter(
    lambda text: "_" not in (text[0], text[-1]) and "__" not in text
)
BATCHES = st.lists(st.lists(PARTS, max_size=20), min_size=1, max_size=3)
NAMES = st.lists(PARTS, min_size=1, max_size=4).map("-".join)


@given(BATCHES)
def test_codes_have_the_order_of_their_parts_and_those_that_come_later_fit_in(
    batches: list[list[str]],
) -> None:
    codebook = SortedCodebook()
    for batch in batches:
        before = codebook.as_mapping()
        for part in batch:
            codebook.collect(part)
        codebook.assign()
        mapping = codebook.as_mapping()
        codes = list(mapping.values())
        assert codes == sorted(set(codes))
        assert mapping.items() >= before.items()
        assert all(set(code) <= set(ALPHABET) for code in codes)


@given(st.lists(NAMES, min_size=2, max_size=8))
def test_whole_names_keep_their_order(names: list[str]) -> None:
    codebook = SortedCodebook()
    for name in names:
        codebook.collect(name)
    codebook.assign()
    ordered = sorted(set(names))
    renamed = [codebook.renamed(name) for name in ordered]
    assert renamed == sorted(renamed)
    assert len(set(renamed)) == len(ordered)


def test_what_separates_parts_stays() -> None:
    codebook = Codebook({"a": "x", "b_c": "z"})
    assert codebook.renamed("a-b_c.a/a:a@b_c__a") == "x-z.x/x:x@z__x"


def test_public_parts_stay() -> None:
    assert Codebook({"a": "x", "latest": "z"}).renamed("a:latest", frozenset(["latest"])) == (
        "x:latest"
    )


def test_there_is_always_room_between_two_codes() -> None:
    low, high = "", ""
    for _ in range(50):
        low = code_between(low, high)
        high = code_between(low, high)
        assert low < high
    assert code_between("bc", "bd") > "bc"


def test_a_part_without_a_code_is_not_shown() -> None:
    assert Codebook({"a": "x"}).renamed("a.secret") == "x.unknown"


@given(BATCHES)
def test_drawn_codes_are_different_and_stay(batches: list[list[str]]) -> None:
    codebook, in_order = Codebook(), SortedCodebook()
    for batch in batches:
        before = codebook.as_mapping()
        for part in batch:
            codebook.collect(part)
            in_order.collect(part)
        codebook.assign()
        in_order.assign()
        codes = codebook.as_mapping()
        assert codes.items() >= before.items()
        assert len({*codes.values(), *in_order.as_mapping().values()}) == 2 * len(codes)
        assert Codebook.is_valid(codes)
        assert SortedCodebook.is_valid(in_order.as_mapping())


def test_the_order_of_drawn_codes_tells_nothing() -> None:
    """Somebody who knows all parts and orders them guesses no more of them than by chance."""
    parts = [f"part{number:03}" for number in range(400)]
    codebook = Codebook()
    for part in parts:
        codebook.collect(part)
    codebook.assign()
    by_code = sorted(parts, key=codebook.as_mapping().__getitem__)
    assert sum(map(str.__eq__, parts, by_code)) < 20
    assert len({len(code) for code in codebook.as_mapping().values()}) == 1
