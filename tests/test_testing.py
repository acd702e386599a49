"""The helper for tests of plugins."""

import json
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.api import Run
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.errors import InputError
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.interface import FilterPlugin, ScorePlugin
from ksched_cli.framework.nodes import NodeInfo
from ksched_cli.framework.status import SUCCESS, PluginError, Status
from ksched_cli.kube.versions import NEWEST
from ksched_cli.testing import (
    DefectError,
    cluster,
    explanation,
    find,
    node,
    pod,
    run_cycle,
    scores,
    simulate,
    simulation,
    verdicts,
)
from tests.framework.toys import Toy, filtering, scoring


def test_what_its_introduction_shows() -> None:
    state = cluster(node("small", cpu="1"), node("large", cpu="8"), pod("web", cpu="2"))
    assert simulate(state).placements == {"default/web": "large"}
    assert not verdicts("NodeResourcesFit", state)["small"].is_success


def test_all_helpers_know_the_pods_that_are_nominated_to_a_node() -> None:
    """The node is full with the pod of higher priority, as the command line says, too."""
    objects = [
        node("n"),
        pod("p", cpu=1, priority=1),
        pod("q", cpu=4, priority=5, status={"nominatedNodeName": "n"}),
    ]
    state = cluster(*objects)
    assert run_cycle(state, pod="p").node == ""
    assert explanation(state, pod="p").node == ""
    assert not verdicts("NodeResourcesFit", state, pod="p")["n"].is_success
    assert Run(state=objects).explain("p").node == ""


def test_objects_have_the_defaults_of_the_api_server() -> None:
    limits = {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "1"}}}]}
    (pod_object,) = cluster(pod("p", spec=limits)).pods
    assert pod_object.uid == "default/p"
    assert pod_object.spec.priority == 0
    assert str(pod_object.spec.containers[0].resources.requests["cpu"]) == "1"


def test_other_manifests_stand_beside_nodes_and_pods() -> None:
    high = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "high"},
        "value": 7,
    }
    state = cluster(high, pod("p", spec={"priorityClassName": "high"}))
    assert state.pods[0].spec.priority == 7


def test_what_no_state_may_hold_is_refused_as_in_a_file() -> None:
    with pytest.raises(InputError, match="the test's cluster"):
        cluster(node("a"), node("a"))


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("k=v:NoSchedule", ("k", "v", "NoSchedule")),
        ("k:NoExecute", ("k", "", "NoExecute")),
        ("example.com/k=:NoSchedule", ("example.com/k", "", "NoSchedule")),
    ],
)
def test_taints_are_written_as_for_kubectl(text: str, fields: tuple[str, ...]) -> None:
    (taint,) = cluster(node("a", taints=[text])).nodes[0].spec.taints
    assert (taint.key, taint.value, taint.effect) == fields


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("k=v:NoSchedule", ("k", "Equal", "v", "NoSchedule")),
        ("k=v", ("k", "Equal", "v", "")),
        ("k:NoExecute", ("k", "Exists", "", "NoExecute")),
        ("k", ("k", "Exists", "", "")),
        ("", ("", "Exists", "", "")),
    ],
)
def test_tolerations_are_written_alike(text: str, fields: tuple[str, ...]) -> None:
    (toleration,) = cluster(pod("p", tolerations=[text])).pods[0].spec.tolerations
    assert (toleration.key, toleration.operator, toleration.value, toleration.effect) == fields


def test_a_plugin_joins_the_default_profile_at_the_points_it_extends() -> None:
    mine = filtering("Mine", {"a": Status.unschedulable("not here")})
    state = cluster(node("a"), node("b"), pod("p"))
    attempt = run_cycle(state, plugins=[mine])
    assert attempt.node == "b"
    assert attempt.detail.filter["a"].plugin == "Mine"
    assert explanation(state, plugins=[mine]).node == "b"


def test_with_a_configuration_plugins_are_only_known() -> None:
    mine = scoring("Mine", {"b": 100})
    state = cluster(node("a"), node("b"), pod("p"))
    assert run_cycle(state, {"profiles": [{}]}, [mine]).node == "a"
    config = {"profiles": [{"plugins": {"score": {"enabled": [{"name": "Mine"}]}}}]}
    assert run_cycle(state, config, [mine]).node == "b"


def test_a_configuration_may_be_text() -> None:
    text = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    assert simulation(cluster(), text).frameworks.keys() == {"default-scheduler"}


def test_a_wrong_configuration_is_refused() -> None:
    with pytest.raises(InputError, match="Nowhere"):
        simulation(
            cluster(), {"profiles": [{"plugins": {"filter": {"enabled": [{"name": "Nowhere"}]}}}]}
        )


class Packing(Toy, FilterPlugin, ScorePlugin):
    """Takes its limit from the args."""

    name = "Packing"

    def __init__(self, args: Any, handle: Handle) -> None:
        self.limit = (args or {}).get("limit", 1)

    def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
        return SUCCESS if len(node.pods) < self.limit else Status.unschedulable("full")

    def score(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> int:
        return 10 * len(node.pods)


def test_one_plugin_can_be_asked_alone_with_its_args() -> None:
    state = cluster(node("a"), node("b"), pod("there", node="b"), pod("p"))
    statuses = verdicts(Packing, state)
    assert statuses == {"a": SUCCESS, "b": Status.unschedulable("full").by("Packing")}
    assert verdicts(Packing, state, args={"limit": 2}) == {"a": SUCCESS, "b": SUCCESS}
    assert scores(Packing, state) == {"a": 0, "b": 10}


def test_scores_outside_the_range_are_a_failure() -> None:
    with pytest.raises(PluginError, match="invalid score 101"):
        scores(scoring("Mine", {"a": 101}), cluster(node("a"), pod("p")))


def test_an_exception_in_a_plugin_fails_the_test_with_its_traceback() -> None:
    class Raises(Toy, FilterPlugin):
        name = "Raises"

        def filter(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
            raise ZeroDivisionError("by nothing")

    state = cluster(node("a"), pod("p"))
    for question in (simulate, run_cycle, explanation):
        with pytest.raises(DefectError, match=r"(?s)Traceback.*by nothing"):
            question(state, plugins=[Raises])
    with pytest.raises(DefectError, match="by nothing"):
        verdicts(Raises, state)


def test_a_pod_is_found_by_name_or_as_the_only_one() -> None:
    run = simulation(cluster(pod("p"), pod("p", "blue"), pod("q", node="a")))
    assert find(run, "blue/p").key == "blue/p"
    assert find(run, "q").key == "default/q"
    with pytest.raises(LookupError, match='2 pods "p"'):
        find(run, "p")
    with pytest.raises(LookupError, match="2 pods to ask about"):
        find(run)


def test_a_state_is_a_path_or_a_list_of_manifests(tmp_path: Path) -> None:
    manifests = [node("small", cpu=1), node("large", cpu=4), pod("p", cpu=2)]
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests}))
    for state in (manifests, path, str(path), cluster(*manifests)):
        assert simulate(state).placements == {"default/p": "large"}


def test_the_kubelets_say_whose_rules_decide() -> None:
    old = node("n", status={"nodeInfo": {"kubeletVersion": "v1.35.2"}})
    assert simulation([old]).configuration.release.minor == "1.35"
    assert simulation([old], kubernetes_version="1.36").configuration.release.minor == "1.36"
    assert simulation([node("n")]).configuration.release.minor == NEWEST


def test_workloads_of_manifests_get_their_pods() -> None:
    replica_set = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": pod(cpu=1)["spec"]},
        },
    }
    assert len(simulate([node("n"), replica_set]).placements) == 2
    assert simulate(cluster(node("n"), replica_set)).placements == {}
