"""Errors about fields print as upstream's field.Error; names and labels follow upstream's rules."""

import pytest

from ksched_cli.kube.field_errors import (
    ErrorType,
    FieldError,
    bad_value_text,
    child,
    duplicate,
    forbidden,
    invalid,
    is_extended_resource_name,
    label_name_errors,
    label_value_problems,
    qualified_name_problems,
    required,
    unsupported,
)
from ksched_cli.kube.formatting import aggregate


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (invalid("a.b", -1, "must be positive"), "a.b: Invalid value: -1: must be positive"),
        (invalid("a", "x\n", "is odd"), 'a: Invalid value: "x\\n": is odd'),
        (required("a"), "a: Required value"),
        (required("a", "is needed"), "a: Required value: is needed"),
        (duplicate("a[1]", "x"), 'a[1]: Duplicate value: "x"'),
        (forbidden("a", "not here"), "a: Forbidden: not here"),
        (
            unsupported("a", "x", ["y", "z"]),
            'a: Unsupported value: "x": supported values: "y", "z"',
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_error_prints_as_upstreams(error: FieldError, text: str) -> None:
    assert error.text() == text


@pytest.mark.parametrize(
    ("value", "text"), [("a", '"a"'), (1.0, "1"), (3, "3"), ({"a": ["b"]}, '{"a":["b"]}')]
)
def test_a_bad_value_is_quoted_only_where_it_is_a_string(value: object, text: str) -> None:
    assert bad_value_text(value) == text


def test_a_path_grows_by_children_and_may_begin_empty() -> None:
    assert child("a", "b", "c") == "a.b.c"
    assert child("", "b") == "b"


def test_an_aggregate_has_each_message_once_and_brackets_around_several() -> None:
    assert aggregate(["a", "a"]) == "a"
    assert aggregate(["a", "b", "a"]) == "[a, b]"


@pytest.mark.parametrize("name", ["a", "A.b_c-1", "example.com/name", "x" * 63])
def test_qualified_names_are_accepted(name: str) -> None:
    assert qualified_name_problems(name) == []


@pytest.mark.parametrize(
    ("name", "beginnings"),
    [
        ("", ["name part must be non-empty", "name part must consist"]),
        ("-a", ["name part must consist"]),
        ("x" * 64, ["name part must be no more than 63 characters"]),
        ("/a", ["prefix part must be non-empty"]),
        ("A/a", ["prefix part a lowercase RFC 1123 subdomain"]),
        ("x" * 254 + "/a", ["prefix part must be no more than 253 characters"]),
        ("a/b/c", ["a valid label key must consist"]),
    ],
)
def test_each_problem_of_a_qualified_name_is_listed(name: str, beginnings: list[str]) -> None:
    problems = qualified_name_problems(name)
    assert len(problems) == len(beginnings)
    for problem, beginning in zip(problems, beginnings, strict=True):
        assert problem.text.startswith(beginning)


def test_label_values_may_be_empty_and_at_most_63_characters() -> None:
    assert label_value_problems("") == []
    assert label_value_problems("a.b_C-1") == []
    (problem,) = label_value_problems("x" * 64)
    assert problem.text == "must be no more than 63 characters"
    for value in ("-", "\udcff"):
        (problem,) = label_value_problems(value)
        assert problem.text.startswith("a valid label must be an empty string or")


def test_a_bad_label_name_is_an_error_at_its_path() -> None:
    (error,) = label_name_errors("a b", "spec.key")
    assert (error.path, error.type, error.value) == ("spec.key", ErrorType.INVALID, '"a b"')


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("example.com/gpu", True),
        ("cpu", False),
        ("kubernetes.io/batch", False),
        ("requests.example.com/gpu", False),
        ("example.com/-", False),
    ],
)
def test_an_extended_resource_has_a_domain_of_its_own(name: str, expected: bool) -> None:
    assert is_extended_resource_name(name) is expected
