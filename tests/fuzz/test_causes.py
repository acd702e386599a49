"""Inputs that once ended in a traceback, a hang or a message without end, a test for each cause."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from judge import Verdict, judged

from ksched_cli.testing import Manifest, node, pod

pytestmark = pytest.mark.slow

DIGITS = "9" * 5000
KIND = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
QUESTIONS = (
    ("schedule", "--trace"),
    ("explain", "p"),
    ("preempt", "p"),
    ("capacity", "p", "--max", "3"),
    ("drift",),
)


def judge_state(folder: Path, text: str | bytes, *question: str, name: str = "x.yaml") -> Verdict:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    verdict = judged([*question, "--state", str(path), "-o", "json"], path)
    assert not verdict.rule, verdict
    return verdict


def judge_configuration(folder: Path, text: str, *, suffix: str = "yaml") -> Verdict:
    path = folder / f"config.{suffix}"
    path.write_text(text)
    for command in (["validate"], ["config", "show"], ["validate", "-o", "json"]):
        verdict = judged([*command, str(path)], path)
        assert not verdict.rule, verdict
    return verdict


def ask_everything(folder: Path, *objects: Manifest) -> list[int]:
    """The exit codes of every question about a state."""
    text = "\n".join(map(json.dumps, objects))
    return [judge_state(folder, text, *question, name="x.json").code for question in QUESTIONS]


def spec_of(**fields: Any) -> Manifest:
    manifest = pod("p", cpu=1)
    manifest["spec"].update(fields)
    return manifest


@pytest.mark.parametrize("time", ["9999-12-31T23:59:59-23:59", "0001-01-01T00:00:00+23:59"])
def test_a_time_that_leaves_the_calendar_is_refused(time: str, tmp_path: Path) -> None:
    late = pod("p")
    late["metadata"]["creationTimestamp"] = time
    assert set(ask_everything(tmp_path, node("a"), late)) == {2}


def test_thousands_of_digits_in_a_number_of_yaml_are_refused(tmp_path: Path) -> None:
    text = f"kind: Node\nmetadata: {{name: a}}\nstatus: {{allocatable: {{cpu: {DIGITS}}}}}\n"
    assert judge_state(tmp_path, text, "schedule").code == 2
    text = f"kind: Pod\nmetadata: {{name: p}}\nspec: {{priority: {DIGITS}}}\n"
    assert judge_state(tmp_path, text, "schedule").code == 2


def test_thousands_of_digits_in_a_duration_are_refused(tmp_path: Path) -> None:
    extender = {"urlPrefix": "http://127.0.0.1:1", "filterVerb": "f", "httpTimeout": f"{DIGITS}s"}
    assert judge_configuration(tmp_path, json.dumps({**KIND, "extenders": [extender]})).code == 1


def test_explain_and_preempt_refuse_a_state_without_nodes(tmp_path: Path) -> None:
    assert ask_everything(tmp_path, pod("p"))[1:3] == [2, 2]


@pytest.mark.parametrize("command", ["explain", "preempt"])
def test_explain_and_preempt_answer_without_nodes_if_told_so(command: str, tmp_path: Path) -> None:
    text = json.dumps(pod("p"))
    assert judge_state(tmp_path, text, command, "p", "--allow-empty-state").code == 1


def test_explain_and_preempt_answer_where_there_is_nothing_to_look_at(tmp_path: Path) -> None:
    gated = spec_of(schedulingGates=[{"name": "g"}])
    assert ask_everything(tmp_path, node("a"), gated)[1] in (0, 1)
    other = spec_of(schedulerName="other")
    assert 3 not in ask_everything(tmp_path, node("a"), other)


@pytest.mark.parametrize("operator", ["In", "Nonsense"])
def test_explain_answers_where_a_plugin_before_has_ended_prefilter(
    operator: str, tmp_path: Path
) -> None:
    """InterPodAffinity and PodTopologySpread have no state of the cycle then."""
    selector = {"matchExpressions": [{"key": "app", "operator": operator, "values": ["a"]}]}
    term = {"labelSelector": selector, "topologyKey": "kubernetes.io/hostname"}
    terms = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    spread = {**term, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
    nowhere = {
        "nodeSelectorTerms": [
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["z"]}]}
        ]
    }
    required = {"requiredDuringSchedulingIgnoredDuringExecution": nowhere}
    affinity = {"podAffinity": terms, "podAntiAffinity": terms, "nodeAffinity": required}
    objects = [node("a"), spec_of(affinity=affinity, topologySpreadConstraints=[spread])]
    assert 3 not in ask_everything(tmp_path, *objects)


@pytest.mark.parametrize("count", [2**63 - 1, 2**62, 100_000])
def test_devices_without_number_are_not_handed_out(count: int, tmp_path: Path) -> None:
    request = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": count}
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c", "namespace": "default"},
        "spec": {"devices": {"requests": [{"name": "r", "exactly": request}]}},
    }
    device_class = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass"}
    slice_ = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "s"},
        "spec": {
            "driver": "d.io",
            "nodeName": "a",
            "pool": {"name": "a", "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": f"d{i}"} for i in range(4)],
        },
    }
    using = spec_of(resourceClaims=[{"name": "c", "resourceClaimName": "c"}])
    objects = [node("a"), {**device_class, "metadata": {"name": "gpu"}}, slice_, claim, using]
    assert ask_everything(tmp_path, *objects)[0] == 1


def test_sums_and_scores_beyond_64_bits_are_those_of_go(tmp_path: Path) -> None:
    """NumPy warns of what Go wraps around; a warning is an error here."""
    huge = 2**63 - 1
    nodes = [node(name, cpu=huge, memory=huge) for name in ("a", "b")]
    running = [pod(f"r{i}", cpu=huge // 1000, memory=huge, node="a") for i in range(3)]
    spread = {
        "maxSkew": 2**31 - 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    assert 3 not in ask_everything(
        tmp_path, *nodes, *running, spec_of(topologySpreadConstraints=[spread])
    )


def test_half_of_a_surrogate_pair_is_shown_or_refused(tmp_path: Path) -> None:
    named = pod("p")
    named["metadata"]["labels"] = {"a": "\ud800"}
    assert ask_everything(tmp_path, node("a"), named)[0] == 2
    text = json.dumps({**KIND, "profiles": [{"schedulerName": "\ud800"}]})
    judge_configuration(tmp_path, text, suffix="json")


def test_a_large_configuration_of_json_takes_no_time(tmp_path: Path) -> None:
    """138 kB once took more than ten seconds, by the square of their number."""
    fit = {"ignoredResources": [f"example.com/resource-{i}" for i in range(4000)]}
    profile = {"schedulerName": "x", "pluginConfig": [{"name": "NodeResourcesFit", "args": fit}]}
    text = json.dumps({**KIND, "profiles": [profile]}, indent=1)
    assert len(text) > 138_000
    assert judge_configuration(tmp_path, text, suffix="json").code == 0


def test_a_quantity_of_thousands_of_digits_is_shown_without_its_middle(tmp_path: Path) -> None:
    text = json.dumps(node("a", cpu="9" * 3500 + "x"))
    verdict = judge_state(tmp_path, text, "schedule", name="x.json")
    assert verdict.code == 2
    assert "cpu" in verdict.errors


@pytest.mark.parametrize("depth", [1_000, 100_000])
def test_deeply_nested_json_is_read_or_refused(depth: int, tmp_path: Path) -> None:
    """How deep is too deep depends on the version of Python."""
    for opening, closing in (('{"a":', "}"), ("[", "]")):
        nested = f"{opening * depth}1{closing * depth}"
        text = f'{{"kind": "Pod", "apiVersion": "v1", "metadata": {{"name": "p"}}, "x": {nested}}}'
        code = judge_state(tmp_path, text, "schedule", name="x.json").code
        assert code == 2 if depth == 100_000 else code in (1, 2)


def test_no_file_is_left_open_where_reading_it_fails(tmp_path: Path) -> None:
    packed = gzip.compress(json.dumps(node("a")).encode())
    for damaged in (packed[:-9], packed[:20], b"\x1f\x8b\x00", b"\x1f\x8b"):
        assert judge_state(tmp_path, damaged, "schedule", name="x.json.gz").code == 2
