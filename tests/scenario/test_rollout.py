"""rollout restart and set resources."""

from __future__ import annotations

import msgspec
import pytest

from ksched_cli.scenario.change import ChangeError
from ksched_cli.testing import cluster, node
from tests.scenario.build import changed, cpu_of, nodes_of, owned, web, workload


def test_a_rollout_restarts_every_running_pod() -> None:
    pods = [owned(f"web-{i}", "StatefulSet", node="n1") for i in range(2)]
    state, did = changed(cluster(node("n1"), *pods, owned("other")), "rollout restart sts/web")
    assert did == [f"default/web-{i}: pending again (was on n1)" for i in range(2)]
    assert set(nodes_of(state).values()) == {""}


def test_resources_are_set_in_pods_and_template() -> None:
    labels = {"pod-template-hash": "abc"}
    pods = [
        owned(f"web-abc-{i}", owner="web-abc", node="n1", cpu=1, labels=labels) for i in range(2)
    ]
    state = cluster(node("n1"), *pods)
    line = "set resources deployment/web --requests=cpu=250m,memory=0 --limits=cpu=500m"
    after, did = changed(state, line)
    assert did[0] == "Deployment default/web: resources set"
    assert [cpu_of(pod) for pod in after.pods] == ["250m", "250m"]
    assert set(nodes_of(after).values()) == {""}
    assert msgspec.json.decode(bytes(after.pods[0].raw))["status"] == {"phase": "Pending"}
    after, _ = changed(web(), "set resources deployment/web --requests=cpu=3")
    after, _ = changed(after, "scale deployment/web --replicas=3")
    assert [cpu_of(pod) for pod in after.pods] == ["3", "3", "3"]


def test_an_amount_of_zero_is_an_amount() -> None:
    """As kubectl sets it: what a container requests nothing of counts with a default in scores."""
    state, _ = changed(web(), "set resources deploy/web --requests=memory=1Gi,cpu=0")
    for each in state.pods:
        requests = each.spec.containers[0].resources.requests
        assert {name: str(amount) for name, amount in requests.items()} == {
            "cpu": "0",
            "memory": "1Gi",
        }


def test_only_the_container_that_is_named_gets_the_resources() -> None:
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "a"}, {"name": "b"}]},
    }
    deployment = workload("Deployment", template=template)
    state = cluster(node("n1"), deployment)
    after, _ = changed(state, "set resources deploy/web -c b --limits=cpu=1")
    (each,) = after.pods
    assert [list(c.resources.limits) for c in each.spec.containers] == [[], ["cpu"]]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("rollout restart job/x", "KIND one of deployment, statefulset, daemonset"),
        ("rollout restart deploy/x", 'no Deployment "x"'),
        ("set resources deploy/web --requests==1", '"" is not RESOURCE=AMOUNT'),
    ],
)
def test_what_has_no_rollout_or_no_amount_is_an_error(line: str, message: str) -> None:
    with pytest.raises(ChangeError) as error:
        changed(web(), line)
    assert message in str(error.value)
