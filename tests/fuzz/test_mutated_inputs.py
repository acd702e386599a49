"""Mutated inputs break no rule that holds for any input; those that once did are cases here."""

import json
import math
import sys
from pathlib import Path
from types import FrameType

import pytest
from corpora import CHANGES, EXAMPLES, scenario_corpus
from functions import FUNCTIONS, Function
from grow_corpus import BY_NAME, fewest, steps_of
from inputs import Subject
from judge import judged
from run_fuzz import mutated_input, run_function
from subjects import SUBJECTS
from texts import grown_texts

from tests.thorough import is_thorough

pytestmark = pytest.mark.slow

FIRST_CLUSTER = str(EXAMPLES / "first-cluster" / "cluster.yaml")


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
def test_a_few_mutated_inputs_break_no_rule(subject: Subject, tmp_path: Path) -> None:
    for seed in range(12 if is_thorough() else 4):
        mutated, verdict = mutated_input(subject, seed, tmp_path)
        assert not verdict.rule, (seed, mutated.arguments, verdict)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.name)
def test_mutated_texts_are_read_or_refused(function: Function) -> None:
    seeds = range(100 if is_thorough() else 30)
    counts = run_function(function, seeds, math.inf)
    assert counts.keys() <= {"inputs", "read", "refused"}, counts
    assert counts["inputs"] == len(seeds) + len(grown_texts(function.name))


def test_the_fewest_texts_are_kept_that_go_everywhere() -> None:
    function = next(function for function in FUNCTIONS if function.name == "quantity")
    # Quantities that nothing else reads: what was read once is remembered, and goes nowhere.
    texts = list(fewest(function, ["90017", "90017Gi", "90019Gi", "90017", "x" * 30]))
    assert texts == ["90017", "90017Gi", "x" * 30]
    everywhere = set().union(*(steps_of(function, text) for text in ("90031", "90031Gi")))
    assert steps_of(function, "90033Gi") <= everywhere


def test_a_tracer_that_is_there_goes_on_after_steps_were_counted() -> None:
    def tracer(_frame: FrameType, _event: str, _argument: object) -> None:
        return None

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        steps_of(BY_NAME["quantity"], "7Gi")
        assert sys.gettrace() is tracer
    finally:
        sys.settrace(before)


def test_the_texts_in_git_are_the_fewest() -> None:
    names = [function.name for function in FUNCTIONS if grown_texts(function.name)]
    assert {"quantity", "document", "change"} <= set(names)
    for name in names:
        assert len(set(grown_texts(name))) == len(grown_texts(name))


def scenario(**deployment: object) -> bytes:
    manifest = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}
    changes = [{"apply": {**manifest, **deployment}}]
    return json.dumps({"apiVersion": "ksched/v1", "kind": "Scenario", "changes": changes}).encode()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (scenario(metadata=["web"]), "Deployment: metadata: expected an object, got ['web']"),
        (scenario(metadata={"name": ["web"]}), "metadata.name: expected a string, got ['web']"),
        (scenario(spec=[1]), "Deployment: spec: expected an object, got [1]"),
        (scenario(spec={"template": {"metadata": "x"}}), "spec.template.metadata: expected an obj"),
        (scenario(spec={"template": {"spec": {"containers": "x"}}}), "containers: expected a list"),
        (scenario(spec={"replicas": 1.5}), "spec.replicas: expected"),
    ],
)
def test_a_manifest_of_another_shape_is_refused(data: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "scenario.json"
    path.write_bytes(data)
    arguments = ["schedule", "--state", FIRST_CLUSTER, "--scenario", str(path), "-o", "json"]
    verdict = judged(arguments, path)
    assert (verdict.rule, verdict.code) == ("", 2)
    assert message in verdict.errors


def test_the_rules_notice_what_breaks_them(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("")
    assert judged(["--version"], path).rule == ""
    assert judged(["--version", "json"], path).rule == "invalid JSON"
    assert judged(["explain", "--help"], path).rule == ""


def test_every_scenario_of_the_corpus_is_a_scenario() -> None:
    assert len(scenario_corpus()) == len(CHANGES) + 1


@pytest.mark.parametrize(
    ("state", "shown"),
    [
        ('{"kind": "N\\u0000de", "apiVersion": "v1", "metadata": {"name": "a"}}', "N\\x00de"),
        ('{"kind": "Node", "apiVersion": "v1", "metadata": {"name": "a"}, "status": '
         '{"allocatable": {"cpu": "\\u001b[31m"}}}', "\\x1b[31m"),
        ('{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a", "creationTimestamp": '
         '"2026-01-01T0A:06:02Z"}}', "is not a time"),
    ],
)  # fmt: skip
def test_what_a_message_quotes_is_shown_escaped(state: str, shown: str, tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_text(state)
    verdict = judged(["schedule", "--state", str(path)], path)
    assert verdict.rule == ""
    assert shown in verdict.errors


def test_a_configuration_with_control_characters_is_shown_escaped(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text('apiVersion: kubescheduler.config.k8s.io/v1\nkind: "Kube\\x7fX"\n')
    for command in (["validate"], ["config", "show"]):
        assert judged([*command, str(path)], path).rule == ""
