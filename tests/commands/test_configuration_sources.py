"""A configuration is read alike by every command, wherever it is."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest
import yaml

from ksched_cli.testing import node, pod
from tests.commands.runners import Ksched
from tests.commands.test_audit import attempt, bound
from tests.commands.test_sweep import here  # noqa: F401  # a fixture
from tests.config.registries import HEAD
from tests.sweep.sweeps import write_state, write_sweep
from tests.sweep.test_tune_file import OBJECTIVES

pytestmark = pytest.mark.slow

# The pod goes to its node under this one only: another profile leaves it alone.
BATCH = HEAD + "profiles:\n- schedulerName: batch  # ours\n"
OTHER = HEAD + "profiles:\n- schedulerName: other\n"
NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: x}\n"
OBJECTS = (node("a"), pod("p", profile="batch"))
DECIDED = (node("a"), bound("p", "a", profile="batch"))


def config_map(name: str, namespace: str = "kube-system", **data: str) -> str:
    keys = "".join(f"  {key}.yaml: |\n{indent(text, '    ')}" for key, text in data.items())
    metadata = f"metadata: {{name: {name}, namespace: {namespace}}}"
    return f"apiVersion: v1\nkind: ConfigMap\n{metadata}\ndata:\n{keys}"


def as_json(text: str) -> str:
    return json.dumps(yaml.safe_load(text))


SEVERAL_KEYS = config_map("scheduler", other=OTHER, config=BATCH)
KUSTOMIZED = f"{NAMESPACE}---\n{SEVERAL_KEYS}---\n{config_map('batch', config=BATCH)}"
# What a file holds, and the NAME of the configuration in it.
SOURCES: dict[str, tuple[str, str]] = {
    "a plain file": (BATCH, ""),
    "a plain file that is named": (BATCH, "batch"),
    "JSON": (as_json(BATCH), ""),
    "the first of several documents": (f"{BATCH}---\n{OTHER}", ""),
    "the second of several documents": (f"{OTHER}---\n{BATCH}", "2"),
    "a document after others": (f"---\n# Source: x.yaml\n{NAMESPACE}---\n{BATCH}", ""),
    "a ConfigMap": (config_map("scheduler", config=BATCH), ""),
    "a key of a ConfigMap": (SEVERAL_KEYS, "config.yaml"),
    "JSON text in a ConfigMap": (config_map("scheduler", config=as_json(BATCH) + "\n"), ""),
    "a List": (as_json("kind: List\nitems:\n- " + indent(SEVERAL_KEYS, "  ")[2:]), "batch"),
    "text in a chart's values": (f"replicas: 2\nscheduler: |\n{indent(BATCH, '  ')}", ""),
    "a mapping in a chart's values": (f"replicas: 2\nscheduler:\n{indent(BATCH, '  ')}", ""),
    "an entry of a chart's values": (
        f"a:\n  config:\n{indent(OTHER, '    ')}b:\n  config:\n{indent(BATCH, '    ')}",
        "b.config",
    ),
    "kustomize's ConfigMaps": (KUSTOMIZED, "kube-system/scheduler:config.yaml"),
    "a ConfigMap by its name": (
        config_map("one", config=OTHER) + f"---\n{config_map('two', config=BATCH)}",
        "two",
    ),
    "a ConfigMap by its namespace": (
        config_map("c", "a", config=OTHER) + f"---\n{config_map('c', 'b', config=BATCH)}",
        "b/c",
    ),
}
# These name the configuration in a file of their own.
WITH_FILE = ("test", "sweep", "tune")
METRICS = {"placed": "maximize"}
TUNED = {
    "space": [{"path": "parallelism", "values": [8, 16]}],
    "objectives": OBJECTIVES,
    "seeds": 1,
    "trials": 1,
}
Run = Callable[[str, str], tuple[int, str, str]]


@pytest.fixture
def run(ksched: Ksched, tmp_path: Path) -> Run:
    """What a command answers with the configuration at a reference."""
    state, after = (
        write_state(tmp_path / f"{name}.json", *objects)
        for name, objects in (("state", OBJECTS), ("after", DECIDED))
    )
    (tmp_path / "batch.yaml").write_text(BATCH)
    log = tmp_path / "scheduler.log"
    log.write_text(attempt("p"))

    def run(command: str, reference: str) -> tuple[int, str, str]:
        if command == "tune" and find_spec("optuna") is None:
            pytest.skip("the extra tune is not installed")
        relative = reference.removeprefix(f"{tmp_path}/")
        expectations = {"state": "state.json", "config": relative, "expect": [{"pending": 0}]}
        (tmp_path / "expectations.yaml").write_text(
            json.dumps({"apiVersion": "ksched/v1", "kind": "Expectations", **expectations})
        )
        write_sweep(tmp_path, states=["state.json"], configurations=[relative], metrics=METRICS)
        write_sweep(tmp_path, "Tune", states=["state.json"], configuration=relative, **TUNED)
        arguments: dict[str, tuple[object, ...]] = {
            "schedule": ("--state", state, "--config", reference),
            "compare": (reference, "--state", state),
            "config diff": (reference, tmp_path / "batch.yaml"),
            "test": (tmp_path / "expectations.yaml",),
            "sweep": (tmp_path / "sweep.yaml",),
            "tune": (tmp_path / "tune.yaml",),
            "audit": (
                *("--before", state, "--after", after, "--config", reference),
                *("--scheduler-log", log),
            ),
        }
        given = map(str, arguments.get(command, (reference,)))
        return ksched(*command.split(), *given, "-o", "json", "-q")

    return run


def placed(answer: dict[str, Any]) -> list[float]:
    """How many pods each variant of a sweep places."""
    return [variant["metrics"]["placed"]["median"] for variant in answer["variants"]]


# By its result, whether a command goes by BATCH.
TOOK_EFFECT: dict[str, Callable[[dict[str, Any]], bool]] = {
    "schedule": lambda answer: answer["placements"] == {"default/p": "a"},
    "compare": lambda answer: [row["nodes"] for row in answer["pods"]] == [[None, "a"]],
    "config show": lambda answer: list(answer["profiles"]) == ["batch"],
    "config diff": lambda answer: answer["changes"] == [],
    "config migrate": lambda answer: (
        next(yaml.safe_load_all(answer["text"])) == yaml.safe_load(BATCH)
    ),
    "test": lambda answer: answer["cases"][0]["passed"],
    "sweep": lambda answer: placed(answer) == [1],
    "tune": lambda answer: answer["configuration"]["profiles"] == [{"schedulerName": "batch"}],
    "audit": lambda answer: (answer["decisions"], answer["agree"]) == (1, 1),
    "validate": lambda answer: answer["valid"],
}


@pytest.mark.parametrize("command", TOOK_EFFECT)
@pytest.mark.parametrize("source", SOURCES)
def test_every_command_takes_it(source: str, command: str, run: Run, tmp_path: Path) -> None:
    text, name = SOURCES[source]
    path = tmp_path / "config.yaml"
    path.write_text(text)
    code, out, err = run(command, f"{path}#{name}" if name else str(path))
    assert out, err
    assert TOOK_EFFECT[command](json.loads(out)), out
    assert code == (1 if command in ("compare", "tune") else 0)


@pytest.mark.parametrize("command", [name for name in TOOK_EFFECT if name not in WITH_FILE])
def test_standard_input_is_a_source(
    command: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = config_map("scheduler", config=BATCH).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
    _, out, err = run(command, "-")
    assert out, err
    assert TOOK_EFFECT[command](json.loads(out)), out


def test_a_configuration_in_standard_input_is_named(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(SEVERAL_KEYS.encode())))
    code, out, err = run("schedule", "-#config.yaml")
    assert (code, TOOK_EFFECT["schedule"](json.loads(out))) == (0, True), err


@pytest.mark.parametrize("command", ["schedule", "compare", "config diff", "audit"])
def test_standard_input_is_one_thing(command: str, ksched: Ksched) -> None:
    arguments, names = {
        "schedule": (("--config", "-#a", "--state", "-"), "--config and --state"),
        "compare": (("-", "-"), "CONFIG 1 and CONFIG 2"),
        "config diff": (("-", "-"), "A and B"),
        "audit": (
            ("--before", "-", "--after", "a", "--config", "-", "--scheduler-log", "l"),
            "--before and --config",
        ),
    }[command]
    code, out, err = ksched(*command.split(), *arguments)
    message = f"error: only one of {names} can be standard input\n"
    assert (code, out, err) == (2, "", message)


def test_standard_input_is_read_once_for_several_minors(
    ksched: Ksched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = write_state(tmp_path / "state.json", *OBJECTS)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(BATCH.encode())))
    sides = ("--kubernetes-version", "1.34", "--vs", "--kubernetes-version", "1.35")
    code, out, err = ksched("compare", "--config", "-", "--state", state, "-o", "json", *sides)
    assert code == 0, err
    assert [side["summary"]["placed"] for side in json.loads(out)["sides"]] == [1, 1]


UNREADABLE = {
    "a NAME that is not there": (SEVERAL_KEYS, "#confg.yaml", 'did you mean "config.yaml"?'),
    "a NAME of two": (KUSTOMIZED, "#config.yaml", '"config.yaml" is the name of 2 of these'),
    "a NAME where there is none": (NAMESPACE, "#config.yaml", "this file has no configuration"),
    "a NAME in what is no YAML": ("a: b: c\n", "#a", "not YAML"),
    "a missing file": (BATCH, "x#config.yaml", "there is no such file"),
}
SEVERAL = (SEVERAL_KEYS, "", "has 2 configurations")


@pytest.mark.parametrize("command", TOOK_EFFECT)
@pytest.mark.parametrize("source", [*UNREADABLE, "several"])
def test_what_cannot_be_chosen_is_the_same_error(
    source: str, command: str, run: Run, tmp_path: Path
) -> None:
    text, suffix, problem = UNREADABLE.get(source, SEVERAL)
    path = tmp_path / "config.yaml"
    path.write_text(text)
    code, out, err = run(command, f"{path}{suffix}")
    if (source, command) == ("several", "validate"):
        assert json.loads(out)["valid"]
        return
    assert (code, out) == (2, "")
    assert problem in err
    assert err == run("schedule", f"{path}{suffix}")[2]


REFUSED = {
    "a template": ("{{- if .Values.x }}\n" + BATCH, "render a template first"),
    "a template in a ConfigMap": (
        config_map("s", config=BATCH.replace("batch", "{{ .Values.name }}")),
        "render a template first",
    ),
    "nothing inside": (config_map("s", other=NAMESPACE), "no text in this ConfigMap's data is a"),
    "an empty file": ("", "the document is empty"),
    "a broken one": (
        config_map("s", config=BATCH + "paralelism: 3\n"),
        "config.yaml:10:5: ConfigMap kube-system/s: data.config.yaml: paralelism: ",
    ),
    "a text that is no YAML": (
        config_map("s", config=HEAD + "a: b: c\n"),
        "config.yaml:8:9: ConfigMap kube-system/s: data.config.yaml: not YAML: ",
    ),
}
# What reads a v1 configuration without judging it.
UNJUDGING = ("config migrate",)


@pytest.mark.parametrize("command", [name for name in TOOK_EFFECT if name not in UNJUDGING])
@pytest.mark.parametrize("source", REFUSED)
def test_what_validate_refuses_every_command_refuses_for_the_same_reason(
    source: str, command: str, run: Run, tmp_path: Path
) -> None:
    text, problem = REFUSED[source]
    path = tmp_path / "config.yaml"
    path.write_text(text)
    code, out, err = run(command, str(path))
    expected = run("schedule", str(path))[2]
    assert problem in expected
    if command != "validate":
        assert (code, out, err) == (2, "", expected)
        return
    finding = json.loads(out)["findings"][0]
    assert code == 1
    if text:
        assert f"{path}:{finding['line']}:{finding['column']}: " in expected
    assert finding["message"] in expected
    assert finding["hint"] in expected


@pytest.mark.parametrize("source", ["several keys", "kustomize"])
def test_what_validate_approves_is_chosen_by_its_number(
    source: str, run: Run, tmp_path: Path
) -> None:
    path = tmp_path / "config.yaml"
    path.write_text({"several keys": SEVERAL_KEYS, "kustomize": KUSTOMIZED}[source])
    files = json.loads(run("validate", str(path))[1])["files"]
    assert all(file["valid"] for file in files)
    for number, file in enumerate(files, start=1):
        name = "other" if "other" in file["object"] else "batch"
        assert list(json.loads(run("config show", f"{path}#{number}")[1])["profiles"]) == [name]


def test_a_listed_reference_is_taken(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(KUSTOMIZED)
    _, _, err = run("config show", str(path))
    listed = [line.split() for line in err.splitlines()[2:]]
    assert len(listed) == 3
    for reference, *_ in listed:
        assert run("config show", reference)[0] == 0


def test_a_migrated_configuration_stands_alone_and_remarks_have_the_lines_of_the_file(
    ksched: Ksched, tmp_path: Path
) -> None:
    path = tmp_path / "config.yaml"
    old = BATCH.replace("/v1\n", "/v1beta2\n")
    path.write_text(f"{NAMESPACE}---\n{config_map('s', other=OTHER, config=old)}")
    code, out, err = ksched("config", "migrate", f"{path}#config.yaml")
    assert (code, out.startswith(HEAD), out.count("# ours")) == (0, True, 1)
    assert "ConfigMap" not in out
    assert f"{path}:18: weights that v1beta2 had by default" in err


def test_patches_are_made_to_the_configuration_inside(ksched: Ksched, tmp_path: Path) -> None:
    write_state(tmp_path / "state.json", *OBJECTS)
    (tmp_path / "config.yaml").write_text(SEVERAL_KEYS)
    patches = [{"path": "profiles[0].schedulerName", "values": ["other", "batch"]}]
    file = write_sweep(
        tmp_path,
        states=["state.json"],
        configurations=["config.yaml#other.yaml"],
        patches=patches,
        metrics=METRICS,
    )
    code, out, err = ksched("sweep", file, "-o", "json")
    assert code == 0, err
    assert placed(json.loads(out)) == [0, 1]
