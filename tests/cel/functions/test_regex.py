"""Regular expressions as Go's package regexp has them: what it says of these patterns was seen."""

import pytest

from ksched_cli.cel.environment import CelCompileError, check
from ksched_cli.cel.interpreter import DeviceInput, Program
from ksched_cli.cel.regex import REGEX
from ksched_cli.cel.values import CelError

find, find_all, matches = REGEX["find"], REGEX["findAll"], REGEX["matches"]


def evaluate(expression: str) -> bool:
    return Program(check(expression)).evaluate(DeviceInput())[0]


@pytest.mark.parametrize(
    ("text", "pattern", "texts"),
    [
        ("a1b22", "[0-9]+", ["1", "22"]),
        ("ab", "[0-9]+", []),
        ("b[", "[[a]", ["["]),
        ("A1 b2", "[[:alpha:]]", ["A", "b"]),
        ("A1 b2", "[[:^alpha:]]+", ["1 ", "2"]),
        ("日本é 1", r"\pL+", ["日本é"]),
        ("Δaπ", r"\p{Greek}", ["Δ", "π"]),
        ("日本é 1", r"\w+", ["1"]),
        ("٣ 3", r"\d", ["3"]),
        ("aAb", "(?i)A+", ["aA"]),
        ("Kk", "(?i)k", ["K", "k"]),
        ("a\nb\n", r"b\z", []),
        ("a\nb", r"b\z", ["b"]),
        ("a\n", "a$", []),
        ("a\nb", "(?m)^.", ["a", "b"]),
        ("aab", "(?U)a+", ["a", "a"]),
        ("a.b", r"\Q.b\E", [".b"]),
        ("aa", "a|aa", ["a", "a"]),
        ("abc", "b*", ["", "b", ""]),
        ("abc", "", ["", "", "", ""]),
        ("日本", "", ["", "", ""]),
        ("abcé日", r"\B", ["", "", "", ""]),
        ("a{,2}", "a{,2}", ["a{,2}"]),
        ("aé", r"a\x{e9}", ["aé"]),
        ("a]", "[]a]", ["a", "]"]),
        ("aaaa", "(?P<n>a)(a)", ["aa", "aa"]),
    ],
)
def test_all_matches_are_those_of_go(text: str, pattern: str, texts: list[str]) -> None:
    assert find_all(text, pattern) == texts
    assert find(text, pattern) == (texts[0] if texts else "")
    assert matches(text, pattern) == bool(texts)


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("(", "missing closing ): `(`"),
        ("a)", "unexpected ): `a)`"),
        ("[a", "missing closing ]: `[a`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        ("[[:foo:]]", "invalid character class range: `[:foo:]`"),
        (r"\pX", r"invalid character class range: `\pX`"),
        (r"(a)\1", r"invalid escape sequence: `\1`"),
        (r"a\Z", r"invalid escape sequence: `\Z`"),
        (r"a\C", r"invalid escape sequence: `\C`"),
        ("a\\", "trailing backslash at end of expression: ``"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("(?!a)", "invalid or unsupported Perl syntax: `(?!`"),
        ("(?<=a)b", "invalid named capture: `(?<=a)b`"),
        ("(?<!a>b)c", "invalid named capture: `(?<!a>`"),
        ("(?P<é>a)", "invalid named capture: `(?P<é>`"),
        ("(?P=n)", "invalid or unsupported Perl syntax: `(?P`"),
    ],
)
def test_what_go_refuses_is_refused_with_its_message(pattern: str, problem: str) -> None:
    for search in (find, find_all):
        with pytest.raises(CelError) as caught:
            search("a", pattern)
        assert str(caught.value) == f"Illegal regex: error parsing regexp: {problem}"
    with pytest.raises(CelError) as caught:
        matches("a", pattern)
    assert str(caught.value) == f"error parsing regexp: {problem}"


@pytest.mark.parametrize("pattern", [r"a\\Cb", r"\QC\C\E", "a(?P<n_1>b)"])
def test_what_only_looks_like_it_is_read(pattern: str) -> None:
    assert find("x", pattern) == ""


def test_so_many_matches_are_given() -> None:
    assert find_all("a1b22", "[0-9]+", 1) == ["1"]
    assert find_all("a1b22", "[0-9]+", 0) == []
    assert find_all("a1b22", "[0-9]+", -1) == ["1", "22"]
    with pytest.raises(CelError, match="no such overload"):
        find_all("a", "a", "1")


def test_a_long_class_has_room() -> None:
    assert find("é" * 600, r"\pL{500}") == "é" * 500


@pytest.mark.parametrize("call", ['find("(") == ""', 'findAll("(") == []', 'matches(dyn("("))'])
def test_a_constant_pattern_that_is_none_is_a_compile_error(call: str) -> None:
    """Upstream compiles it while planning, also where it is never searched for."""
    with pytest.raises(CelCompileError, match=r"^program instantiation failed: error parsing rege"):
        evaluate(f'true || "a".{call}')


def test_a_literal_that_is_no_pattern_does_not_check() -> None:
    with pytest.raises(CelCompileError, match="invalid matches argument"):
        evaluate(r'"a".matches("\\C")')


def test_a_pattern_that_is_made_is_looked_at_when_it_is_used() -> None:
    assert evaluate('true || "a".find("(".lowerAscii()) == ""')
    with pytest.raises(CelError, match="Illegal regex: error parsing regexp: missing closing"):
        evaluate('"a".find("(".lowerAscii()) == ""')
