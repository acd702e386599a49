"""`ksched explain POD --autoscaler`: why an autoscaler would add no node for it, group by group."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.testing import node, pod
from tests.commands.runners import Ksched, WriteState
from tests.report.schemas import conforms

Groups = dict[str, Any]
FULL = (node("n", cpu=2), pod("full", node="n", cpu=2))
SIZE = {"status": {"capacity": {"cpu": "2", "memory": "8Gi", "pods": "110"}}}
TAINTED = {**SIZE, "spec": {"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]}}


def reviewed(
    ksched: Ksched,
    state: Path,
    name: str,
    *options: str,
    groups: list[Groups],
    **settings: Any,
) -> Any:
    """The answer about a pod, as JSON."""
    file = state.parent / "groups.json"
    header = {"apiVersion": "ksched/v1", "kind": "Autoscaler", **settings}
    file.write_text(json.dumps({**header, "nodeGroups": groups}))
    command = ("explain", name, "--state", state, "--autoscaler", str(file))
    _, out, err = ksched(*command, *options, "-o", "json")
    assert out, err
    answer = json.loads(out)
    conforms(answer, "explanation")
    return answer.get("scaleUp")


def verdicts(scale_up: Any) -> dict[str, tuple[str, int, int]]:
    return {
        each["group"]: (each["verdict"], each["adds"], each["pods"]) for each in scale_up["groups"]
    }


def test_each_group_says_what_it_would_do(ksched: Ksched, write_state: WriteState) -> None:
    """Three pods of a core wait: two small nodes, which waste less than the large one."""
    waiting = [pod(f"p{number}", cpu=1) for number in range(3)]
    large = {"status": {"capacity": {"cpu": "9", "memory": "64Gi", "pods": "110"}}}
    scale_up = reviewed(
        ksched,
        write_state(*FULL, *waiting),
        "p0",
        groups=[
            {"name": "small", "like": "n", "maxSize": 3},
            {"name": "large", "template": large, "maxSize": 3},
            {"name": "tainted", "template": TAINTED, "maxSize": 3},
            {"name": "none", "like": "n", "maxSize": 0},
        ],
    )
    assert scale_up["wouldScaleUp"]
    assert verdicts(scale_up) == {
        "small": ("scales up", 2, 3),
        "large": ("not chosen", 1, 3),
        "tainted": ("rejects", 0, 0),
        "none": ("at maxSize", 0, 0),
    }
    (rejection,) = scale_up["groups"][2]["rejections"]
    assert rejection["plugin"] == "TaintToleration"


def test_a_group_at_its_maximum_that_would_not_do_rejects(
    ksched: Ksched, write_state: WriteState
) -> None:
    groups = [{"name": "g", "like": "n", "maxSize": 0}]
    scale_up = reviewed(ksched, write_state(*FULL, pod("p", cpu=3)), "p", groups=groups)
    assert not scale_up["wouldScaleUp"]
    assert verdicts(scale_up) == {"g": ("rejects", 0, 0)}
    assert scale_up["groups"][0]["rejections"][0]["reasons"] == ["Insufficient cpu"]


def test_a_cluster_at_its_maximum_adds_nothing(ksched: Ksched, write_state: WriteState) -> None:
    groups = [{"name": "g", "like": "n", "maxSize": 3}]
    state = write_state(*FULL, pod("p", cpu=1))
    scale_up = reviewed(ksched, state, "p", groups=groups, maxNodesTotal=1)
    assert verdicts(scale_up) == {"g": ("at maxNodesTotal", 0, 0)}


def test_the_last_nodes_go_to_other_pods(ksched: Ksched, write_state: WriteState) -> None:
    """One more node, and the larger pod gets it."""
    state = write_state(*FULL, pod("large", cpu=2), pod("p", cpu=1))
    groups = [{"name": "g", "like": "n", "maxSize": 1}]
    assert verdicts(reviewed(ksched, state, "p", groups=groups)) == {"g": ("full", 0, 0)}
    assert verdicts(reviewed(ksched, state, "large", groups=groups)) == {"g": ("scales up", 1, 1)}


@pytest.mark.parametrize(
    ("waiting", "because"),
    [
        (pod("p", cpu=1, priority=-20), "its priority -20 is less than"),
        (pod("p", cpu=1, spec={"schedulingGates": [{"name": "later"}]}), "it is gated"),
    ],
)
def test_some_pods_get_no_node_whatever_the_groups_are(
    ksched: Ksched, write_state: WriteState, waiting: dict[str, Any], because: str
) -> None:
    groups = [{"name": "g", "like": "n", "maxSize": 3}]
    scale_up = reviewed(ksched, write_state(*FULL, waiting), "p", groups=groups)
    assert (scale_up["wouldScaleUp"], scale_up["groups"]) == (False, [])
    assert scale_up["because"].startswith(because)


def test_a_pod_with_a_node_is_not_asked_about(ksched: Ksched, write_state: WriteState) -> None:
    groups = [{"name": "g", "like": "n", "maxSize": 3}]
    state = write_state(node("n"), pod("p", cpu=1))
    assert reviewed(ksched, state, "p", groups=groups) is None


def test_with_a_timeline_it_is_asked_at_its_end(ksched: Ksched, write_state: WriteState) -> None:
    """By then the group has grown to its maximum for the first two pods."""
    state = write_state(*FULL)
    timeline = {
        "apiVersion": "ksched/v1",
        "kind": "Timeline",
        "events": [{"at": at, "pod": pod(f"p{at}", cpu=2)} for at in (0, 1, 500)],
    }
    file = state.parent / "timeline.json"
    file.write_text(json.dumps(timeline))
    groups = [{"name": "g", "like": "n", "maxSize": 2}]
    scale_up = reviewed(ksched, state, "p500", "--timeline", str(file), groups=groups)
    assert verdicts(scale_up) == {"g": ("at maxSize", 0, 0)}
    assert scale_up["groups"][0]["nodes"] == 2


def test_it_is_about_all_pending_pods(ksched: Ksched, write_state: WriteState) -> None:
    state = write_state(*FULL, pod("p", cpu=1))
    code, _, err = ksched("explain", "p", "--alone", "--autoscaler", "g.yaml", "--state", state)
    assert code == 2
    assert "--autoscaler looks at all pending pods and cannot be combined with --alone" in err


def test_the_text_and_the_page_say_it(ksched: Ksched, write_state: WriteState) -> None:
    state = write_state(*FULL, pod("p", cpu=1))
    file = state.parent / "groups.yaml"
    file.write_text(
        "apiVersion: ksched/v1\nkind: Autoscaler\nnodeGroups:\n- {name: g, like: 'n', maxSize: 4}\n"
    )
    command = ("explain", "p", "--state", state, "--autoscaler", str(file))
    code, out, _ = ksched(*command)
    assert code == 1
    assert "the autoscaler would add 1 node to g\n" in out
    assert "g           0 of 4  scales up  1 node for 1 pending pod\n" in out
    _, page, _ = ksched(*command, "-o", "html")
    assert "<h2" in page
    assert "the autoscaler would add 1 node to g" in page
    assert "1 node for 1 pending pod" in page
