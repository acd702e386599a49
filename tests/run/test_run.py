"""Runs as data: their JSON, their digests, what differs between them and what they are called."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.errors import UsageError
from ksched_cli.run.differences import differences, digest_of, names_of
from ksched_cli.run.inputs import Inputs
from ksched_cli.run.open import Opener
from ksched_cli.run.run import (
    FIELDS,
    ChangeSource,
    KubeconfigCluster,
    Patch,
    Run,
    applied_file,
    check_standard_input_of,
)
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


def test_copies_of_files_are_no_difference(folder: Path, tmp_path: Path) -> None:
    state, configuration = tmp_path / "copy.json", tmp_path / "copy.yaml"
    shutil.copy(folder / "cluster.json", state)
    shutil.copy(folder / "packing.yaml", configuration)
    here = Run(states=(str(folder / "cluster.json"),), configuration=str(folder / "packing.yaml"))
    copied = Run(states=(str(state),), configuration=str(configuration))
    inputs = Inputs()
    assert not differences(here, copied, inputs)
    assert digest_of(here, inputs) == digest_of(copied, inputs)
    for path in (state, configuration):
        path.write_text("x: 1\n")
    changed = {axis.name for axis in differences(here, copied, Inputs())}
    assert changed == {"state", "configuration"}


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
        (
            [Run(), Run(tie_break="random"), Run(tie_break="random", seed=3)],
            ["ties by name", "random ties", "seed 3"],
        ),
        (
            [Run(), Run(patches=(Patch("not[a path", 1),))],
            ["without patches", "not[a path=1"],
        ),
        (
            [
                Run(),
                Run(changes=(ChangeSource(scenario="s/x.yaml"),)),
                Run(changes=(ChangeSource(apply={}),)),
            ],
            ["without changes", "x.yaml", "apply"],
        ),
    ],
)
def test_runs_are_named_by_what_differs(sides: list[Run], names: list[str]) -> None:
    assert list(names_of(sides)) == names


@pytest.mark.parametrize(
    ("run", "problem"),
    [
        (Run(seed=1), "--seed requires"),
        (Run(plugins="p.py"), "--plugin is 'p.py': expected array"),  # type: ignore[arg-type]
        (Run(record_extenders="a", replay_extenders="b"), "cannot be combined"),
        (Run(extenders=False, replay_extenders="b"), "cannot be combined"),
        (Run(replay_extenders="b", extender_bind=True), "calls no extender"),
        (Run(autoscaler="a"), "--autoscaler requires a timeline"),
        (Run(until="6h"), "--until requires a timeline"),
        (Run(evict_at_once=True), "--evict-at-once requires a timeline"),
        (Run(time_limit=60.0), "--time-limit requires --regret"),
    ],
)
def test_fields_that_contradict_each_other_are_refused(run: Run, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        run.check()


@pytest.mark.parametrize(
    "run",
    [
        Run(tie_break="random", seed=1),
        Run(record_extenders="a"),
        Run(replay_extenders="b"),
        Run(extender_bind=True),
        Run(regret="pods", time_limit=60.0),
        msgspec.json.decode(b'{"timeLimit": 30}', type=Run),
        Run(timeline="t", autoscaler="a", until="6h", evict_at_once=True),
    ],
)
def test_fields_that_belong_together_are_accepted(run: Run) -> None:
    run.check()


@pytest.mark.parametrize(
    "other",
    [
        {"configuration": "-"},
        {"timeline": "-"},
        {"autoscaler": "-"},
        {"prices": ("-",)},
        {"changes": (ChangeSource(scenario="-"),)},
        {"changes": (ChangeSource(line="cordon a"), applied_file("-"))},
    ],
)
def test_standard_input_is_read_once(other: dict[str, Any]) -> None:
    changes = (ChangeSource(line="cordon a"), applied_file("b"))
    check_standard_input_of([Run(states=("-",), changes=changes), Run(states=("-",))])
    with pytest.raises(UsageError, match="standard input"):
        check_standard_input_of([Run(states=("-",)), Run(**other)])


def test_a_live_cluster_that_nobody_reads_is_refused() -> None:
    run = Run(live=KubeconfigCluster(context="x"))
    with pytest.raises(UsageError, match="ksched snapshot"):
        Opener([run]).simulation(run)


def test_a_run_is_small_in_json() -> None:
    text = msgspec.json.encode(Run(states=("s",), plugin_timeout=1))
    assert json.loads(text) == {"states": ["s"], "pluginTimeout": 1}
