"""From materials to a simulation."""

from dataclasses import replace
from pathlib import Path

import pytest

from ksched_cli.errors import InputError, UsageError
from ksched_cli.sweep.environment import CHANGED_STATES, RunEnvironment
from ksched_cli.sweep.materials import CodeSource
from ksched_cli.sweep.patches import parse_path
from ksched_cli.testing import node, pod
from tests.sweep.sweeps import STRATEGY, WEIGHT, plan, write_state

PLUGIN = """
from ksched_cli.api import SUCCESS, FilterPlugin

class Anywhere(FilterPlugin):
    name = "Anywhere"
    def filter(self, state, pod, node):
        return SUCCESS
"""


def test_a_state_is_decoded_once_and_changed_on_its_own(tmp_path: Path) -> None:
    changes = [{"name": "none"}, "cordon a", "cordon b", "cordon c"]
    environment = RunEnvironment(plan(tmp_path, changes=changes).materials)
    base = environment.base_state(0)
    assert environment.state(0, 0) is base is environment.base_state(0)
    changed = [environment.state(0, index) for index in (1, 2)]
    assert [[n.name for n in s.nodes if n.spec.unschedulable] for s in changed] == [["a"], ["b"]]
    assert environment.state(0, 1) is changed[0], f"{CHANGED_STATES} of them are remembered"
    environment.state(0, 3)
    assert environment.state(0, 2) is not changed[1]


def test_patches_take_effect(tmp_path: Path) -> None:
    materials = plan(tmp_path).materials
    patches = ((parse_path(STRATEGY), "MostAllocated"), (parse_path(WEIGHT), 7))
    simulation = RunEnvironment(materials).simulation(materials.run(patches=patches))
    (profile,) = simulation.configuration.profiles
    assert profile.weights["NodeResourcesFit"] == 7
    assert profile.args["NodeResourcesFit"].scoring_strategy.type == "MostAllocated"


def test_a_configuration_that_kube_scheduler_refuses_is_an_error(tmp_path: Path) -> None:
    materials = plan(tmp_path).materials
    run = materials.run(patches=((parse_path(WEIGHT), 1), (parse_path(STRATEGY), "Fullest")))
    with pytest.raises(InputError, match=r"default configuration with patches.*Fullest"):
        RunEnvironment(materials).simulation(run)


def test_the_minor_is_the_runs_or_that_of_the_kubelets(tmp_path: Path) -> None:
    materials = plan(tmp_path).materials
    environment = RunEnvironment(materials)
    for minor, version in (("1.35", "v1.35.4"), ("", "v1.36.3")):
        simulation = environment.simulation(materials.run(minor=minor))
        assert simulation.configuration.release.version == version


def test_plugins_join_the_default_profile(tmp_path: Path) -> None:
    (tmp_path / "anywhere.py").write_text(PLUGIN)
    sweep = plan(tmp_path, plugins=[[], "anywhere.py"])
    environment = RunEnvironment(sweep.materials)
    names = [
        {
            ref.name
            for ref in environment.simulation(run).configuration.profiles[0].plugins["filter"]
        }
        for run in sweep.runs()
    ]
    assert names[1] - names[0] == {"Anywhere"}


def test_a_plugin_that_cannot_be_loaded_is_named(tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    path.write_text("import nothing_of_this_name")
    materials = plan(tmp_path).materials
    broken = replace(materials, plugin_sets=((CodeSource.of(str(path)),),))
    with pytest.raises(UsageError, match=r"broken.py: ModuleNotFoundError"):
        RunEnvironment(broken).simulation(broken.run())


def test_a_seed_makes_draws_that_can_be_repeated(tmp_path: Path) -> None:
    materials = plan(tmp_path).materials
    environment = RunEnvironment(materials)
    runs = [environment.simulation(materials.run(seed=seed)).run() for seed in (*range(6), 0)]
    assert len({tuple(run.placements.items()) for run in runs}) > 1
    assert runs[0].placements == runs[-1].placements


def test_without_retries_each_pod_is_tried_once(tmp_path: Path) -> None:
    beside = {
        "labelSelector": {"matchLabels": {"app": "x"}},
        "topologyKey": "kubernetes.io/hostname",
    }
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [beside]}}
    objects = (
        node("a", labels={"kubernetes.io/hostname": "a"}),
        pod("first", priority=1, affinity=affinity),
        pod("x", labels={"app": "x"}),
    )
    write_state(tmp_path / "state.json", *objects)
    placed = {}
    for no_retries in (False, True):
        materials = plan(tmp_path, states=["state.json"], noRetries=no_retries).materials
        run = RunEnvironment(materials).simulation(materials.run()).run()
        placed[no_retries] = set(run.placements)
    assert placed == {False: {"default/first", "default/x"}, True: {"default/x"}}
