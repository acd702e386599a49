"""What changes did, in an answer."""

from dataclasses import replace

from ksched_cli.analysis.question import Opened, Question, ask
from ksched_cli.answers import AppliedChange
from ksched_cli.cluster.change_record import ChangeRecord, Effect
from ksched_cli.kube.versions import release_of
from ksched_cli.testing import cluster, node
from tests.report.anything import Anything

PENDING = [Effect(f"default/p{i}", "pending again", f"was on n{i}") for i in range(6)]
DRAIN = ChangeRecord("drain n1", (Effect("n1", "cordoned"), *PENDING))
NOTHING = ChangeRecord("cordon n2", ())
STATE = replace(cluster(node("n2")), changes=(NOTHING, NOTHING))


class Nothing(Question[Anything], frozen=True, kw_only=True):
    """Answers without a run."""

    def answer(self, opened: Opened) -> Anything:
        opened.follow(release_of("1.34"), STATE)
        opened.warn("a warning", "a warning")
        return Anything()


def test_an_answer_is_completed_with_what_each_change_did_once() -> None:
    answer = ask(Nothing())
    assert answer.changes == (AppliedChange("cordon n2", ()),)
    assert answer.warnings == ("a warning",)
    assert answer.kubernetes_version.startswith("v1.34.")


def test_every_effect_is_a_line_of_the_answer() -> None:
    change = DRAIN.applied
    assert change.text == "drain n1"
    assert change.did[:2] == ("n1: cordoned", "default/p0: pending again (was on n0)")
    assert len(change.did) == 7
