"""The configuration for other commands: right, or one InputError with its place."""

from pathlib import Path

import pytest

from ksched_cli.config import load_configuration
from ksched_cli.config.allowed_plugins import AllowedPlugin
from ksched_cli.config.load import load_configuration_source
from ksched_cli.config.sources import read_configuration_text
from ksched_cli.errors import InputError, Position
from tests.config.registries import REGISTRY, configured


def test_a_refused_file_says_the_first_problem_and_how_many_more() -> None:
    text = configured("paralelism: 3\nfoo: 1\n")
    with pytest.raises(InputError) as caught:
        load_configuration(text, "config.yaml", REGISTRY)
    assert caught.value.position == Position(3, 1)
    assert "and 1 more" in caught.value.problem
    assert caught.value.hint == 'did you mean "parallelism"?'


def test_a_crash_of_upstream_is_refused_too() -> None:
    args = "{scoringStrategy: {type: RequestedToCapacityRatio}}"
    text = configured(f"profiles:\n- pluginConfig:\n  - name: NodeResourcesFit\n    args: {args}\n")
    with pytest.raises(InputError, match="has no shape"):
        load_configuration(text, "config.yaml", REGISTRY)


def test_a_source_is_a_reference_or_a_text_that_was_read(tmp_path: Path) -> None:
    path = tmp_path / "values.yaml"
    body = configured("profiles: [{schedulerName: batch}]\n").replace("\n", "\n  ")
    path.write_text(f"a:\n  {body}\nb:\n  {body}")
    reference = f"{path}#b"
    for source in (reference, read_configuration_text(reference)):
        (profile,) = load_configuration_source(source, REGISTRY).profiles
        assert profile.scheduler_name == "batch"


def test_an_error_in_an_object_has_its_line_and_names_it(tmp_path: Path) -> None:
    path = tmp_path / "values.yaml"
    body = configured("profiles:\n- plugins: {score: {enabled: [{name: Mine}]}}\n")
    path.write_text("scheduler:\n  " + body.replace("\n", "\n  "))
    with pytest.raises(InputError) as caught:
        load_configuration_source(str(path), REGISTRY)
    assert caught.value.source == str(path)
    assert caught.value.position == Position(5, 33)
    assert caught.value.subject == "scheduler: profiles[0].plugins.score.enabled[0]"
    load_configuration_source(str(path), REGISTRY, [AllowedPlugin("Mine")])


def test_certificates_are_read_where_an_extender_may_be_called_only() -> None:
    tls = "tlsConfig: {caFile: /nowhere/ca.crt}"
    text = configured(f"extenders: [{{urlPrefix: 'https://a', filterVerb: f, {tls}}}]\n")
    with pytest.raises(InputError, match=r"open /nowhere/ca\.crt: no such file"):
        load_configuration(text, "c.yaml", REGISTRY)
    assert load_configuration(text, "c.yaml", REGISTRY, allowed=()).extenders
