"""Values of another shape or out of range that once ended in a traceback, a test for each cause."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from corpora import EXAMPLES
from format import DAY, REPLAY
from judge import judged
from own_state import own_state
from run_formats import study, study_command
from run_subjects import rows_corpus
from test_causes import DIGITS, KIND, judge_state
from test_file_causes import judge_file, sweep_of

from ksched_cli.commands.output import _page
from ksched_cli.testing import node, pod

pytestmark = pytest.mark.slow

OWN = "own.json"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
SWEEP = str(EXAMPLES / "sweep" / "sweep.yaml")
STATE = str(REPLAY / "cluster.yaml")


def written_state(folder: Path) -> str:
    path = folder / OWN
    path.write_text("\n".join(map(json.dumps, own_state())))
    return str(path)


def judge_change(folder: Path, change: str, code: int | None = 2) -> str:
    """What is said of a change to own_state."""
    path = Path(written_state(folder))
    verdict = judged(["schedule", "--state", str(path), "--change", change, "-o", "json"], path)
    assert not verdict.rule, verdict
    assert code is None or verdict.code == code, verdict
    return verdict.errors


def with_field(manifest: Any, value: str) -> str:
    """The manifest with a field that nobody knows. value: JSON"""
    return json.dumps(manifest)[:-1] + f', "x": {value}}}'


# -- states ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("metadata", ["x", {"name": [[]]}, {"name": "a", "namespace": [1]}])
@pytest.mark.parametrize(("version", "kind"), [
    ("v1", "Pod"), ("apps/v1", "StatefulSet"), ("scheduling.k8s.io/v1beta1", "PodGroup"),
])  # fmt: skip
def test_metadata_that_is_none_is_no_defect_of_a_redaction(
    version: str, kind: str, metadata: Any, tmp_path: Path
) -> None:
    manifest = {"apiVersion": version, "kind": kind, "metadata": metadata}
    out, key = str(tmp_path / "out.json"), str(tmp_path / "key.json")
    arguments = ("snapshot", out, "--redact", "--redact-key", key, "--state", "{}")
    assert judge_file(tmp_path, "state.json", manifest, *arguments).code in (0, 2)


@pytest.mark.parametrize("value", ["1e400", "[-1e400]"])
@pytest.mark.parametrize(
    "question",
    [
        ("schedule", "--change", "cordon a"), ("snapshot", "{}"), ("snapshot", "{}", "--full"),
        ("timeline", "from-dump"), ("capacity", "p"), ("snapshot", "{}", "--redact"),
    ],
)  # fmt: skip
def test_a_number_out_of_range_that_nobody_reads_is_no_defect(
    question: tuple[str, ...], value: str, tmp_path: Path
) -> None:
    path, out = tmp_path / "state.json", str(tmp_path / "out.json")
    path.write_text("\n".join(with_field(item, value) for item in (node("a"), pod("p"))))
    arguments = [argument.replace("{}", out) for argument in question]
    arguments += [str(path)] if "timeline" in question else ["--state", str(path)]
    verdict = judged(arguments, path)
    assert not verdict.rule, verdict


def test_a_number_out_of_range_does_not_hide_that_a_pod_has_not_started(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    status = {"phase": "Pending", "startTime": "2026-01-01T00:00:00Z"}
    waiting = pod("p", node="a", status=status)
    path.write_text("\n".join(with_field(item, "1e400") for item in (node("a"), waiting)))
    verdict = judged(["explain", "p", "--state", str(path)], path)
    assert (verdict.rule, verdict.code) == ("", 0)


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("lastHeartbeatTime", "yesterday"), ("lastHeartbeatTime", "2026-01-01"),
        ("lastTransitionTime", "x"), ("lastTransitionTime", None), ("lastTransitionTime", []),
        ("restartCount", "many"), ("creationTimestamp", None),
    ],
)  # fmt: skip
def test_pods_are_removed_in_an_order_whatever_their_statuses_say(
    pointer: str, value: object, tmp_path: Path
) -> None:
    text = "\n".join(map(json.dumps, own_state()))
    objects = json.loads(f"[{text.replace(chr(10), ',')}]", object_pairs_hook=dict)

    def changed(item: Any) -> Any:
        if isinstance(item, list):
            return [changed(part) for part in item]
        if not isinstance(item, dict):
            return item
        return {key: value if key == pointer else changed(part) for key, part in item.items()}

    state = "\n".join(map(json.dumps, changed(objects)))
    question = ("schedule", "--change", "scale rs/web-1 --replicas=0")
    assert judge_state(tmp_path, state, *question, name="x.json").code in (0, 1, 2)


def test_pods_are_removed_where_nobody_knows_the_time(tmp_path: Path) -> None:
    ready = [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]
    other = [{**ready[0], "lastTransitionTime": "2026-01-01T00:00:01Z"}]
    owner = [{"kind": "ReplicaSet", "apiVersion": "apps/v1", "name": "r", "uid": "u",
              "controller": True}]  # fmt: skip
    pods = [pod(name, node="a") for name in ("p", "q")]
    for each, conditions in zip(pods, (ready, other), strict=True):
        each["metadata"]["ownerReferences"] = owner
        each["status"] = {"phase": "Running", "conditions": conditions}
    state = "\n".join(map(json.dumps, [node("a"), *pods]))
    question = ("schedule", "--change", "scale rs/r --replicas=1")
    assert judge_state(tmp_path, state, *question, name="x.json").code == 0


def test_volumes_of_another_shape_are_no_defect_of_a_drain(tmp_path: Path) -> None:
    running = pod("p", node="a")
    running["spec"]["volumes"] = [{"name": "v", "emptyDir": "x"}]
    state = "\n".join(map(json.dumps, [node("a"), running]))
    question = ("schedule", "--change", "drain a")
    assert judge_state(tmp_path, state, *question, name="x.json").code in (0, 1, 2)


LINE = 'I0101 00:00:00.0 1 x.go:1] "{}" pod="default/{}"'


def test_a_pod_that_leaves_a_node_which_there_is_not_leaves_nothing(tmp_path: Path) -> None:
    before, after = tmp_path / "before.json", tmp_path / "after.json"
    own = [node("a"), pod("p"), pod("gone", node="lost")]
    before.write_text("\n".join(map(json.dumps, own)))
    after.write_text("\n".join(map(json.dumps, (node("a"), pod("p", node="a")))))
    content = [LINE.format("Attempting to schedule pod", "p")]
    content += [LINE.format("Delete event for scheduled pod", "gone")]
    files = ("--before", str(before), "--after", str(after))
    assert judge_file(tmp_path, "log", content, "audit", *files, "--scheduler-log", "{}").code == 0


@pytest.mark.parametrize("event", [
    {"involvedObject": "x"}, {"regarding": []}, {"series": "x"}, {"metadata": ["x"]},
    {"involvedObject": {"uid": []}}, {"reason": []}, {"eventTime": "0001-01-01T00:00:00"},
])  # fmt: skip
def test_events_of_another_shape_are_passed_over(event: dict[str, object], tmp_path: Path) -> None:
    own = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "reason": "Scheduled"}
    path = tmp_path / "after.json"
    content = [node("a"), pod("p", node="a"), {**own, **event}]
    before = tmp_path / "before.json"
    before.write_text("\n".join(map(json.dumps, (node("a"), pod("p")))))
    log = tmp_path / "scheduler.log"
    log.write_text(LINE.format("Attempting to schedule pod", "p"))
    arguments = ("audit", "--before", str(before), "--after", "{}", "--scheduler-log", str(log))
    assert judge_file(tmp_path, path.name, content, *arguments).code in (0, 1)


# -- changes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("""patch pc/high --type=merge -p '{"metadata": null}'""", "expected a name"),
        ("""patch pc/high --type=json -p '[{"op":"remove","path":"/metadata"}]'""", "a name"),
        ("""patch pod/web-1 --type=json -p '[{"op":"add","path":"/spec/containers/%s"}]'"""
         % ("9" * 30), "this path does not exist"),
        (f"drain {DIGITS}", "no node"),
        (f"scale deployment/web --replicas={DIGITS}", "takes a whole number"),
    ],
)  # fmt: skip
def test_a_change_of_nothing_that_there_is_is_refused(
    change: str, problem: str, tmp_path: Path
) -> None:
    assert problem in judge_change(tmp_path, change)


@pytest.mark.parametrize(
    "fields",
    [
        {"metadata": {"name": "web", "annotations": 5}},
        {"metadata": {"name": "web", "annotations": [LAST_APPLIED]}},
        {"spec": {"template": {"metadata": float("inf")}}},
        {"spec": {"template": {"spec": {"containers": [{"name": []}]}}}},
        {"spec": {"template": {"spec": {"containers": [{"name": {}}, None]}}}},
        {"spec": {"template": {"spec": {"volumes": "x"}}}},
        {"spec": None, "metadata": {"name": "web", "labels": 3}},
    ],
)  # fmt: skip
def test_a_manifest_of_another_shape_is_not_applied_to_what_is_there(
    fields: dict[str, object], tmp_path: Path
) -> None:
    manifest = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}
    changes = [{"apply": {**manifest, **fields}}]
    scenario = {"apiVersion": "ksched/v1", "kind": "Scenario", "changes": changes}
    state = written_state(tmp_path)
    arguments = ("schedule", "--state", state, "--scenario", "{}")
    assert judge_file(tmp_path, "s.json", scenario, *arguments).code == 2


def test_a_manifest_that_is_nested_deeply_is_no_defect(tmp_path: Path) -> None:
    manifest = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}
    path = tmp_path / "m.json"
    for depth in (300, 900):
        path.write_text(with_field(manifest, "[" * depth + "]" * depth))
        judge_change(tmp_path, f"apply -f {path}", None)


# -- files that say what to run -------------------------------------------------------------------


@pytest.mark.parametrize("field", [{"seeds": 2.0}, {"seeds": [1.0]}, {"plugins": ["a\x00.py"]}])
def test_a_sweep_of_another_shape_is_refused(field: dict[str, object], tmp_path: Path) -> None:
    sweep = sweep_of(**field)
    assert judge_file(tmp_path, "s.json", sweep, "sweep", "{}", "--dry-run").code == 2


@pytest.mark.parametrize("field", [
    {"trials": 2.0}, {"samplerSeed": 2**32},
    {"space": [{"path": "percentageOfNodesToScore", "between": [0, 10**400]}]},
    {"space": [{"path": "percentageOfNodesToScore", "between": [-(10**30), 1]}]},
])  # fmt: skip
def test_a_search_out_of_range_is_refused(field: dict[str, object], tmp_path: Path) -> None:
    tune = {
        **sweep_of(kind="Tune", seeds=1),
        "space": [{"path": "percentageOfNodesToScore", "between": [5, 100]}],
        "objectives": [{"metric": "nodesUsed", "goal": "minimize"}],
        "trials": 1,
    }
    assert judge_file(tmp_path, "t.json", {**tune, **field}, "tune", "{}").code == 2


def test_a_study_that_was_changed_is_none(tmp_path: Path) -> None:
    lines, path = study().splitlines(keepends=True), tmp_path / "study"
    arguments = list(study_command(str(path), tmp_path))
    (tmp_path / "cluster.yaml").symlink_to(EXAMPLES / "sweep" / "cluster.yaml")
    changes = (
        (0, b'"directions":[1]', b'"directions":[1,1]'), (0, b"op_code", b"op"),
        (-1, b'"values":[', b'"values":[1e400,'), (3, b'"param_value_internal":', b'"x":'),
    )  # fmt: skip
    for index, old, new in changes:
        changed = list(lines)
        changed[index] = changed[index].replace(old, new)
        assert changed != lines, old
        path.write_bytes(b"".join(changed))
        verdict = judged(arguments, path)
        assert (verdict.rule, verdict.code) == ("", 2), (old, verdict)
        assert "the study cannot be read" in verdict.errors


def test_a_study_whose_last_line_is_a_part_of_one_is_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "study"
    path.write_bytes(study()[:-20])
    (tmp_path / "cluster.yaml").symlink_to(EXAMPLES / "sweep" / "cluster.yaml")
    verdict = judged(list(study_command(str(path), tmp_path)), path)
    assert (verdict.rule, verdict.code) == ("", 0)
    other = b"a list of mine\nwithout an end"
    path.write_bytes(other)
    assert judged(list(study_command(str(path), tmp_path)), path).code == 2
    assert path.read_bytes().startswith(other)


@pytest.mark.parametrize("change", [
    {"placed": 10**400}, {"placed": -1}, {"seconds": float("nan")}, {"seconds": float("inf")},
    {"utilization": {"cpu": {"mean": 1, "max": 1, "stddev": 1, "more": "x"}}},
    {"metrics": {"m": float("-inf")}},
])  # fmt: skip
def test_figures_of_a_row_out_of_range_are_refused(
    change: dict[str, object], tmp_path: Path
) -> None:
    content = [{**rows_corpus()[0], **change}, ""]
    assert judge_file(tmp_path, "r.jsonl", content, "sweep", SWEEP, "--rows", "{}").code == 2


@pytest.mark.parametrize("text", [
    '{"x": %s}' % ("9" * 5000), '{"x": %s}' % ("[" * 3000 + "]" * 3000), '{"x": NaN}',
])  # fmt: skip
def test_a_number_that_nothing_holds_is_not_migrated(text: str, tmp_path: Path) -> None:
    kind = json.dumps({**KIND, "apiVersion": "kubescheduler.config.k8s.io/v1beta3"})
    content = f"{kind[:-1]}, {text[1:]}"
    assert judge_file(tmp_path, "c.json", content, "config", "migrate", "{}").code == 2


def test_a_list_where_labels_are_to_be_added_is_migrated(tmp_path: Path) -> None:
    configs = [
        {"name": "NodeLabel", "args": {"presentLabels": ["pool"]}},
        {"name": "NodeAffinity", "args": {"addedAffinity": [None]}},
    ]
    profile = {"plugins": {"filter": {"enabled": [{"name": "NodeLabel"}]}}, "pluginConfig": configs}
    old = {**KIND, "apiVersion": "kubescheduler.config.k8s.io/v1beta1", "profiles": [profile]}
    assert judge_file(tmp_path, "c.json", old, "config", "migrate", "{}").code in (0, 1)


@pytest.mark.parametrize("number", ["1e400", "-1e400", DIGITS])
def test_a_number_out_of_range_in_a_configuration_is_shown(number: str, tmp_path: Path) -> None:
    shape = f'[{{"utilization": {number}, "score": 1}}]'
    args = f'{{"scoringStrategy": {{"requestedToCapacityRatio": {{"shape": {shape}}}}}}}'
    config = f'{{"name": "NodeResourcesFit", "args": {args}}}, {{"name": "Own", "args": {number}}}'
    text = f'{json.dumps(KIND)[:-1]}, "profiles": [{{"pluginConfig": [{config}]}}]}}'
    for command in (("validate",), ("config", "show")):
        judge_file(tmp_path, "c.json", text, *command, "{}")


def test_digits_without_end_in_a_required_value_are_refused(tmp_path: Path) -> None:
    expression = {"key": "a", "operator": "Gt", "values": [DIGITS]}
    terms = {
        "nodeSelectorTerms": [{"matchExpressions": [expression], DIGITS: 1, f"x[{DIGITS}]": 1}]
    }
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    config = {"name": "NodeAffinity", "args": {"addedAffinity": affinity}}
    profile = {"pluginConfig": [config], f"y[{DIGITS}]": 1}
    assert (
        judge_file(tmp_path, "c.json", {**KIND, "profiles": [profile]}, "validate", "{}").code == 1
    )


def test_names_of_files_without_end_are_refused(tmp_path: Path) -> None:
    state = written_state(tmp_path)
    lines = [
        ("snapshot", DIGITS, "--state", state),
        ("validate", "--allow-plugins", f"{'A,' * 400}B", state),
        ("snapshot", str(tmp_path / "o.json"), "--state", state, "--redact-key", DIGITS),
        ("replay", DAY, "--state", STATE, "--save-state", DIGITS),
        ("schedule", "--live", "--kubeconfig", DIGITS), ("schedule", "--plugin", f"{DIGITS}.py"),
        ("timeline", "generate", state, "--pods", DIGITS),
        ("timeline", "generate", state, "--pods", "9" * 12),
        ("sweep", SWEEP, "--run-timeout", "1e300"), ("sweep", SWEEP, "--workers", "9" * 12),
    ]  # fmt: skip
    for line in lines:
        verdict = judged(line, Path(state))
        assert not verdict.rule, verdict
        assert verdict.code in (1, 2)


def test_a_pager_with_an_open_quote_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PAGER", "'less")
    _page("a result")
    assert capsys.readouterr().out == "a result\n"


def test_a_null_spec_of_a_workload_is_patched(tmp_path: Path) -> None:
    objects = own_state()
    for item in objects:
        if item["kind"] == "ReplicaSet":
            item["spec"] = None
    change = """patch deployment/web -p '{"spec": {"template": {"spec": {"nodeName": "x"}}}}'"""
    state = "\n".join(map(json.dumps, objects))
    judge_state(tmp_path, state, "schedule", "--change", change, name="x.json")


def test_a_file_that_is_nested_deeply_is_validated(tmp_path: Path) -> None:
    text = f"a: {'[' * 1200}{']' * 1200}\nkind: KubeSchedulerConfiguration\n"
    assert judge_file(tmp_path, "c.yaml", text, "validate", "{}").code in (1, 2)
