"""Why a pod fits nowhere, in a line, and what to do about it: what is easiest to overcome first."""

from typing import Any

import pytest

from ksched_cli.analysis.diagnosis import Diagnosis, diagnose, with_hints
from ksched_cli.analysis.hints import Hints
from ksched_cli.engine.evaluation import Mode
from ksched_cli.engine.simulation import Simulation
from ksched_cli.testing import cluster, find, node, pod, simulation
from tests import messy
from tests.narrowing import present

ZONE = "topology.kubernetes.io/zone"
DOWN = ["node.kubernetes.io/unreachable:NoSchedule", "node.kubernetes.io/unreachable:NoExecute"]
CORDON = {
    "key": "node.kubernetes.io/unschedulable",
    "effect": "NoSchedule",
    "timeAdded": "2026-03-09T02:00:00Z",
}
CONTROL_PLANE = ["node-role.kubernetes.io/control-plane:NoSchedule"]


def diagnosed(run: Simulation, key: str) -> Diagnosis | None:
    info = find(run, key)
    framework = run.frameworks[info.spec.scheduler_name]
    diagnosis = diagnose(run.pipeline.evaluate(framework, info, Mode.REASONS), run.state)
    return diagnosis and with_hints(diagnosis, Hints(run, run.record()), info, (key,))


def of(*objects: dict[str, Any]) -> Diagnosis:
    run = simulation(cluster(*objects), kubernetes_version="1.34")
    return present(diagnosed(run, "default/p"))


@pytest.fixture(scope="module")
def after_run() -> Simulation:
    run = simulation(cluster(*messy.objects()), kubernetes_version="1.34")
    run.run()
    return run


@pytest.mark.parametrize(
    ("key", "cause", "remedy"),
    [
        (
            "ml/notebook",
            "gpu-3 would take it but for the taint nvidia.com/gpu=present:NoSchedule",
            "tolerate nvidia.com/gpu=present:NoSchedule, or remove the taint "
            "nvidia.com/gpu=present:NoSchedule from gpu-3",
        ),
        ("batch/pinned", "general-07 would take it but for the cordon", "uncordon general-07"),
        (
            "batch/huge",
            "requests memory 200Gi; the largest of the 28 nodes it may use has 63Gi",
            "request memory 64128Mi instead of 200Gi, which memory-6 has free",
        ),
        (
            "batch/backup",
            "requests cpu 6; the 20 nodes it may use have at most 3.99 free (general-02)",
            "request cpu 3.99 instead of 6, which general-02 has free",
        ),
        (
            "ml/finetune",
            "requests nvidia.com/gpu 8; the largest of the 32 nodes it may use has 4",
            "request nvidia.com/gpu 4 instead of 8, which gpu-3 has free",
        ),
        (
            "data/exporter",
            "claim data/exports (class efs, Immediate, ReadWriteMany) is not bound: "
            "efs.csi.aws.com has made no volume for it",
            "create claim data/exports with class gp3",
        ),
        (
            "data/archiver",
            "claim data/archive (ReadWriteMany) is not bound: it names class "
            '"fast-ssd", which does not exist (classes: efs, gp3)',
            "create StorageClass fast-ssd, like gp3, or create claim data/archive with class gp3",
        ),
        (
            "data/restore",
            "there is no claim data/restored",
            "create PersistentVolumeClaim data/restored of class gp3",
        ),
        (
            "data/postgres-repair",
            "the volume of claim data/data-postgres-0 is "
            f"in {ZONE}=eu-west-1a; no node there has the label {ZONE}=eu-west-1c, which it "
            f"selects (15 nodes have {ZONE}=eu-west-1a)",
            f"select {ZONE}=eu-west-1a instead of eu-west-1c",
        ),
    ],
)
def test_a_messy_cluster_s_pods(key: str, cause: str, remedy: str, after_run: Simulation) -> None:
    answer = present(diagnosed(after_run, key))
    assert (answer.cause, answer.remedy) == (cause, remedy)


def test_a_label_that_no_node_has() -> None:
    answer = of(node("a"), node("b"), pod("p", node_selector={"disktype": "ssd"}))
    assert answer.cause == "no node has the label disktype=ssd, which it selects"
    assert answer.remedy == "do not select disktype=ssd, or label a disktype=ssd"


def test_what_takes_two_changes_or_a_run_is_left_to_fix() -> None:
    two = of(node("a", unschedulable=True, taints=["gpu:NoSchedule"]), pod("p"))
    evicting = of(node("a", cpu=1), pod("q", cpu=1, node="a"), pod("p", cpu=1))
    assert (two.remedy, evicting.remedy) == ("", "")


def test_labels_that_no_node_has_together() -> None:
    answer = of(
        node("a", labels={"pool": "x"}),
        node("b", labels={ZONE: "z"}),
        pod("p", node_selector={"pool": "x", ZONE: "z"}),
    )
    assert answer.cause == f"no node has the labels pool=x and {ZONE}=z, which it selects"


def test_nodes_of_the_selector_come_before_others() -> None:
    """memory-0 has room, but somebody wrote the selector on purpose."""
    answer = of(
        node("general-0", cpu=1, labels={"pool": "general"}),
        node("memory-0", cpu=8, labels={"pool": "memory"}),
        pod("there", cpu="500m", node="general-0"),
        pod("p", cpu=1, node_selector={"pool": "general"}),
    )
    assert "the only node it may use, general-0, has 0.5 free" in answer.cause


def test_a_cordon_that_has_set_its_taint_is_one_obstacle() -> None:
    answer = of(node("a", unschedulable=True, taints=[CORDON]), node("b", cpu=1), pod("p", cpu=2))
    assert (answer.cause, answer.remedy) == ("a would take it but for the cordon", "uncordon a")


def test_a_cordoned_node_with_another_taint_has_two() -> None:
    answer = of(node("a", unschedulable=True, taints=[CORDON, "gpu:NoSchedule"]), pod("p"))
    assert answer.cause == "a would take it but for the cordon and the taint gpu:NoSchedule"


@pytest.mark.parametrize(
    ("taints", "cause"),
    [
        (DOWN, "a would take it but for being unreachable"),
        (
            CONTROL_PLANE,
            "a would take it but for the taint node-role.kubernetes.io/control-plane:NoSchedule",
        ),
    ],
)
def test_nodes_that_are_down_or_of_the_control_plane(taints: list[str], cause: str) -> None:
    assert of(node("a", taints=taints), pod("p")).cause == cause


def test_the_control_plane_is_the_last_resort() -> None:
    answer = of(
        node("control", taints=CONTROL_PLANE),
        node("b", cpu=2, taints=["x:NoSchedule", "y:NoSchedule"]),
        pod("p"),
    )
    assert answer.nodes == ("b",)


def test_what_is_known_of_no_plugin_is_its_reason() -> None:
    answer = of(node("a"), pod("q", node="a", ports=[80]), pod("p", ports=[80]))
    assert answer.cause == "a would take it but for a host port that is taken"


def test_affinity_and_spread_name_their_topology() -> None:
    near = {"labelSelector": {"matchLabels": {"a": "b"}}, "topologyKey": ZONE}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [near]}}
    assert of(node("a", labels={ZONE: "z"}), pod("p", affinity=affinity)).cause == (
        f"a would take it but for its pod affinity by {ZONE} (no pod with a=b runs in namespace "
        "default, and it does not match itself)"
    )


def test_a_plugin_that_fails_without_its_pre_filter_is_the_cause() -> None:
    disabled = {"preFilter": {"disabled": [{"name": "InterPodAffinity"}]}}
    run = simulation(cluster(node("a"), pod("p")), {"profiles": [{"plugins": disabled}]})
    failure = 'error reading "PreFilterInterPodAffinity" from cycleState: not found'
    assert failure in present(diagnosed(run, "default/p")).cause


def test_a_cluster_without_nodes() -> None:
    assert of(pod("p")).cause == "the cluster has no nodes"


def test_a_pod_that_fits_has_no_diagnosis() -> None:
    run = simulation(cluster(node("a"), pod("p")))
    assert diagnosed(run, "default/p") is None
