"""Laws that hold of any Run, whatever its axes are: asked through the command line.

COMBINATIONS=2000 python -m pytest tests/fuzz/test_combinations.py     many more than the suite
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from combinations import (
    PATCHES,
    WEIGHT,
    Combination,
    Object,
    combination,
    key_of,
    over_time,
    write_state,
)
from corpora import RANDOM_FAMILIES
from generate import case as random_case
from judge import ran
from msgspec.structs import replace

from ksched_cli.cluster.redaction.codebook import Codes
from ksched_cli.cluster.redaction.redact import redacted
from ksched_cli.run.run import ChangeSource, Run, arguments_of
from ksched_cli.testing import pod
from tests.live.fake_api_server import SERVED, ApiServer, write_kubeconfig
from tests.thorough import is_thorough

pytestmark = pytest.mark.slow

COUNT = int(os.environ.get("COMBINATIONS", "6" if is_thorough() else "2"))
FIRST = int(os.environ.get("FIRST_COMBINATION", "0"))
SEEDS = range(FIRST, FIRST + COUNT)
# What a run writes to volumes and claims is not in its result.
PLAIN = ("resources", "taints", "node_affinity", "inter_pod", "spread", "preempt", "retries")
NAMESPACED = frozenset(
    kind for kinds in SERVED.values() for kind, (_, is_namespaced) in kinds.items() if is_namespaced
)
IGNORED = ("kubernetesVersion", "kubernetesVersionFrom", "warnings", "changes")


@pytest.fixture(autouse=True)
def no_version_but_the_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KSCHED_KUBERNETES_VERSION")


def answer_of(*arguments: str) -> tuple[int, Any]:
    """The exit code and the document of a question, without what was done to the state and what is
    said of its files; of one that cannot be asked, None. It is never a defect."""
    code, out, err = ran((*arguments, "-o", "json"))
    assert code in (0, 1, 2), (arguments, err)
    if code == 2:
        assert "error" in err.lower(), err
        return code, None
    document = json.loads(out)
    return code, {name: value for name, value in document.items() if name not in IGNORED}


def options(run: Run) -> tuple[str, ...]:
    return tuple(arguments_of(run))


def with_lines(run: Run, *lines: str) -> Run:
    return replace(run, changes=(*run.changes, *(ChangeSource(line=line) for line in lines)))


def any_run(seed: int, folder: Path) -> Combination:
    """Every third is over time."""
    drawn = combination(seed, folder)
    return over_time(drawn, seed, folder) if seed % 3 == 2 else drawn


@pytest.mark.parametrize("seed", SEEDS)
def test_the_options_of_a_run_describe_it_and_its_json_decides_alike(
    seed: int, tmp_path: Path
) -> None:
    run = any_run(seed, tmp_path).run
    code, compared = answer_of("compare", *options(run), "--vs")
    if code == 2:
        return
    first, second = compared["sides"]
    read = msgspec.json.decode(json.dumps(first["run"]), type=Run)
    assert read == run
    assert first["summary"] == second["summary"]
    assert answer_of("schedule", *options(read)) == answer_of("schedule", *options(run))


def test_most_runs_can_be_asked(tmp_path: Path) -> None:
    """Or the laws show nothing."""
    runs = [any_run(seed, tmp_path).run for seed in range(30)]
    assert sum(answer_of("schedule", *options(run))[0] != 2 for run in runs) > len(runs) / 2


@pytest.mark.parametrize("seed", SEEDS)
def test_a_change_and_its_inverse_leave_everything(seed: int, tmp_path: Path) -> None:
    drawn = combination(seed, tmp_path)
    whole = answer_of("schedule", *options(drawn.run))
    new = write_state(tmp_path / "new.json", [pod("law-pod", cpu="1m", namespace="law")])
    pairs = [[f"apply -f {new}", "delete pod/law-pod -n law"]]
    cordoned = {
        n["metadata"]["name"] for n in drawn.objects if (n.get("spec") or {}).get("unschedulable")
    }
    # A node that a change of the Run deletes or cordons has no inverse here.
    touched = " ".join(change.line for change in drawn.run.changes)
    if drawn.run.changes and not touched:
        return
    for node in drawn.nodes[:1]:
        if node not in cordoned and node not in touched:
            pairs.append([f"cordon {node}", f"uncordon {node}"])
        pairs.append([f"label nodes {node} inverse=yes", f"label nodes {node} inverse-"])
        pairs.append([f"taint nodes {node} inverse=yes:NoSchedule", f"taint nodes {node} inverse-"])
        pairs.append(
            [
                f"add-nodes inverse --like {node} --count 2",
                "delete node/inverse-1",
                "delete node/inverse-2",
            ]
        )
    for lines in pairs:
        assert answer_of("schedule", *options(with_lines(drawn.run, *lines))) == whole, lines


@pytest.mark.parametrize("seed", SEEDS)
def test_sides_may_be_in_any_order(seed: int, tmp_path: Path) -> None:
    run = any_run(seed, tmp_path).run
    sides = [
        (),
        ("--no-preemption",) if run.preemption else ("--no-retries",),
        ("--feature-gates", "SchedulerQueueingHints=true"),
    ]

    def compared(order: tuple[int, ...]) -> Any:
        first, *others = (sides[index] for index in order)
        more = [part for side in others for part in ("--vs", *side)]
        # What follows --vs is added to the first side: a bare first side is put in front.
        code, document = answer_of("compare", *options(run), "--vs", *first, *more)
        if document is None:
            return code
        by_order = dict(zip(order, document["sides"][1:], strict=True))
        return {
            index: (side.get("summary"), side.get("waits"), side.get("kubernetesVersion"))
            for index, side in by_order.items()
        }

    assert compared((0, 1, 2)) == compared((2, 0, 1)) == compared((1, 2, 0))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_test_expects_what_schedule_decides(seed: int, tmp_path: Path) -> None:
    run = combination(seed, tmp_path).run
    code, decided = answer_of("schedule", *options(run))
    if code == 2:
        return
    expect: list[Object] = [
        {"pending": len(decided["pending"])},
        {"evicted": len(decided["evicted"])},
        *({"pod": name, "on": node} for name, node in decided["placements"].items()),
        *({"pod": name, "pending": True} for name in decided["pending"]),
        *({"pod": name, "evicted": True} for name in decided["evicted"]),
    ]
    scenario = run.changes[0].scenario if run.changes else ""
    lines = (
        json.loads(Path(scenario).read_text())["changes"]
        if scenario
        else [change.line for change in run.changes]
    )
    document: Object = {
        "apiVersion": "ksched/v1",
        "kind": "Expectations",
        "state": list(run.states),
        "expect": expect,
        "kubernetesVersion": run.kubernetes_version,
        "noWorkloads": not run.workloads,
        "noPreemption": not run.preemption,
        "noRetries": not run.retries,
        "noExtenders": not run.extenders,
        **({"config": run.configuration} if run.configuration else {}),
        **({"patches": msgspec.to_builtins(run.patches)} if run.patches else {}),
        **({"plugins": list(run.plugins)} if run.plugins else {}),
        **({"featureGates": run.feature_gates} if run.feature_gates else {}),
        **(
            {"minCompatibilityVersion": run.min_compatibility_version}
            if run.min_compatibility_version
            else {}
        ),
        **({"seeds": [run.seed]} if run.seed is not None else {}),
        **({"changes": lines} if lines else {}),
    }
    (tmp_path / "expect.json").write_text(json.dumps(document))
    code, result = answer_of("test", str(tmp_path / "expect.json"))
    assert code == 0, result
    assert all(case["passed"] for case in result["cases"])


@pytest.mark.parametrize("seed", SEEDS)
def test_every_remedy_of_any_run_places_the_pod(seed: int, tmp_path: Path) -> None:
    run = combination(seed, tmp_path, *PLAIN).run
    _, decided = answer_of("schedule", *options(run))
    for name in list(decided["pending"] if decided else ())[:1]:
        _, answer = answer_of(
            "fix", name, "--max-runs", "20", "--max-seconds", "600", *options(run)
        )
        for remedy in answer["remedies"]:
            _, after = answer_of("schedule", *options(with_lines(run, *remedy["changes"])))
            assert name not in (*after["pending"], *after["gated"]), remedy


def settled(objects: list[Object], decided: Mapping[str, Any]) -> list[Object]:
    """The objects after a run."""
    after = []
    for item in objects:
        key = key_of(item) if item["kind"] == "Pod" else ""
        if key in decided["evicted"]:
            continue
        node = decided["placements"].get(key)
        after.append({**item, "spec": {**item["spec"], "nodeName": node}} if node else item)
    return after


@pytest.mark.parametrize("seed", SEEDS)
def test_nodes_that_could_go_can_all_be_drained(seed: int, tmp_path: Path) -> None:
    drawn = combination(seed, tmp_path, *PLAIN)
    run = replace(drawn.run, changes=(), workloads=False)
    _, decided = answer_of("schedule", *options(run))
    if decided is None:
        return
    after = replace(
        run, states=(write_state(tmp_path / "after.json", settled(drawn.objects, decided)),)
    )
    _, answer = answer_of("shrink", "--force", "--delete-emptydir-data", *options(after))
    gone = [node["node"] for node in answer["nodes"] if node["removable"]]
    drains = [f"drain {node} --force --delete-emptydir-data" for node in gone]
    _, drained = answer_of("schedule", *options(with_lines(after, *drains)))
    were_pending = {pod for group in answer["pending"] for pod in group["pods"]}
    assert set(drained["pending"]) <= were_pending
    assert not set(drained["placements"].values()) & set(gone)


# -- redaction ------------------------------------------------------------------------------------


UNCONFIGURED = tuple(
    name for name in RANDOM_FAMILIES if "replay" not in name and random_case(name, 0).config is None
)


class Names:
    """What pods and nodes are called after a redaction."""

    def __init__(self, pods: Mapping[str, str], nodes: Mapping[str, str]) -> None:
        self.pods, self.nodes = pods, nodes

    def of(self, value: Any) -> Any:
        """Numbers, truth, shape, and the names of pods and nodes; other texts are only there. In
        no order, as some lists are ordered by texts that are others now."""
        if isinstance(value, dict):
            pairs = ([self.of(name), self.of(item)] for name, item in value.items())
            return sorted(pairs, key=repr)
        if isinstance(value, list):
            return sorted(map(self.of, value), key=repr)
        return self._text(value) if isinstance(value, str) else value

    def _text(self, text: str) -> str:
        return self.pods.get(text) or self.nodes.get(text) or "a text"

    @property
    def after(self) -> Names:
        """The same of the renamed state."""
        return Names(*({new: new for new in each.values()} for each in (self.pods, self.nodes)))


def renamed_run(drawn: Combination, folder: Path) -> tuple[Run, Names]:
    """The Run over the redacted state."""
    changed, renamer = redacted(
        [json.dumps(item).encode() for item in drawn.objects], Codes.empty()
    )
    path = write_state(folder / "redacted.json", [json.loads(item) for item in changed])
    pods = {
        key: f"{renamer.namespace(namespace)}/{renamer.name(name)}"
        for key in drawn.pods
        for namespace, _, name in [key.partition("/")]
    }
    nodes = {node: renamer.sorted_name(node) for node in drawn.nodes}
    return replace(drawn.run, states=(path,)), Names(pods, nodes)


def waiting(objects: list[Object]) -> list[str]:
    return [
        key_of(item)
        for item in objects
        if item["kind"] == "Pod" and not item["spec"].get("nodeName")
    ]


# Questions, about a pod "POD" and a node "NODE".
QUESTIONS = {
    "schedule": ("schedule", "--trace"),
    "explain": ("explain", "POD"),
    "pending": ("explain", "--pending"),
    "preempt": ("preempt", "POD"),
    "capacity": ("capacity", "POD", "--max", "20"),
    "fix": ("fix", "POD", "--max-runs", "15", "--max-seconds", "600"),
    "shrink": ("shrink", "--force"),
    "drift": ("drift",),
    "compare": ("compare", "--vs", "--no-preemption"),
}


def is_alike(answer: Any, renamed: Any, names: Names) -> bool:
    return bool(names.of(list(answer)) == names.after.of(list(renamed)))


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_redacted_state_gives_the_renamed_answer(
    seed: int, question: str, tmp_path: Path
) -> None:
    drawn = combination(seed, tmp_path, *UNCONFIGURED)
    # Plugins read names; the names in a case's configuration are not changed with the state's.
    run = replace(drawn.run, plugins=(), changes=(), feature_gates="", configuration="")
    drawn = Combination(
        replace(run, patches=PATCHES[: seed % 2]), drawn.objects, drawn.pods, drawn.nodes
    )
    changed, names = renamed_run(drawn, tmp_path)
    pods = waiting(drawn.objects)
    for name in pods[:1] if "POD" in QUESTIONS[question] else [""]:
        arguments = [name if part == "POD" else part for part in QUESTIONS[question]]
        others = [names.pods[name] if part == "POD" else part for part in QUESTIONS[question]]
        code, answer = answer_of(*arguments, *options(drawn.run))
        assert is_alike((code, answer), answer_of(*others, *options(changed)), names)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_redacted_timeline_gives_the_renamed_replay(seed: int, tmp_path: Path) -> None:
    """The pods that wait in the state are what a replay without events places."""
    drawn = combination(seed, tmp_path, *UNCONFIGURED)
    nothing = {
        "apiVersion": "ksched/v1",
        "kind": "Timeline",
        "start": "2026-01-02T00:00:00Z",
        "events": [],
    }
    (tmp_path / "nothing.json").write_text(json.dumps(nothing))
    run = replace(drawn.run, plugins=(), changes=(), patches=(), feature_gates="", configuration="")
    drawn = Combination(run, drawn.objects, drawn.pods, drawn.nodes)
    changed, names = renamed_run(drawn, tmp_path)
    command = ("replay", str(tmp_path / "nothing.json"), "--trace")
    assert is_alike(
        answer_of(*command, *options(run)), answer_of(*command, *options(changed)), names
    )


# -- where a state comes from ---------------------------------------------------------------------


def single_file(objects: list[Object], folder: Path) -> Iterator[tuple[str, ...]]:
    yield "--state", write_state(folder / "one.json", objects)


def many_files(objects: list[Object], folder: Path) -> Iterator[tuple[str, ...]]:
    parts = (objects[index : index + 5] for index in range(0, len(objects), 5))
    paths = [write_state(folder / f"part-{n}.json", part) for n, part in enumerate(parts)]
    yield tuple(part for path in paths for part in ("--state", path))


def a_folder(objects: list[Object], folder: Path) -> Iterator[tuple[str, ...]]:
    (folder / "dump" / "inner").mkdir(parents=True)
    for number, item in enumerate(objects):
        inner = "inner" if item["kind"] == "Pod" else ""
        (folder / "dump" / inner / f"{number:04}.json").write_text(json.dumps(item))
    yield "--state", str(folder / "dump")


def gzipped(objects: list[Object], folder: Path) -> Iterator[tuple[str, ...]]:
    text = "\n".join(map(json.dumps, objects))
    (folder / "objects.json.gz").write_bytes(gzip.compress(text.encode()))
    yield "--state", str(folder / "objects.json.gz")


def yaml_documents(objects: list[Object], folder: Path) -> Iterator[tuple[str, ...]]:
    text = "\n---\n".join(json.dumps(item, indent=1) for item in objects)
    (folder / "objects.yaml").write_text(f"# of several documents\n{text}\n")
    yield "--state", str(folder / "objects.yaml")


def a_pipe(objects: list[Object], folder: Path) -> Iterator[tuple[str, ...]]:
    path = folder / "pipe"
    os.mkfifo(path)
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    writer = threading.Thread(target=path.write_text, args=(text,))
    writer.start()
    yield "--state", str(path)
    writer.join()


def a_cluster(objects: list[Object], folder: Path) -> Iterator[tuple[str, ...]]:
    served = {version: dict(kinds) for version, kinds in SERVED.items()}
    for item in objects:
        kinds = served.setdefault(item["apiVersion"], {})
        kinds.setdefault(item["kind"], (f"{item['kind'].lower()}s", True))
    server = ApiServer(objects, served=served, page=7)
    try:
        kubeconfig = write_kubeconfig(folder / "kubeconfig", server.url)
        yield "--live", "--kubeconfig", str(kubeconfig)
    finally:
        server.close()


FORMS = (single_file, many_files, a_folder, gzipped, yaml_documents, a_pipe, a_cluster)


@pytest.mark.parametrize("seed", SEEDS)
def test_wherever_a_state_comes_from_it_is_decided_alike(seed: int, tmp_path: Path) -> None:
    drawn = combination(seed, tmp_path)
    objects = [in_namespace(item) for item in drawn.objects]
    rest = options(replace(drawn.run, states=()))
    answers = {
        form.__name__: answer_of("schedule", "--trace", *source, *rest)
        for form in FORMS
        for source in form(objects, tmp_path)
    }
    first = answers["single_file"]
    assert {name for name, answer in answers.items() if answer != first} == set()


def in_namespace(item: Object) -> Object:
    """As an API server has it: the namespace is there."""
    if item["kind"] not in NAMESPACED:
        return item
    return {**item, "metadata": {"namespace": "default", **item["metadata"]}}


# -- draws ----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("runs_here")
def test_seeds_give_the_same_rows_whoever_makes_the_runs(tmp_path: Path) -> None:
    drawn = combination(FIRST, tmp_path, "spread", "resources")
    sweep: Object = {
        "apiVersion": "ksched/v1",
        "kind": "Sweep",
        "states": write_state(tmp_path / "whole.json", drawn.objects),
        "kubernetesVersions": ["1.34", "1.36"],
        "patches": [{"path": WEIGHT, "values": [1, 9]}],
        "seeds": 3,
    }
    (tmp_path / "sweep.json").write_text(json.dumps(sweep))
    rows = []
    command = ["sweep", str(tmp_path / "sweep.json"), "--rows", str(tmp_path / "one")]
    assert ran(command)[0] == 0
    command[-1] = str(tmp_path / "two")
    command += ["--workers", "2"]
    done = subprocess.run(
        [sys.executable, "-m", "ksched_cli", *command],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for name in ("one", "two"):
        read = map(json.loads, (tmp_path / name).read_text().splitlines())
        rows.append({row["id"]: timeless(row) for row in read})
    assert rows[0] == rows[1]
    assert len(rows[0]) == 12


def timeless(row: Object) -> Object:
    return {name: value for name, value in row.items() if name not in ("seconds", "worker")}
