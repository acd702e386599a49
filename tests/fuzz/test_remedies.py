"""Every remedy of `fix` and every hint of `explain` does what it says: made by --change, it places
the pods that it says; a smaller remedy of its kind does not. The states are the random ones that
the real scheduler is compared on.

    REMEDY_SEEDS=25 REMEDY_MINORS=1.34,1.37 python -m pytest tests/fuzz/test_remedies.py

That is 500 states or more of each minor; the suite takes few of one. --junitxml has the numbers of
remedies and hints that each test made (-o junit_family=xunit1).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from generate import FAMILIES, SINCE, WITH_EXTENDERS
from subject import call

from fuzz import case_of
from tests.thorough import is_thorough

pytestmark = pytest.mark.slow

SEEDS = range(int(os.environ.get("REMEDY_SEEDS", "1")))
MINORS = os.environ.get("REMEDY_MINORS", "1.37").split(",")
# Configurations are no states; extenders need a server; a replay's time is another question.
NAMES = [
    name
    for name in FAMILIES
    if name not in ("configs", "gates", *WITH_EXTENDERS) and "replay" not in name
][:: 1 if is_thorough() or len(SEEDS) > 1 else 3]
STATES = pytest.mark.parametrize(
    ("name", "seed", "minor"),
    [
        pytest.param(name, seed, minor, id=f"{minor}-{name}-{seed}")
        for minor in MINORS
        for name in NAMES
        for seed in SEEDS
        if SINCE.get(name, minor) <= minor
    ],
)


def options_of(name: str, seed: int, minor: str, folder: Path) -> list[str]:
    case = case_of(name, seed, minor)
    (folder / "state.json").write_text(case.state)
    options = ["--state", str(folder / "state.json"), "-o", "json"]
    options += ["--kubernetes-version", minor]
    if case.config is not None:
        (folder / "config.yaml").write_text(case.config)
        options += ["--config", str(folder / "config.yaml")]
    return options + (["--feature-gates", case.gates] if case.gates else [])


def shares_a_port(folder: Path) -> bool:
    """Whether two pods of a node have one host port, which no kubelet lets run. The scheduler
    forgets the port when the first of them leaves, and knows it again when it starts anew."""
    state = (folder / "state.json").read_text()
    pods = [each for each in yaml.safe_load(state)["items"] if each["kind"] == "Pod"]
    taken = [
        (node, port["hostPort"], port.get("protocol", "TCP"))
        for pod in pods
        if (node := pod["spec"].get("nodeName"))
        for container in pod["spec"]["containers"]
        for port in container.get("ports", ())
        if port.get("hostPort")
    ]
    return len(taken) > len(set(taken))


def lacking(options: list[str]) -> list[str]:
    """The pods that a run leaves without a node."""
    result = call("schedule", *options)
    return [*result.get("pending", ()), *result.get("gated", ())]


def with_changes(lines: list[str]) -> list[str]:
    return [part for line in lines for part in ("--change", line)]


def smaller_change(remedy: dict[str, Any]) -> list[str] | None:
    """The remedy with the least more of the only request that it lowers, else with a maxSkew of one
    less; None for other remedies."""
    if remedy["kinds"] not in (["request"], ["spread"]) or len(remedy["changes"]) > 1:
        return None
    (line,) = remedy["changes"]
    lowered = re.findall(r'"(cpu|memory|ephemeral-storage)":"(\d+)(m|[KMGT]i)?"', line)
    if remedy["kinds"] == ["request"] and len(lowered) == 1:
        ((name, amount, suffix),) = lowered
        scale = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}.get(suffix, 1)
        if name == "cpu":
            more = f"{int(amount) * (1 if suffix else 1000) + 1}m"
        else:
            more = str(int(amount) * scale + 1)
        return [line.replace(f'"{amount}{suffix}"', f'"{more}"')]
    raised = re.search(r"raise the maxSkew over (\S+) from (\d+) to (\d+)$", remedy["text"])
    if raised is None or int(raised[3]) - 1 == int(raised[2]):
        return None
    return [line.replace(f'"maxSkew":{raised[3]}', f'"maxSkew":{int(raised[3]) - 1}')]


def waits_in_time(pod: str, lines: list[str], options: list[str], folder: Path) -> bool:
    """Whether the pod may have no node where the changes are made after all others have theirs."""
    events = [{"at": 1_000, "change": line} for line in lines]
    timeline = {"apiVersion": "ksched/v1", "kind": "Timeline", "until": 3_000, "events": events}
    (folder / "timeline.json").write_text(json.dumps(timeline))
    # Any of several nodes of equal scores may be chosen.
    draws = [[], *(["--tie-break", "random", "--seed", str(seed)] for seed in range(6))]
    results = (call("replay", str(folder / "timeline.json"), *options, *draw) for draw in draws)
    return any(
        {each["pod"]: each["outcome"] for each in result["pods"]}[pod] != "running"
        for result in results
    )


@STATES
def test_every_remedy_places_the_pod_and_no_smaller_one_does(
    name: str,
    seed: int,
    minor: str,
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    options = options_of(name, 7_000 + seed, minor, tmp_path)
    count = 0
    waiting = lacking(options)
    for pod in waiting[:2]:
        answer = call("fix", pod, "--max-runs", "25", "--max-seconds", "600", *options)
        assert answer["kind"] == "Remedies", answer
        for remedy in answer["remedies"]:
            after = call("schedule", *options, *with_changes(remedy["changes"]))
            assert pod not in (*after["pending"], *after["gated"]), remedy
            count += 1
            smaller = smaller_change(remedy)
            if smaller is not None and not (after["evicted"] and shares_a_port(tmp_path)):
                other = call("schedule", *options, *with_changes(smaller))
                # More of a request may be had at the cost of others: another kind of remedy. Or
                # only if others wait for the change, too, which have their nodes by then.
                evicts = set(other["evicted"]) - set(after["evicted"])
                left = {*other["pending"], *other["gated"]}
                is_less = evicts or pod in left or left.difference(waiting)
                assert is_less or waits_in_time(pod, smaller, options, tmp_path), remedy
    record_property("remedies", count)


@STATES
def test_every_hint_helps_those_whom_it_says(
    name: str,
    seed: int,
    minor: str,
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    options = options_of(name, 8_000 + seed, minor, tmp_path)
    groups = call("explain", "--pending", *options).get("groups", ())
    without, count = set(lacking(options)), 0
    for group in groups:
        for hint in (group["diagnosis"] or {}).get("hints", ()):
            after = set(lacking([*options, *with_changes(hint["changes"])]))
            assert set(hint["places"]) <= set(group["pods"]) & without - after, hint
            assert after - without == set(hint["unplaces"]), hint
            assert len(group["pods"]) >= hint["waiting"] >= len(hint["places"]) > 0, hint
            count += 1
    for group in groups[:2]:
        pod = group["pods"][-1]
        diagnosis = call("explain", pod, *options).get("diagnosis") or {}
        for hint in diagnosis.get("hints", ()):
            assert pod not in lacking([*options, *with_changes(hint["changes"])]), hint
            count += 1
    record_property("hints", count)


def test_some_random_states_have_remedies(tmp_path: Path) -> None:
    """Or the test above shows nothing."""
    options = options_of("everything", 7_000, "1.34", tmp_path)
    remedies = [call("fix", pod, *options)["remedies"] for pod in lacking(options)]
    kinds = {kind for each in remedies for remedy in each for kind in remedy["kinds"]}
    assert {"toleration", "request", "node"} <= kinds
    groups = call("explain", "--pending", *options).get("groups", ())
    assert any((group["diagnosis"] or {}).get("hints") for group in groups)
