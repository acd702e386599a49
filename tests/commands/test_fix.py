"""`ksched fix`: what it prints besides the table, and what its patches do."""

import json
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
