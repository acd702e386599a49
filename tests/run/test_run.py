"""Runs as data: their JSON, their digests, what differs between them and what they are called."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.errors import UsageError
from ksched_cli.run.differences import differences, digest_of, names_of
from ksched_cli.run.inputs import Inputs
from ksched_cli.run.open import Opener
from ksched_cli.run.run import FIELDS, ChangeSource, KubeconfigCluster, Run
from tests.run.runs import decided, replayed_at_once, runs, write_files


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    write_files(folder)
    return folder


@given(st.data())
def test_the_json_of_a_run_decides_alike(folder: Path, data: st.DataObject) -> None:
    run = data.draw(runs(folder))
    text = msgspec.json.encode(run)
    read = msgspec.json.decode(text, type=Run)
    assert read == run
    assert decided(read) == decided(run)


@given(st.data())
def test_inputs_that_were_sent_elsewhere_decide_alike(folder: Path, data: st.DataObject) -> None:
    run = data.draw(runs(folder))
    inputs = Inputs()
    inputs.read([run])
    sent = pickle.loads(pickle.dumps(inputs))  # written a line above
    assert decided(run, sent) == decided(run)


@given(st.data())
def test_runs_differ_exactly_where_their_digests_do(folder: Path, data: st.DataObject) -> None:
    first, second = data.draw(runs(folder)), data.draw(runs(folder))
    inputs = Inputs()
    axes = differences(first, second, inputs)
    assert (not axes) == (digest_of(first, inputs) == digest_of(second, inputs))
    assert not differences(first, first, inputs)
    assert axes == differences(second, first, inputs)


@given(st.data())
def test_a_replay_with_everything_at_one_instant_decides_alike(
    folder: Path, data: st.DataObject
) -> None:
    run = data.draw(runs(folder))
    simulation = Opener([run]).simulation(run)
    record = simulation.run()
    gone = {eviction.pod for eviction in record.evicted}
    running = {
        pod.key: pod.node_name
        for pod in simulation.state.pods
        if pod.node_name in simulation.snapshot.row and pod.key not in gone
    }
    assert replayed_at_once(run, folder) == running | dict(record.placements)


def test_a_copy_of_a_file_is_no_difference(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.yaml"
    shutil.copy(folder / "packing.yaml", copy)
    first, second = (
        Run(states=(str(folder / "cluster.json"),), configuration=str(path))
        for path in (folder / "packing.yaml", copy)
    )
    inputs = Inputs()
    assert not differences(first, second, inputs)
    assert digest_of(first, inputs) == digest_of(second, inputs)
    copy.write_text("x: 1\n")
    (axis,) = differences(first, second, Inputs())
    assert axis.name == "configuration"


def test_every_field_of_a_run_belongs_to_an_axis() -> None:
    assert [field.name for field in FIELDS if not field.axes] == []


@pytest.mark.parametrize(
    ("sides", "names"),
    [
        ([Run(), Run(configuration="a/new.yaml")], ["default configuration", "new.yaml"]),
        (
            [Run(configuration="a/x.yaml"), Run(configuration="b/x.yaml")],
            ["a/x.yaml", "b/x.yaml"],
        ),
        ([Run(plugins=("p.py",)), Run()], ["default with p.py", "default configuration"]),
        (
            [Run(configuration="c.yaml"), Run(configuration="c.yaml", plugins=("d/p.py:P",))],
            ["without plugins", "with p.py:P"],
        ),
        ([Run(), Run()], ["default configuration", "default configuration (2)"]),
        (
            [Run(kubernetes_version="1.35"), Run(feature_gates="A=true")],
            [
                "Kubernetes 1.35, default feature gates",
                "Kubernetes of the kubelets, A=true",
            ],
        ),
        (
            [Run(timeline="t"), Run(timeline="t", autoscaler="x/g.yaml")],
            ["without autoscaler", "with g.yaml"],
        ),
        (
            [Run(), Run(changes=(ChangeSource(line=f"drain {'n' * 50} other"),))],
            ["without changes", f"drain {'n' * 50}…"],
        ),
        (
            [Run(), Run(changes=(ChangeSource(line=f"drain {'n' * 99}"),))],
            ["without changes", f"drain {'n' * 30}…"],
        ),
        ([Run(preemption=True), Run(preemption=False)], ["with preemption", "without preemption"]),
    ],
)
def test_runs_are_named_by_what_differs(sides: list[Run], names: list[str]) -> None:
    assert list(names_of(sides)) == names


@pytest.mark.parametrize(
    ("run", "problem"),
    [
        (Run(seed=1), "--seed requires"),
        (Run(record_extenders="a", replay_extenders="b"), "cannot be combined"),
        (Run(extenders=False, replay_extenders="b"), "cannot be combined"),
        (Run(replay_extenders="b", extender_bind=True), "calls no extender"),
        (Run(autoscaler="a"), "--autoscaler requires a timeline"),
        (Run(until="6h"), "--until requires a timeline"),
        (Run(evict_at_once=True), "--evict-at-once requires a timeline"),
    ],
)
def test_fields_that_contradict_each_other_are_refused(run: Run, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        run.check()


def test_a_live_cluster_that_nobody_reads_is_refused() -> None:
    run = Run(live=KubeconfigCluster(context="x"))
    with pytest.raises(UsageError, match="ksched snapshot"):
        Opener([run]).simulation(run)


def test_a_run_is_small_in_json() -> None:
    text = msgspec.json.encode(Run(states=("s",), plugin_timeout=1))
    assert json.loads(text) == {"states": ["s"], "pluginTimeout": 1}
