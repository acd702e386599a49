"""Files other than states and configurations that once ended in a traceback or without an end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from answer_subjects import LOG
from corpora import EXAMPLES
from judge import Verdict, judged
from run_subjects import rows_corpus
from test_causes import DIGITS, KIND, judge_state, spec_of

from ksched_cli.testing import node, pod
from tests.extenders.fixtures import Serve

pytestmark = pytest.mark.slow


def judge_file(folder: Path, name: str, content: object, *arguments: str) -> Verdict:
    """What comes of `ksched ARGUMENTS… FILE`, with {} for the file's path."""
    path = folder / name
    lines = content if isinstance(content, list) else [content]
    path.write_text(
        "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    )
    verdict = judged([argument.replace("{}", str(path)) for argument in arguments], path)
    assert not verdict.rule, verdict
    return verdict


def sweep_of(**fields: object) -> dict[str, object]:
    states = [str(EXAMPLES / "sweep" / "cluster.yaml")]
    return {"apiVersion": "ksched/v1", "kind": "Sweep", "states": states, **fields}


@pytest.mark.parametrize(
    ("seeds", "problem"),
    [
        (10**7, "is greater than 1000000"),
        (10**12, "is greater than 1000000"),
        (10**30, "expected a whole number or a list"),
    ],
)
def test_seeds_without_number_are_refused(seeds: int, problem: str, tmp_path: Path) -> None:
    verdict = judge_file(tmp_path, "s.json", sweep_of(seeds=seeds), "sweep", "{}", "--dry-run")
    assert verdict.code == 2
    assert problem in verdict.errors


def test_runs_without_number_are_refused(tmp_path: Path) -> None:
    axes = [{"path": f"a{i}", "values": list(range(100))} for i in range(4)]
    verdict = judge_file(tmp_path, "s.json", sweep_of(patches=axes), "sweep", "{}", "--dry-run")
    assert verdict.code == 2
    assert "the sweep has 100,000,000 runs, and may have 1,000,000" in verdict.errors


def test_trials_and_their_seeds_without_number_are_refused(tmp_path: Path) -> None:
    tune = {
        **sweep_of(kind="Tune"),
        "space": [{"path": "percentageOfNodesToScore", "between": [5, 100]}],
        "objectives": [{"metric": "nodesUsed", "goal": "minimize"}],
    }
    for more in ({"trials": 10**12}, {"seeds": 10**12}, {"heldOut": {"seeds": 10**12}}):
        verdict = judge_file(tmp_path, "t.json", {**tune, **more}, "tune", "{}")
        assert verdict.code == 2
        assert "is greater than 1000000" in verdict.errors


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"placed": None}, "placed"),
        ({"utilization": {"cpu": {"mean": "x"}}}, "utilization"),
        ({"metrics": {"a": []}}, "metrics"),
        ({"status": "good"}, "status good"),
        ({"id": []}, "line 1 is not a row of a sweep"),
    ],
)
def test_a_row_that_was_changed_is_an_error(
    change: dict[str, object], problem: str, tmp_path: Path
) -> None:
    file = str(EXAMPLES / "sweep" / "sweep.yaml")
    content = [{**rows_corpus()[0], **change}, ""]
    verdict = judge_file(tmp_path, "rows.jsonl", content, "sweep", file, "--rows", "{}")
    assert verdict.code == 2
    assert problem in verdict.errors


@pytest.mark.parametrize("change", [{"state": "\ud800"}, {"\ud800": 1}, {"status": "\ud800"}])
def test_half_of_a_surrogate_pair_in_a_row_is_read(
    change: dict[str, object], tmp_path: Path
) -> None:
    file = str(EXAMPLES / "sweep" / "sweep.yaml")
    content = [{**rows_corpus()[0], **change}, ""]
    for form in ("json", "csv", "table"):
        verdict = judge_file(
            tmp_path, "rows.jsonl", content, "sweep", file, "--rows", "{}", "-o", form
        )
        assert verdict.code in (0, 2)


def test_a_file_for_rows_may_be_a_device(tmp_path: Path) -> None:
    verdict = judge_file(tmp_path, "s.json", sweep_of(), "sweep", "{}", "--rows", "/dev/null")
    assert verdict.code in (0, 2)


def test_half_of_a_surrogate_pair_in_a_sweep_is_shown_escaped(tmp_path: Path) -> None:
    changes = [{"name": "\ud800"}, {"name": "\x1b[31m"}]
    for form in ("json", "csv", "table"):
        sweep = sweep_of(changes=changes)
        assert judge_file(tmp_path, "s.json", sweep, "sweep", "{}", "-o", form).code in (0, 2)


@pytest.mark.parametrize(
    ("event", "header", "problem"),
    [
        ({"pod": {"apiVersion": "v2", "metadata": {"name": "p"}}}, {}, 'a pod has apiVersion "v1"'),
        ({"pod": "p", "template": "t"}, {"templates": {"t": {"metadata": "x"}}}, "metadata"),
    ],
)
def test_a_pod_of_a_timeline_that_is_none_is_refused(
    event: dict[str, object], header: dict[str, object], problem: str, tmp_path: Path
) -> None:
    timeline = {"apiVersion": "ksched/v1", "kind": "Timeline", **header}
    timeline["events"] = [{"at": 1, **event}]
    state = str(EXAMPLES / "replay" / "cluster.yaml")
    verdict = judge_file(tmp_path, "t.json", timeline, "replay", "{}", "--state", state)
    assert verdict.code == 2
    assert problem in verdict.errors


@pytest.mark.parametrize("is_in_state", [False, True])
def test_two_pods_of_a_replay_with_one_uid_are_refused(is_in_state: bool, tmp_path: Path) -> None:
    first, second = pod("p", cpu=1), pod("q", cpu=1)
    for each in (first, second):
        each["metadata"]["uid"] = "u"
    lines: list[object] = [{"apiVersion": "ksched/v1", "kind": "Timeline"}]
    lines += [{"at": 1, "pod": each} for each in (first, second)[is_in_state:]]
    state = tmp_path / "state.json"
    state.write_text("\n".join(map(json.dumps, [node("a"), *[first][: int(is_in_state)]])))
    verdict = judge_file(tmp_path, "t.jsonl", lines, "replay", "{}", "--state", str(state))
    assert verdict.code == 2
    assert "pod default/q has the UID of pod default/p" in verdict.errors


@pytest.mark.parametrize("text", ["a: *b\n  c: d: e\n", "a: *b\x00\n", "a: &b *b\n"])
def test_what_is_no_yaml_is_not_migrated(text: str, tmp_path: Path) -> None:
    assert judge_file(tmp_path, "c.yaml", text, "config", "migrate", "{}").code == 2


def test_what_a_terminal_takes_amiss_is_escaped_in_a_migrated_file(tmp_path: Path) -> None:
    kind = {**KIND, "apiVersion": "kubescheduler.config.k8s.io/v1beta3"}
    profile = {"schedulerName": "\x7f\x9b", "plugins": {"score": {"disabled": [{"name": "*"}]}}}
    old = json.dumps({**kind, "profiles": [profile]}, ensure_ascii=False)
    assert judge_file(tmp_path, "c.json", old, "config", "migrate", "{}").code in (0, 1)


def test_an_object_that_is_not_valid_is_not_redacted(tmp_path: Path) -> None:
    named = {**node("a"), "metadata": {"name": True}}
    out = tmp_path / "out.json"
    verdict = judge_file(
        tmp_path, "s.json", named, "snapshot", str(out), "--redact", "--state", "{}"
    )
    assert verdict.code == 2
    assert not out.exists()


@pytest.mark.parametrize("number", ['"x"', '""', DIGITS, f'"{DIGITS}"'])
def test_odd_counts_of_victims_in_a_log_are_no_defect(number: str, tmp_path: Path) -> None:
    event = "Start the preemption asynchronously"
    lines: list[object] = [
        f'I0101 00:00:00.0 1 x.go:1] "{event}" preemptor="default/p" numVictims={number}',
        f'{{"msg":"{event}","preemptor":"default/p","numVictims":{number}}}',
    ]
    state = tmp_path / "state.json"
    state.write_text("\n".join(map(json.dumps, (node("a"), spec_of()))))
    files = ("--before", str(state), "--after", str(state))
    verdict = judge_file(tmp_path, "log", lines, "audit", *files, "--scheduler-log", "{}")
    assert verdict.code in (0, 1)


def test_a_resource_version_of_thousands_of_digits_is_no_defect(tmp_path: Path) -> None:
    before, bound = tmp_path / "before.json", spec_of(nodeName="a")
    bound["metadata"]["resourceVersion"] = DIGITS
    before.write_text("\n".join(map(json.dumps, (node("a"), spec_of()))))
    log = tmp_path / "scheduler.log"
    log.write_text('I0101 00:00:00.0 1 x.go:1] "Attempting to schedule pod" pod="default/p"')
    arguments = ("audit", "--before", str(before), "--after", "{}", "--scheduler-log", str(log))
    assert judge_file(tmp_path, "after.json", [node("a"), bound], *arguments).code == 0


@pytest.mark.parametrize("ts", ["9" * 400, f"-{'9' * 400}", "1e400", "NaN"])
def test_times_in_a_log_that_no_float_holds_are_no_defect(ts: str, tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    state.write_text("\n".join(map(json.dumps, (node("a"), spec_of()))))
    line = f'{{"ts":{ts},"msg":"Attempting to schedule pod","pod":"default/p"}}'
    files = ("--before", str(state), "--after", str(state))
    assert judge_file(tmp_path, "log", line, "audit", *files, "--scheduler-log", "{}").code in (
        0,
        1,
    )


def test_a_pod_that_was_given_to_another_scheduler_is_not_audited(tmp_path: Path) -> None:
    other = spec_of(schedulerName="other")
    before, after = tmp_path / "before.json", tmp_path / "after.json"
    before.write_text("\n".join(map(json.dumps, (node("a"), other))))
    after.write_text("\n".join(map(json.dumps, (node("a"), spec_of()))))
    files = ("--before", str(before), "--after", str(after))
    assert judge_file(tmp_path, "log", LOG[0], "audit", *files, "--scheduler-log", "{}").code in (
        0,
        1,
    )


def test_a_comparison_says_where_its_version_is_from(tmp_path: Path) -> None:
    state = json.dumps({"apiVersion": "v1", "kind": "List", "items": [node("a"), pod("p")]})
    judge_state(tmp_path, state, "compare", "--change", "cordon a", name="x.json")


# -- answers of extenders -------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["schedule", "replay"])
def test_a_victim_that_an_extender_names_twice_leaves_once(
    command: str, serve: Serve, tmp_path: Path
) -> None:
    victim = {"Pods": [{"UID": "default/low"}] * 2, "NumPDBViolations": 0}
    server = serve({"/preempt": {"NodeNameToMetaVictims": {"a": victim}}})
    extender = {"urlPrefix": server.url, "preemptVerb": "preempt", "nodeCacheCapable": True}
    config, timeline = tmp_path / "config.json", tmp_path / "timeline.jsonl"
    config.write_text(json.dumps({**KIND, "extenders": [extender]}))
    timeline.write_text(json.dumps({"apiVersion": "ksched/v1", "kind": "Timeline"}) + "\n")
    objects = [node("a", cpu=1), pod("low", cpu=1, node="a"), pod("high", cpu=1, priority=5)]
    state = "\n".join(map(json.dumps, objects))
    arguments = [command, *[str(timeline)][: int(command == "replay")], "--config", str(config)]
    assert judge_state(tmp_path, state, *arguments, name="x.json").code == 0


# -- what is written ------------------------------------------------------------------------------


def test_a_pod_of_a_template_with_a_namespace_is_written(tmp_path: Path) -> None:
    template = {
        "metadata": {"namespace": "batch", "labels": {"a": "b"}},
        "spec": {"containers": []},
    }
    header = {"apiVersion": "ksched/v1", "kind": "Timeline", "templates": {"t": template}}
    timeline = {**header, "events": [{"at": 1, "pod": "p", "template": "t"}]}
    state, end = tmp_path / "state.json", tmp_path / "end.json"
    state.write_text(json.dumps(node("a")))
    arguments = ("replay", "{}", "--state", str(state), "--save-state", str(end))
    assert judge_file(tmp_path, "t.json", timeline, *arguments).code == 0
    (written,) = [item for item in json.loads(end.read_text())["items"] if item["kind"] == "Pod"]
    assert written["metadata"]["name"] == "p"
    assert written["metadata"]["namespace"] == "batch"
    assert written["metadata"]["labels"] == {"a": "b"}


def test_bytes_that_are_no_text_in_a_line_of_a_timeline_are_refused(tmp_path: Path) -> None:
    path, state = tmp_path / "t.jsonl", tmp_path / "state.json"
    path.write_bytes(b'{"apiVersion": "ksched/v1", "kind": "Timeline"}\n{"at": "\xff"}\n')
    state.write_text(json.dumps(node("a")))
    verdict = judged(["replay", str(path), "--state", str(state)], path)
    assert (verdict.rule, verdict.code) == ("", 2)


def test_a_required_term_that_is_none_is_not_migrated(tmp_path: Path) -> None:
    required: dict[str, object] = {"nodeSelectorTerms": [[{"matchFields": []}]]}
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": required}
    configs = [
        {"name": "NodeLabel", "args": {"presentLabels": ["pool"]}},
        {"name": "NodeAffinity", "args": {"addedAffinity": affinity}},
    ]
    enabled = {"filter": {"enabled": [{"name": "NodeLabel"}]}}
    old = {
        "apiVersion": "kubescheduler.config.k8s.io/v1beta1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": enabled, "pluginConfig": configs}],
    }
    assert judge_file(tmp_path, "c.json", old, "config", "migrate", "{}").code in (0, 1)


def test_what_a_terminal_takes_amiss_is_escaped_in_sarif(tmp_path: Path) -> None:
    plugins = {"reserve": {"enabled": [{"name": "D\x7fn"}]}}
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"plugins": plugins}],
    }
    verdict = judge_file(tmp_path, "c.json", configuration, "validate", "{}", "-o", "sarif")
    assert verdict.code == 1
