"""Typical mistakes of a plugin's author: what is printed names the plugin, the method and the pod,
and nothing is decided in silence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.testing import node, pod
from tests.commands.runners import Ksched, WriteState

HEAD = "from ksched_cli.api import *\n"
FILTER = """\
class P(FilterPlugin):
    name = "P"
    def filter(self, state, pod, node):
        return SUCCESS if "ok" in node.labels else Status.unschedulable("not ok")
"""
EXTENSIONS = """\
class P(PreFilterPlugin, PreFilterExtensions):
    name = "P"
    def pre_filter(self, state, pod, nodes): return None, SUCCESS
    def add_pod(self, *given): return SUCCESS
    def remove_pod(self, *given): return SUCCESS
"""
# A node that P lets pods on comes.
TIMELINE = [{"at": 10, "put": node("late", labels={"ok": "1"})}]


@pytest.fixture
def state(write_state: WriteState) -> Path:
    """A full node, whose pod leaves for the one that waits."""
    full = pod("low", cpu=1, node="full", priority=0)
    return write_state(node("full", cpu=1), full, pod("p", cpu=1, priority=5))


@pytest.fixture
def timeline(tmp_path: Path) -> Path:
    file = tmp_path / "timeline.json"
    document: dict[str, Any] = {"apiVersion": "ksched/v1", "kind": "Timeline", "events": TIMELINE}
    file.write_text(json.dumps(document))
    return file


@pytest.mark.parametrize(
    ("method", "problem"),
    [
        (
            "def events_to_register(self): raise ValueError('boom')",
            "events_to_register: ValueError: boom",
        ),
        (
            "def events_to_register(self): return None",
            "events_to_register returned None, expected pairs of a ClusterEvent and a hint",
        ),
        (
            "def events_to_register(self): return (ClusterEvent('Node', Action.ADD),)",
            "expected pairs of a ClusterEvent and a hint, or None in its place",
        ),
        (
            "def events_to_register(self): return ((ClusterEvent('Noode', Action.ADD), None),)",
            'names the resource "Noode", of which there are no events (did you mean "Node"?)',
        ),
        (
            "def events_to_register(self): return ((ClusterEvent('Node', Action.ADD), 1),)",
            "the hint of Node is 1, expected a function or None",
        ),
        (
            "def events_to_register(self):\n"
            "        def hint(pod, old, new): raise ValueError('boom')\n"
            "        return ((ClusterEvent('Node', Action.ADD), hint),)",
            "queueing hint: ValueError: boom (of default/p)",
        ),
        (
            "def events_to_register(self):\n"
            "        return ((ClusterEvent('Node', Action.ADD), lambda pod, old, new: None),)",
            "the hint returned NoneType, expected bool (of default/p)",
        ),
        (
            "def events_to_register(self):\n"
            "        return ((ClusterEvent('Node', Action.ADD), lambda pod: True),)",
            "queueing hint: TypeError",
        ),
    ],
)
def test_a_failure_between_attempts_is_told_and_the_pod_is_tried_as_upstream_does(
    ksched: Ksched,
    write_state: WriteState,
    timeline: Path,
    tmp_path: Path,
    method: str,
    problem: str,
) -> None:
    state = write_state(node("empty"), pod("p"))
    (tmp_path / "p.py").write_text(f"{HEAD}{FILTER}    {method}\n")
    plugin = ("--plugin", tmp_path / "p.py")
    code, out, err = ksched("replay", timeline, "--state", state, *plugin, "-o", "json")
    assert (code, json.loads(out)["summary"]["placed"]) == (3, 1), err
    assert "plugin P failed in " in err
    assert problem in err


@pytest.mark.parametrize(
    ("command", "text", "problem"),
    [
        (
            "replay",
            f"{FILTER}    def carry_over(self, previous): raise ValueError('boom')\n",
            "plugin P failed in carry_over: ValueError: boom",
        ),
        (
            "schedule",
            f"{EXTENSIONS}    def concerns(self, *given): raise ValueError('boom')\n",
            "plugin P failed in concerns: ValueError: boom (of default/p)",
        ),
        (
            "schedule",
            f"{EXTENSIONS}"
            "    def __init__(self, args, handle): handle.snapshot.subscribe(self)\n"
            "    def pod_added(self, pod, row): raise ValueError('boom')\n"
            "    def pod_removed(self, pod, row): pass\n",
            "plugin P failed in pod_added: ValueError: boom (of default/p",
        ),
    ],
)
def test_a_failure_besides_a_status_ends_with_3_and_is_no_defect_of_ksched(
    ksched: Ksched,
    state: Path,
    timeline: Path,
    tmp_path: Path,
    command: str,
    text: str,
    problem: str,
) -> None:
    (tmp_path / "p.py").write_text(HEAD + text)
    files = (timeline,) if command == "replay" else ()
    code, _, err = ksched(command, *files, "--state", state, "--plugin", tmp_path / "p.py")
    assert (code, problem in err, "has a defect" in err) == (3, True, False), err


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            f"{FILTER}    def add_pod(self, *given): return SUCCESS\n",
            "P has add_pod, which nobody would call, as it does not extend PreFilterExtensions; "
            "write `class P(FilterPlugin, PreFilterExtensions)`",
        ),
        (
            f"{FILTER}    def less(self, first, second): return True\n",
            "P has less, which nobody would call, as it does not extend QueueSortPlugin",
        ),
        (
            f"{FILTER}    def reserve(self, *given): return SUCCESS\n",
            "write `class P(FilterPlugin, ReservePlugin)`",
        ),
        (
            f"{FILTER}    def normalize_scores(self, *given): return given[-1]\n",
            "write `class P(FilterPlugin, NormalizeScore)`",
        ),
        (
            f"{FILTER}    def explain_filter(self, *given): return ()\n",
            "write `class P(FilterPlugin, Explains)`",
        ),
        *(
            (
                f"{FILTER}    def {method}(self, *given): return None\n",
                f"write `class P(FilterPlugin, {base})`",
            )
            for method, base in (
                ("pre_score", "PreScorePlugin"),
                ("sign_pod", "SignPlugin"),
                ("metrics", "Measures"),
                ("generate_placements", "PlacementGeneratePlugin"),
                ("placement_feasible", "PlacementFeasiblePlugin"),
                ("pod_group_post_filter", "PodGroupPostFilterPlugin"),
            )
        ),
        (
            "class P:\n    name = 'P'\n    def filter(self, state, pod, node): return SUCCESS\n",
            "P extends no class of ksched_cli.api: write `class P(FilterPlugin)`",
        ),
        (
            f"{FILTER}@hookimpl\ndef ksched_plugins(): return [P]\n",
            'expected a dict from names to a class each; write return {"P": P}',
        ),
        ("class P(Plugin):\n    name = 'P'\n", "P extends no extension point"),
        ("class P(FilterPlugin):\n    name = 'P'\n    reads = 'Quota'\n", "expected a tuple"),
        ("x = 1\n", "it has no plugin class with a `name`"),
        ("import nothing_of_this_name\n", "No module named"),
    ],
)
def test_what_can_be_seen_of_a_class_is_refused_when_it_is_loaded(
    ksched: Ksched, state: Path, tmp_path: Path, text: str, problem: str
) -> None:
    (tmp_path / "p.py").write_text(HEAD + text)
    code, out, err = ksched("schedule", "--state", state, "--plugin", tmp_path / "p.py")
    assert (code, out) == (2, "")
    assert problem in " ".join(err.split())
    assert "p.py" in err


COUNTS = """\
class P(PreFilterPlugin, PreFilterExtensions, FilterPlugin):
    '''At most three pods of a namespace in the whole cluster.'''
    name = "P"
    def pre_filter(self, state, pod, nodes):
        pods = [other for row in self.handle.snapshot.pods for other in row]
        state.write("count", KIND(sum(other.namespace == pod.namespace for other in pods)))
        return None, SUCCESS
    def add_pod(self, state, pod, added, node):
        state.read("count")["now"] += 1
        return SUCCESS
    def remove_pod(self, state, pod, removed, node):
        state.read("count")["now"] -= 1
        return SUCCESS
    def filter(self, state, pod, node):
        return Status.unschedulable("full") if state.read("count")["now"] >= 3 else SUCCESS
"""


def test_a_plain_dict_in_the_cycle_state_is_copied_for_each_trial(
    ksched: Ksched, write_state: WriteState, tmp_path: Path
) -> None:
    kind = "def KIND(count): return {'now': count}\n"
    (tmp_path / "p.py").write_text(HEAD + kind + COUNTS)
    ages = {"a1": ("a", 1), "a2": ("a", 5), "b1": ("b", 1), "c1": ("c", 2)}
    running = (pod(name, node=on, priority=age) for name, (on, age) in ages.items())
    nodes = (node(name, cpu=8) for name in "abc")
    state = write_state(*nodes, *running, pod("vip", priority=100))
    out = ksched("schedule", "--state", state, "--plugin", tmp_path / "p.py", "-o", "json")[1]
    answer = json.loads(out)
    assert answer["placements"] == {"default/vip": "a"}
    assert set(answer["evicted"]) == {"default/a1", "default/a2"}


def test_a_value_that_trials_would_share_is_refused_where_it_is_written(
    ksched: Ksched, state: Path, tmp_path: Path
) -> None:
    kind = "class KIND:\n    def __init__(self, count): self.count = count\n"
    (tmp_path / "p.py").write_text(HEAD + kind + COUNTS)
    code, _, err = ksched("schedule", "--state", state, "--plugin", tmp_path / "p.py")
    assert code == 3
    assert "plugin P failed in preFilter: it wrote a KIND into the CycleState" in err
    assert "give KIND a method `clone`, or freeze it" in " ".join(err.split())


def test_debug_tells_of_a_value_whose_clone_shares_what_one_trial_changes(
    ksched: Ksched, state: Path, tmp_path: Path
) -> None:
    kind = (
        "class KIND:\n"
        "    def __init__(self, count): self.counts = {'now': count + 2}\n"
        "    def __getitem__(self, key): return self.counts[key]\n"
        "    def __setitem__(self, key, count): self.counts[key] = count\n"
        "    def clone(self):\n"
        "        twin = KIND(0)\n"
        "        twin.counts = self.counts\n"
        "        return twin\n"
    )
    (tmp_path / "p.py").write_text(HEAD + kind + COUNTS)
    command = ("schedule", "--state", state, "--plugin", tmp_path / "p.py")
    shared = (
        'plugin P failed in remove_pod: it changed "count" in the CycleState of one trial for the '
        "others, too: `clone` of KIND shares what can change (of default/p)"
    )
    assert shared not in " ".join(ksched(*command)[2].split())
    code, _, err = ksched(*command, "--debug")
    assert code == 3
    assert shared in " ".join(err.split())


def test_a_pods_labels_cannot_be_written_to(
    ksched: Ksched, write_state: WriteState, tmp_path: Path
) -> None:
    text = FILTER.replace("        return", "        pod.labels['x'] = 'y'\n        return")
    (tmp_path / "p.py").write_text(HEAD + text)
    pods = (pod(name, labels={"a": "b"}) for name in "pq")
    state = write_state(node("n"), *pods)
    code, _, err = ksched("schedule", "--state", state, "--plugin", tmp_path / "p.py")
    assert code == 3
    assert "does not support item assignment (of default/p, default/q)" in " ".join(err.split())
