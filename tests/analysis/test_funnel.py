"""How many nodes each plugin leaves."""

from ksched_cli.analysis.explain import explain
from ksched_cli.analysis.reasons import FilterStep
from ksched_cli.testing import Manifest, cluster, find, node, pod, simulation

TAINT = ["k=v:NoSchedule"]


def steps(*objects: Manifest) -> dict[str, FilterStep]:
    run = simulation(cluster(*objects))
    return {step.plugin: step for step in explain(run, find(run, "p")).funnel}


def test_each_plugin_leaves_what_no_plugin_before_it_rejects() -> None:
    answer = steps(
        node("a"),
        node("small", cpu="1"),
        node("tainted", taints=TAINT),
        node("both", cpu="1", taints=TAINT),
        pod("p", cpu="2"),
    )
    assert answer["TaintToleration"] == FilterStep("TaintToleration", 2, 2)
    assert answer["NodeResourcesFit"] == FilterStep("NodeResourcesFit", 2, 1)
    assert list(answer)[:2] == ["NodeName", "NodeUnschedulable"]
    assert answer["NodeUnschedulable"] == FilterStep("NodeUnschedulable", 0, 4)


def test_a_pod_that_prefilter_rejects_leaves_no_node() -> None:
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "missing"}}
    manifest = pod("p")
    manifest["spec"]["volumes"] = [volume]
    answer = steps(node("a"), node("b"), manifest)
    assert answer == {"VolumeRestrictions": FilterStep("VolumeRestrictions", 2, 0)}


def test_nodes_that_prefilter_leaves_out_are_their_plugins() -> None:
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    answer = steps(node("a"), node("b"), pod("p", affinity={"nodeAffinity": required}))
    assert answer["NodeAffinity"] == FilterStep("NodeAffinity", 1, 1)
