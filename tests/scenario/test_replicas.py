"""The next replicas of a workload."""

from __future__ import annotations

import pytest

from ksched_cli.errors import UsageError
from ksched_cli.scenario.arguments import Target
from ksched_cli.scenario.replicas import next_replicas, workload_target
from ksched_cli.scenario.workloads import with_workloads
from ksched_cli.testing import Manifest, cluster, node
from tests.scenario.build import owned, template, workload

CLAIMS = [{"metadata": {"name": "data"}, "spec": {"storageClassName": "fast"}}]


def target(text: str) -> Target:
    answer = workload_target(text, "")
    assert answer is not None
    return answer


@pytest.mark.parametrize("text", ["web", "default/web", "pod/web", "node/a", "deployment/"])
def test_other_names_are_no_workloads(text: str) -> None:
    assert workload_target(text, "") is None


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "ReplicationController"])
def test_a_replica_is_made_from_the_template_and_is_not_in_the_state(kind: str) -> None:
    state = with_workloads(cluster(node("a"), workload(kind, replicas=2)))
    after, of, replicas = next_replicas(state, target(f"{kind.lower()}/web"), 100)
    assert of.text == f"{kind} default/web"
    (replica,) = replicas
    assert len(after.pods) == len(state.pods) == 2
    assert replica.key not in {pod.key for pod in after.pods}
    assert replica.metadata.labels["app"] == "web"
    assert not replica.node_name


def test_a_stateful_set_has_the_next_ordinals_each_with_its_claims() -> None:
    objects = workload("StatefulSet", "db", replicas=2, volumeClaimTemplates=CLAIMS)
    state = with_workloads(cluster(node("a"), objects))
    after, _, replicas = next_replicas(state, target("sts/db"), 2)
    assert [replica.name for replica in replicas] == ["db-2", "db-3", "db-4"]
    assert sorted(name for _, name in after.persistent_volume_claims) == [
        f"data-db-{ordinal}" for ordinal in range(5)
    ]


def test_pods_alone_are_enough_of_a_replica_set() -> None:
    state = cluster(node("a"), owned("web-x", node="a"), owned("web-y", node="a"))
    _, _, (replica,) = next_replicas(state, target("rs/web"), 9)
    assert replica.name == "web-bbbbb"


@pytest.mark.parametrize(
    ("text", "objects", "message"),
    [
        ("ds/web", [workload("DaemonSet")], "a DaemonSet has no next replica; name a deployment"),
        ("deploy/wbe", [workload("Deployment")], 'no Deployment "wbe" in the state'),
        ("sts/web", [owned("web-0", "StatefulSet")], "itself; add it to the state"),
        (
            "rs/web",
            [workload("ReplicaSet", template={}, replicas=0)],
            "has no pod template",
        ),
    ],
)
def test_what_has_no_next_replica_is_an_error(
    text: str, objects: list[Manifest], message: str
) -> None:
    with pytest.raises(UsageError) as error:
        next_replicas(cluster(node("a"), *objects), target(text), 9)
    assert message in str(error.value)
    assert "change" not in str(error.value)


def test_a_deployments_replica_is_the_template_of_now() -> None:
    spec = template(nodeSelector={"disk": "ssd"})
    state = with_workloads(cluster(node("a"), workload("Deployment", template=spec, replicas=0)))
    _, _, (replica,) = next_replicas(state, target("deployment/web"), 9)
    assert replica.spec.node_selector == {"disk": "ssd"}
