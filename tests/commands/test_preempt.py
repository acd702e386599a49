"""`ksched preempt` from the command line."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from ksched_cli.testing import node, pod
from tests.commands.runners import Answer, Ksched, WriteState

EXAMPLE = Path(__file__).parents[2] / "examples" / "preemption" / "cluster.yaml"
SCHEMA = json.loads(files("ksched_cli.schemas").joinpath("preemption_result.json").read_text())


@pytest.fixture
def preempt(ksched: Ksched) -> Answer:
    """Exit code and result of `ksched preempt`, which has the shape that its schema promises."""

    def answer(*args: str, state: Path = EXAMPLE) -> tuple[int, dict[str, Any]]:
        code, out, _ = ksched("preempt", *args, "--state", state, "-o", "json")
        result = json.loads(out)
        Draft202012Validator(SCHEMA).validate(result)
        return code, result

    return answer


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)


def test_a_pod_that_may_preempt(preempt: Answer) -> None:
    code, result = preempt("checkout")
    assert code == 0
    assert (result["mayPreempt"], result["node"]) == (True, "apple")
    assert result["victims"] == ["default/crunch-3"]
    assert result["criterion"] == "fewest violations of disruption budgets"
    assert [
        (candidate["node"], candidate["pdbViolations"]) for candidate in result["candidates"]
    ] == [
        ("apple", 0),
        ("birch", 1),
    ]
    assert result["candidates"][0]["reprieved"] == ["default/crunch-1", "default/crunch-2"]
    assert result["candidates"][1]["victims"][0]["violates"] == ["default/db"]
    assert [node["node"] for node in result["notCandidates"]] == ["cedar", "dogwood"]


def test_a_pod_that_may_not(preempt: Answer) -> None:
    code, result = preempt("default/report")
    assert (code, result["mayPreempt"], result["node"]) == (1, False, "")
    assert result["reason"] == "not eligible due to preemptionPolicy=Never."


def test_a_pod_that_fits_without(preempt: Answer, write_state: WriteState) -> None:
    code, result = preempt("p", state=write_state(node("a"), pod("p")))
    assert (code, result["fits"], result["mayPreempt"]) == (0, ["a"], False)
    assert result["reason"] == "it fits without evictions"


def test_a_pod_that_no_eviction_helps(preempt: Answer, write_state: WriteState) -> None:
    code, result = preempt("p", state=write_state(node("a", cpu=1), pod("p", cpu=2, priority=9)))
    assert (code, result["mayPreempt"], result["candidates"]) == (1, True, [])
    assert result["message"].endswith("1 Preemption is not helpful for scheduling.")


def test_the_limit_on_candidates_can_be_lifted(preempt: Answer, write_state: WriteState) -> None:
    # A hundred candidates are enough by default.
    names = [f"n{i:03d}" for i in range(101)]
    state = write_state(
        *(node(name, cpu=1) for name in names),
        *(pod(f"on-{name}", node=name, cpu=1, priority=1) for name in names),
        pod("p", cpu=1, priority=9),
    )
    code, result = preempt("p", state=state)
    assert (code, result["notSearched"], result["candidatesWanted"]) == (0, ["n100"], 100)
    code, result = preempt("p", "--all-candidates", state=state)
    assert (code, result["notSearched"], len(result["candidates"])) == (0, [], 101)


def test_the_others_come_in_their_turn_unless_they_are_left_out(
    preempt: Answer, write_state: WriteState
) -> None:
    state = write_state(node("a", cpu=1), pod("other", cpu=1), pod("p", cpu=1))
    code, result = preempt("p", state=state)
    assert (code, result["fits"], result["goesTo"], result["evaluated"]) == (1, [], "", 1)
    code, result = preempt("p", "--alone", state=state)
    assert (code, result["fits"], result["goesTo"]) == (0, ["a"], "a")


def test_a_pod_that_the_scheduler_never_looks_at_evicts_nobody(
    preempt: Answer, write_state: WriteState
) -> None:
    state = write_state(node("a", cpu=1), pod("p", cpu=1, profile="other", priority=9))
    code, result = preempt("p", state=state)
    assert (code, result["mayPreempt"], result["candidates"]) == (1, False, [])
    assert result["ignored"].startswith('for the scheduler "other"')


def test_the_table_names_victims_reasons_and_the_other_nodes(ksched: Ksched) -> None:
    code, out, _ = ksched("preempt", "checkout", "--state", EXAMPLE)
    assert code == 0
    out = " ".join(out.split())
    assert (
        "would evict default/crunch-3 from apple "
        "fewest violations of disruption budgets among 2 candidates" in out
    )
    assert "NodeResourcesFit: Insufficient cpu" in out
    assert "violates default/db" in out
    assert "2 may stay" in out
    assert "cedar No preemption victims found" in out
    assert "not tolerated: maintenance=tonight:NoSchedule" in out


def test_the_table_of_a_pod_that_may_not(ksched: Ksched) -> None:
    code, out, _ = ksched("preempt", "report", "--state", EXAMPLE)
    assert code == 1
    assert "may not preempt: not eligible due to preemptionPolicy=Never." in out


def test_an_unknown_pod_is_bad_usage(ksched: Ksched) -> None:
    code, out, err = ksched("preempt", "checkuot", "--state", EXAMPLE)
    assert (code, out) == (2, "")
    assert "did you mean default/checkout?" in err


def test_without_nodes_there_is_one_sentence(ksched: Any, write_state: Any) -> None:
    code, out, _ = ksched("preempt", "p", "--allow-empty-state", "--state", write_state(pod("p")))
    sentence = "default/p cannot be scheduled: no nodes available to schedule pods"
    assert (code, out.splitlines()) == (1, [sentence, "priority 0"])


def test_a_manifest_is_applied_and_asked_about(preempt: Answer, tmp_path: Path) -> None:
    manifest = tmp_path / "pod.json"
    manifest.write_text(json.dumps(pod("new", priority=1_000_000, cpu=3)))
    code, result = preempt("-f", str(manifest))
    assert (code, result["pod"]) == (0, "default/new")
    assert result["victims"]


def test_a_pod_and_a_manifest_exclude_each_other(ksched: Ksched) -> None:
    for arguments in ((), ("p", "-f", "pod.yaml")):
        code, _, err = ksched("preempt", *arguments, "--state", EXAMPLE)
        assert (code, err) == (2, "error: preempt takes one of POD and -f FILE\n")
