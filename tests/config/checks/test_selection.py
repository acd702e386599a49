"""Which rules are on: as ruff resolves select, extend-select and ignore."""

from pathlib import Path

import pytest

from ksched_cli.analysis.reviewer import selected
from ksched_cli.config.checks.rules import (
    REFUSALS,
    Selection,
    check_ignored,
    families,
    file_ignores,
    matching,
    rules,
    rules_of,
    selected_rules,
)
from ksched_cli.config.review import review
from ksched_cli.errors import UsageError
from tests.config.registries import REGISTRY, configured

OPTIONAL = {rule.id for rule in rules().values() if rule.family != REFUSALS}
WEIGHTS = set(families()["weights"])


def chosen(*selections: Selection) -> set[str]:
    """The rules that are on, but for those that always are."""
    return set(selected_rules(selections)) - set(families()[REFUSALS])


def test_by_default_all_are_on_but_those_that_are_often_meant() -> None:
    assert chosen(Selection()) == OPTIONAL - {"no-default-profile"}


def test_what_kube_scheduler_refuses_is_always_on() -> None:
    assert set(families()[REFUSALS]) <= selected_rules([Selection(select=["weights"])])
    assert set(families()[REFUSALS]) <= selected_rules([Selection(ignore=["all"])])


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        (Selection(select=["weights"]), WEIGHTS),
        (Selection(select=["all"]), OPTIONAL),
        (Selection(select=[]), set()),
        (Selection(select=[REFUSALS]), set()),
        (Selection(select=["weights"], ignore=["weight-zero"]), WEIGHTS - {"weight-zero"}),
        (Selection(select=["weight-zero"], ignore=["weights"]), {"weight-zero"}),
        (Selection(select=["weights"], ignore=["weights"]), set()),
        (Selection(select=["all"], ignore=["all"]), set()),
        (Selection(select=["weights"], extend_select=["args-unused"]), WEIGHTS | {"args-unused"}),
        (Selection(extend_select=["no-default-profile"]), OPTIONAL),
    ],
    ids=lambda item: str(item) if isinstance(item, Selection) else "",
)
def test_the_selector_of_fewer_rules_decides(selection: Selection, expected: set[str]) -> None:
    assert chosen(selection) == expected


def test_the_command_line_begins_anew_where_it_selects_and_else_changes_the_file() -> None:
    file = Selection(select=["weights"], ignore=["weight-zero"])
    assert chosen(file, Selection(select=["weights"])) == WEIGHTS
    assert chosen(file, Selection(extend_select=["args"])) == (
        WEIGHTS - {"weight-zero"} | set(families()["args"])
    )
    assert chosen(file, Selection(ignore=["weights"])) == set()


def test_names_of_families_are_no_names_of_rules() -> None:
    assert not set(families()) & set(rules())
    assert "all" not in {*families(), *rules()}


@pytest.mark.parametrize("selector", ["weigths", ""])
def test_a_selector_of_nothing_is_refused(selector: str) -> None:
    with pytest.raises(UsageError, match="neither a rule nor a family"):
        rules_of(selector)


@pytest.mark.parametrize("selector", ["unknown-key", REFUSALS])
def test_refusals_cannot_be_ignored(selector: str) -> None:
    with pytest.raises(UsageError, match="cannot be ignored"):
        check_ignored(selector)
    check_ignored("all")


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("*.json", "/p/a/b.json", True),
        ("b.json", "/p/a/b.json", True),
        ("a/*", "/p/a/b.json", True),
        ("a/*", "/p/a/c/b.json", True),
        ("a/*", "/q/a/b.json", False),
        ("c/*", "/p/a/b.json", False),
    ],
)
def test_a_glob_is_of_paths_below_the_project_file_or_of_names(
    pattern: str, path: str, matches: bool
) -> None:
    ignores = file_ignores({pattern: ["weights"]})
    assert bool(matching(ignores, path, Path("/p"))) is matches


ZERO = (
    "profiles:\n- plugins:\n    score:\n"
    "      enabled: [{name: ImageLocality, weight: 0}, {name: NodeAffinity, weight: 0}]\n"
)


@pytest.mark.parametrize(
    ("selector", "count"),
    [
        ("weight-zero", 2),
        ("weights", 2),
        ("all", 2),
        ("args", 0),
        ("weight-zero@profiles[0].plugins.score", 2),
        ("weight-zero@profiles[0].plugins.score.enabled[1]", 1),
        ("weight-zero@profiles[0].plugins.scor", 0),
    ],
)
def test_a_file_ignore_silences_a_rule_or_a_part_of_it(selector: str, count: int) -> None:
    result = review(configured(ZERO), REGISTRY)
    left = selected(result, selected_rules([]), file_ignores({"*": [selector]}))
    assert (len(left.findings), len(left.ignored_by_project)) == (2 - count, count)


def test_a_refusal_is_not_silenced_by_a_file_ignore() -> None:
    result = review(configured("parallelism: 0\n"), REGISTRY)
    left = selected(result, selected_rules([]), file_ignores({"*": ["all"]}))
    assert [finding.rule for finding in left.findings] == ["invalid-value"]
