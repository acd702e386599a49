"""`ksched fix`: what it prints besides the table, and what its patches do."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from ksched_cli.testing import node, pod
from tests.commands.runners import Ksched, WriteState

EXAMPLES = Path(__file__).parents[2] / "examples"
DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {
        "replicas": 2,
        "strategy": {"type": "Recreate"},
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "3"}}}]},
        },
    },
}


def test_patches_of_manifests_are_documents_that_do_what_the_remedy_does(
    ksched: Ksched, write_state: WriteState
) -> None:
    path = write_state(node("a", cpu=4), DEPLOYMENT)
    question = ("deployment/web", "-n", "shop", "--state", path, "--never", "node")
    code, out, _ = ksched("fix", *question, "-o", "patch")
    assert code == 0
    (document,) = yaml.safe_load_all(out)
    assert (document["kind"], document["metadata"]) == (
        "Deployment",
        {"name": "web", "namespace": "shop"},
    )
    patch = json.dumps({"spec": document["spec"]})
    change = f"patch deployment/web -n shop -p '{patch}'"
    assert ksched("schedule", "--state", path)[0] == 1
    assert ksched("schedule", "--state", path, "--change", change)[0] == 0


def test_what_is_no_patch_of_a_manifest_is_a_comment(
    ksched: Ksched, write_state: WriteState
) -> None:
    path = write_state(node("a", unschedulable=True, taints=["x:NoSchedule"]), pod("p"))
    out = ksched("fix", "p", "--state", path, "-o", "patch")[1]
    assert out.startswith("# no patch of a manifest: uncordon a\n---\n")
    (document,) = filter(None, yaml.safe_load_all(out))
    assert document["spec"]["tolerations"][-1]["key"] == "x"


@pytest.mark.parametrize(("node_cpu", "text"), [(1, "# there is no remedy"), (4, "# nothing to")])
def test_without_a_remedy_there_is_no_document(
    node_cpu: int, text: str, ksched: Ksched, write_state: WriteState, tmp_path: Path
) -> None:
    path = write_state(node("a", cpu=node_cpu), pod("p", cpu=2))
    out = ksched("fix", "p", "--state", path, "--never", "node,request", "-o", "patch")[1]
    assert out.startswith(text)
    assert not [each for each in yaml.safe_load_all(out) if each]


@pytest.mark.parametrize(
    ("subject", "heading"),
    [
        ("cpg/job", "cpg/job, 4 pods without a node: "),
        ("podgroup/workers", "PodGroup ml/workers, 3 pods without a node: "),
        ("worker-1", "PodGroup ml/workers, 3 pods without a node: "),
    ],
)
def test_the_heading_names_what_has_the_pods(subject: str, heading: str, ksched: Ksched) -> None:
    names = ("GenericWorkload", "TopologyAwareWorkloadScheduling", "CompositePodGroup")
    gates = ",".join(f"{name}=true" for name in names)
    options = ("--kubernetes-version", "1.37", "--feature-gates", gates)
    state = EXAMPLES / "pod-groups" / "composite.yaml"
    out = ksched("fix", subject, "-n", "ml", "--state", state, *options)[1]
    assert out.startswith(heading)


# -- moves of running pods ------------------------------------------------------------------------


def running(name: str, there: str, app: str = "a", cpu: int | str = 2) -> dict[str, Any]:
    owner = {"kind": "ReplicaSet", "name": app, "uid": app, "controller": True}
    metadata = {"ownerReferences": [{**owner, "apiVersion": "apps/v1"}], "labels": {"app": app}}
    return pod(name, cpu=cpu, node=there, metadata=metadata)


HALF_FULL = (
    *(node(name, cpu=4) for name in "xyz"),
    running("a-1", "x"),
    running("b-1", "y", "b"),
    running("b-2", "z", "b"),
    pod("p", cpu=3),
)
# Neither are evictions that leave a pod without a node, nor smaller requests, what is asked for.
MOVES = ("fix", "p", "--never", "node,request,evict,scale,priority")


def test_moves_say_who_leaves_and_where_to_and_what_is_requested_then(
    ksched: Ksched, write_state: WriteState
) -> None:
    pytest.importorskip("ortools", reason="the extra optimum is not installed")
    path = write_state(*HALF_FULL)
    code, out, _ = ksched(*MOVES, "--state", path)
    assert code == 0
    assert "1. move default/b-2 from z to x" in out
    assert "z     cpu            2      3   4" in out
    assert "kubectl delete pods b-2 -n default" in out
    document = json.loads(ksched(*MOVES, "--state", path, "-o", "json")[1])
    (remedy,) = document["remedies"]
    (move,) = remedy["moves"]
    assert (move["pod"], move["fromNode"], move["toNode"]) == ("default/b-2", "z", "x")


@pytest.mark.parametrize(
    "never",
    [
        "app=a,app=b",
        "app in (a,b)",
        "app!=c",
        "!team",
        "replicaset/a,app==b",
        "replicaset/a,replicaset/b",
        "move",
    ],
)
def test_what_never_names_does_not_move(
    never: str, ksched: Ksched, write_state: WriteState
) -> None:
    path = write_state(*HALF_FULL)
    code, out, _ = ksched(*MOVES[:-1], f"{MOVES[-1]},{never}", "--state", path)
    assert code == 1
    assert ("no moves of running pods help, which is proven" in out) == (never != "move")


def test_never_takes_a_whole_selector(ksched: Ksched, write_state: WriteState) -> None:
    path = write_state(*HALF_FULL)
    for selector, code in (
        ("-l app,!team", 1),
        ("-l app in (a,b),app notin (c)", 1),
        ("-l app in (a,b),team", 0),
    ):
        assert ksched(*MOVES, "--never", selector, "--state", path)[0] == code
    err = ksched(*MOVES, "--never", "app in (c,d)", "--state", path)[2]
    assert "--never app in (c,d): the state has no such pod" in err


@pytest.mark.parametrize(
    ("never", "message"),
    [
        ("app in a", '--never app in a: -l: "app in a" is not a selector; expected KEY=VALUE'),
        ("app in (a", '--never app in (a: -l: "app in (a" is not a selector; expected KEY=VALUE'),
        ("moves", '"moves" is no kind of change'),
        ("a b=c", "--never a b=c: "),
        ("!", "--never !: "),
        ("=a", "--never =a: "),
    ],
)
def test_a_wrong_never_gets_one_line(
    never: str, message: str, ksched: Ksched, write_state: WriteState
) -> None:
    code, _, err = ksched("fix", "p", "--never", never, "--state", write_state(*HALF_FULL))
    assert code == 2
    assert message in err
    assert len(err.strip().splitlines()) == 1


def test_without_the_extra_only_an_answer_that_needs_it_is_an_error(
    monkeypatch: pytest.MonkeyPatch, ksched: Ksched, write_state: WriteState
) -> None:
    monkeypatch.setitem(sys.modules, "ortools", None)
    path = write_state(*HALF_FULL)
    code, out, _ = ksched("fix", "p", "--state", path)
    assert code == 0
    assert "the search for moves needs the extra optimum" in " ".join(out.split())
    code, _, err = ksched("fix", "p", "--state", path, "--max-moves", "2")
    assert code == 2
    assert "--max-moves needs the extra optimum" in err


def test_moves_for_all_that_wait_say_how_many_could_have_a_node(
    ksched: Ksched, write_state: WriteState
) -> None:
    pytest.importorskip("ortools", reason="the extra optimum is not installed")
    path = write_state(*HALF_FULL, pod("q", cpu=4))
    code, out, _ = ksched("fix", "--pending", *MOVES[2:], "--state", path)
    assert code == 1
    text = " ".join(out.split())
    assert "no moves of running pods help, which is proven" in text
    assert "wherever pods are moved, at most 1 of 2 get a node" in text


def test_a_search_that_ends_says_how_many_could_get_a_node(
    ksched: Ksched, write_state: WriteState
) -> None:
    pytest.importorskip("ortools", reason="the extra optimum is not installed")
    path = write_state(
        *(node(f"n{index}", cpu=8) for index in range(8)),
        *(
            running(f"{name}-{index}", f"n{index}", cpu=f"{cpu}m")
            for index in range(8)
            for name, cpu in (("a", 2400 + 100 * (index % 3)), ("b", 2600))
        ),
        *(pod(f"waits-{index}", cpu=f"{3300 + index}m") for index in range(9)),
    )
    never = ("--never", "node,request,evict,scale,priority", "--time-limit", "0.001")
    code, out, _ = ksched("fix", "--pending", "--state", path, *never)
    assert code == 1
    assert "no moves of running pods were found, which is no proof" in out
    assert "wherever pods are moved, at most 7 of 9 get a node" in out
