"""KIND/NAME in a change, and the objects that it means."""

from __future__ import annotations

from pathlib import Path

import pytest

from ksched_cli.scenario.arguments import (
    Arguments,
    Target,
    find_object,
    find_workload,
    read_target,
    read_targets,
)
from ksched_cli.scenario.change import Change, ChangeError
from ksched_cli.scenario.nodes import Cordon, NodeChoice
from ksched_cli.scenario.owned_pods import WORKLOADS
from ksched_cli.testing import cluster, node
from tests.scenario.build import changed, owned, web, workload

CHANGE: Change = Cordon("the line", NodeChoice(()))


def arguments(*names: str, namespace: str = "") -> Arguments:
    return Arguments("the line", names, {}, namespace, Path())


@pytest.mark.parametrize(
    ("names", "targets"),
    [
        (("deploy/a",), [("Deployment", "a")]),
        (("deployments.apps/a", "sts/b"), [("Deployment", "a"), ("StatefulSet", "b")]),
        (("cronjob", "a", "b"), [("CronJob", "a"), ("CronJob", "b")]),
    ],
)
def test_kind_and_name_are_written_as_for_kubectl(
    names: tuple[str, ...], targets: list[tuple[str, str]]
) -> None:
    read = read_targets(arguments(*names, namespace="web"), WORKLOADS)
    assert [(target.kind, target.name) for target in read] == targets
    assert {target.namespace for target in read} == {"web"}
    assert read[0].text == f"{targets[0][0].lower()}/{targets[0][1]}"


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ((), "expected KIND/NAME, such as deployment/web"),
        (("deployment",), "expected KIND/NAME, such as deployment/web"),
        (("deployment/",), '"deployment/" is not accepted here'),
        (("node/a",), '"node/a" is not accepted here; expected KIND/NAME, with KIND one of deploy'),
        (("job/a", "job/b"), "expected one KIND/NAME"),
    ],
)
def test_what_is_no_single_workload_is_an_error(names: tuple[str, ...], message: str) -> None:
    with pytest.raises(ChangeError) as error:
        read_target(arguments(*names), WORKLOADS)
    assert message in str(error.value)


def test_a_name_in_several_namespaces_needs_one() -> None:
    other = workload("Deployment")
    other["metadata"]["namespace"] = "prod"
    state = cluster(node("n1"), workload("Deployment"), other)
    with pytest.raises(ChangeError, match=r"several match: default/web, prod/web"):
        changed(state, "delete deployment/web")
    after, _ = changed(state, "delete deployment/web -n prod")
    assert list(after.deployments) == [("default", "web")]


def test_the_namespace_of_a_target_chooses_among_several() -> None:
    far = workload("Deployment")
    far["metadata"]["namespace"] = "far"
    state = cluster(workload("Deployment"), far)
    kind, obj = find_object(CHANGE, state, Target("Deployment", "web", "far"))
    assert (kind.name, obj.key) == ("Deployment", "far/web")


def test_a_node_is_looked_for_without_a_namespace() -> None:
    _, obj = find_object(CHANGE, cluster(node("n1")), Target("Node", "n1", "web"))
    assert obj.name == "n1"


def test_a_name_that_is_not_there_is_an_error_with_the_nearest() -> None:
    with pytest.raises(ChangeError, match=r'no Node "n2" in the state \(1 Node\); did you mean n1'):
        find_object(CHANGE, cluster(node("n1")), Target("Node", "n2", ""))


def test_a_name_that_only_another_namespace_has_is_an_error_with_its_key() -> None:
    state = cluster(workload("Deployment"))
    with pytest.raises(ChangeError, match='"web" in namespace far; there is default/web'):
        find_object(CHANGE, state, Target("Deployment", "web", "far"))


def test_a_deployment_has_its_replica_sets_and_their_pods() -> None:
    state = web()
    deployment = find_workload(CHANGE, state, Target("Deployment", "web", ""))
    assert deployment.obj is state.deployments["default", "web"]
    assert deployment.replica_sets == tuple(state.replica_sets.values())
    assert deployment.pods == state.pods
    assert deployment.text == "Deployment default/web"


def test_a_workload_may_be_known_by_its_active_pods_alone() -> None:
    ended = owned("done", node="n1", status={"phase": "Failed"})
    state = cluster(node("n1"), owned("a", node="n1"), ended)
    replica_set = find_workload(CHANGE, state, Target("ReplicaSet", "web", ""))
    assert (replica_set.obj, [pod.name for pod in replica_set.pods]) == (None, ["a"])
