"""What Python programs are answered is what the commands print, to the byte."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from ksched_cli.answers import Answer
from ksched_cli.api import Run, compare
from tests.commands.runners import Ksched

EXAMPLES = Path(__file__).parents[2] / "examples"
FIRST = str(EXAMPLES / "first-cluster" / "cluster.yaml")
PREEMPTION = str(EXAMPLES / "preemption" / "cluster.yaml")
REPLAY = EXAMPLES / "replay"
DAY = str(REPLAY / "day.yaml")
PACKING = str(EXAMPLES / "packing" / "scheduler.yaml")
PLUGIN = str(EXAMPLES.parent / "plugins" / "template" / "packing.py")
RUN = Run(state=FIRST)
PREEMPTING = Run(state=PREEMPTION)
UPGRADED = "kubernetes.io/hostname in (apple, birch)"
OVER_TIME = Run(state=str(REPLAY / "cluster.yaml"))

CASES: dict[str, tuple[Sequence[str], Callable[[], Answer]]] = {
    "schedule": (["schedule", "--state", FIRST], RUN.schedule),
    "schedule, evicting": (["schedule", "--state", PREEMPTION], PREEMPTING.schedule),
    "schedule, traced": (
        ["schedule", "--state", FIRST, "--trace"],
        lambda: RUN.schedule(trace=True),
    ),
    "schedule with everything": (
        [
            *("schedule", "--state", FIRST, "--config", PACKING, "--plugin", PLUGIN),
            *("--kubernetes-version", "1.36", "--change", "drain apple", "--by", "zone"),
            *("--tie-break", "random", "--seed", "3", "--no-retries"),
            *("--patch", "percentageOfNodesToScore=50"),
        ],
        lambda: RUN.with_(
            config=PACKING,
            plugins=[PLUGIN],
            kubernetes_version="1.36",
            changes=["drain apple"],
            seed=3,
            retries=False,
            patches={"percentageOfNodesToScore": 50},
        ).schedule(by="zone"),
    ),
    "explain": (["explain", "web-1", "--state", FIRST], lambda: RUN.explain("web-1")),
    "explain, some nodes": (
        ["explain", "web-1", "--state", FIRST, "--node", "apple", "--alone"],
        lambda: RUN.explain("web-1", nodes=["apple"], alone=True),
    ),
    "explain --pending": (["explain", "--pending", "--state", FIRST], RUN.explain_pending),
    "preempt": (
        ["preempt", "too-big", "--state", FIRST],
        lambda: RUN.preempt("too-big"),
    ),
    "capacity": (["capacity", "web-1", "--state", FIRST], lambda: RUN.capacity("web-1")),
    "capacity --pending": (
        ["capacity", "--pending", "--like", "apple", "--like", "birch", "--state", FIRST],
        lambda: RUN.nodes_needed("apple", "birch"),
    ),
    "capacity --pending at prices": (
        [
            *("capacity", "--pending", "--like", "apple", "--like", "birch", "--state", FIRST),
            *("--price", "apple=3", "--price", "birch=1"),
        ],
        lambda: RUN.with_(prices=["apple=3", "birch=1"]).nodes_needed("apple", "birch"),
    ),
    "fix": (["fix", "too-big", "--state", FIRST], lambda: RUN.fix("too-big")),
    "shrink": (["shrink", "--state", FIRST, "--force"], lambda: RUN.shrink(force=True)),
    "fix --pending": (["fix", "--pending", "--state", FIRST], RUN.fix),
    "fix, some kinds": (
        ["fix", "too-big", "--state", FIRST, "--never", "request", "--top", "1"],
        lambda: RUN.fix("too-big", never=["request"], top=1),
    ),
    "shrink --repack": (
        ["shrink", "--state", FIRST, "--force", "--repack", "--max", "1", "--keep", "disk=hdd"],
        lambda: RUN.shrink(force=True, repack=True, maximum=1, keep="disk=hdd"),
    ),
    "shrink --repack --like": (
        ["shrink", "--state", FIRST, "--repack", "--like", "apple"],
        lambda: RUN.shrink(repack=True, like=["apple"]),
    ),
    "shrink --upgrade": (
        ["shrink", "--upgrade", "--state", FIRST, "--force", "-l", UPGRADED, "--surge", "2"],
        lambda: RUN.upgrade(UPGRADED, surge=2, force=True),
    ),
    "shrink at prices": (
        ["shrink", "--state", FIRST, "--force", "--price", "*=2"],
        lambda: RUN.with_(prices=["*=2"]).shrink(force=True),
    ),
    "drift": (["drift", "--state", FIRST], RUN.drift),
    "replay": (
        ["replay", DAY, "--state", str(REPLAY / "cluster.yaml"), "--trace"],
        lambda: OVER_TIME.replay(DAY, trace=True),
    ),
    "replay, some prices": (
        ["replay", DAY, "--state", str(REPLAY / "cluster.yaml"), "--price", "zone=none=1"],
        lambda: OVER_TIME.with_(prices=["zone=none=1"]).replay(DAY),
    ),
    "compare": (
        ["compare", "--state", FIRST, "--vs", "--change", "drain birch"],
        lambda: compare(RUN, RUN.with_(changes=["drain birch"])),
    ),
    "compare over time": (
        [
            *("compare", "--state", str(REPLAY / "cluster.yaml"), "--timeline", DAY),
            *("--vs", "--no-preemption"),
        ],
        lambda: compare(
            OVER_TIME.with_(timeline=DAY), OVER_TIME.with_(timeline=DAY, preemption=False)
        ),
    ),
}


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the environment are the command line's alone."""
    for name in [name for name in os.environ if name.startswith("KSCHED_")]:
        monkeypatch.delenv(name)


@pytest.mark.parametrize(("arguments", "ask"), CASES.values(), ids=CASES)
def test_the_bytes_are_the_command_lines(
    arguments: Sequence[str], ask: Callable[[], Answer], ksched: Ksched
) -> None:
    _, out, _ = ksched(*arguments, "-o", "json")
    assert f"{ask().to_json()}\n" == out


def test_draws_give_the_same_figures_but_for_the_time_they_took(ksched: Ksched) -> None:
    _, out, err = ksched("compare", "--state", FIRST, "--seeds", "2", "--vs", "--no-retries")
    answer = compare(RUN, RUN.with_(retries=False), seeds=2)
    assert "within the noise" in out, err
    assert [side.name for side in answer.sides] == ["with retries", "without retries"]


def test_which_group_would_get_nodes_is_the_command_lines_answer_too(
    ksched: Ksched, tmp_path: Path
) -> None:
    group = {"name": "large", "like": "birch", "maxSize": 4}
    file = tmp_path / "autoscaler.json"
    text = json.dumps({"apiVersion": "ksched/v1", "kind": "Autoscaler", "nodeGroups": [group]})
    file.write_text(text)
    arguments = ["explain", "too-big", "--state", FIRST, "--autoscaler", str(file)]
    _, out, _ = ksched(*arguments, "-o", "json")
    answer = RUN.with_(autoscaler=str(file)).explain("too-big")
    assert "scaleUp" in out
    assert f"{answer.to_json()}\n" == out
    given = RUN.with_(autoscaler={"nodeGroups": [group]}).explain("too-big")
    assert given.scale_up
    assert answer.scale_up
    assert given.scale_up.groups == answer.scale_up.groups
