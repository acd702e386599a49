"""Plugins of other builds that are taken as there."""

from pathlib import Path

import pytest

from ksched_cli.config.allowed_plugins import parse_allowed, read_allowed
from ksched_cli.config.load import load_configuration
from ksched_cli.config.review import review
from ksched_cli.errors import InputError, UsageError
from tests.config.registries import REGISTRY, configured

SCORING = "profiles: [{plugins: {score: {enabled: [{name: Green, weight: 2}]}}}]\n"
EVERYWHERE = "profiles: [{plugins: {multiPoint: {enabled: [{name: %s}]}}}]\n"


def rules(body: str, allowed: str = "") -> list[str]:
    findings = review(configured(body), REGISTRY, parse_allowed(allowed)).findings
    return [finding.rule for finding in findings]


def test_a_plugin_that_is_not_allowed_is_unknown() -> None:
    assert rules(SCORING) == ["unknown-plugin"]


@pytest.mark.parametrize("allowed", ["Green", "Other, Green", "Green=score", "A\nGreen # mine\n"])
def test_an_allowed_one_is_there_where_the_file_names_it(allowed: str) -> None:
    assert rules(SCORING, allowed) == []


def test_it_extends_the_points_that_are_given() -> None:
    assert rules(SCORING, "Green=filter+reserve") == ["wrong-point"]
    assert rules(EVERYWHERE % "Green", "Green=filter") == []


def test_under_multi_point_its_points_must_come_from_somewhere() -> None:
    assert rules(EVERYWHERE % "Green", "Green") == ["points-unknown"]
    assert rules(EVERYWHERE % "NodeMetadata", "NodeMetadata") == []


def test_a_plugin_of_a_known_project_has_its_points_there() -> None:
    assert "queue-sort-count" in rules(EVERYWHERE % "Coscheduling", "Coscheduling")


def test_a_comment_in_the_file_allows_too() -> None:
    assert rules(f"# ksched: allow-plugins Green, Blue\n{SCORING}") == []


def test_a_configuration_takes_effect_with_it() -> None:
    text = configured(SCORING)
    allowed = load_configuration(text, "c", REGISTRY, parse_allowed("Green"))
    assert allowed.profiles[0].weights["Green"] == 2


def test_the_code_is_needed_where_nothing_is_allowed() -> None:
    with pytest.raises(InputError, match='unknown plugin "Green"'):
        load_configuration(configured(f"# ksched: allow-plugins Green\n{SCORING}"), "c", REGISTRY)


def test_names_are_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "plugins.txt"
    path.write_text("Green=score # ours\n\nBlue\n")
    assert [plugin.name for plugin in read_allowed([str(path), "Red"])] == ["Green", "Blue", "Red"]


@pytest.mark.parametrize("text", ["Green=scores", "Green=", "Gr/een", "=score"])
def test_what_names_no_plugin_or_point_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--allow-plugins"):
        parse_allowed(text)
