"""What changes did: in an answer, and as a table before another."""

from dataclasses import replace

from ksched_cli.analysis.question import Opened, Question, ask
from ksched_cli.answers import AppliedChange
from ksched_cli.cluster.change_record import ChangeRecord, Effect
from ksched_cli.kube.versions import release_of
from ksched_cli.report.changes import table
from ksched_cli.report.table import EVERYTHING, TERMINAL
from ksched_cli.testing import cluster, node
from tests.report.anything import Anything
from tests.report.schemas import squeezed

PENDING = [Effect(f"default/p{i}", "pending again", f"was on n{i}") for i in range(6)]
DRAIN = ChangeRecord("drain n1", (Effect("n1", "cordoned"), *PENDING))
NOTHING = ChangeRecord("cordon n2", ())
STATE = replace(cluster(node("n2")), changes=(NOTHING, NOTHING))


def test_the_table_has_a_row_for_every_action_with_its_objects() -> None:
    assert squeezed(table([DRAIN.applied, NOTHING.applied], TERMINAL)) == [
        "CHANGE # DID",
        "drain n1 1 cordoned: n1",
        "6 pending again: default/p0, default/p1, default/p2 and 3 more",
        "cordon n2 0 nothing to do",
    ]


def test_all_objects_are_named_where_rows_are_not_limited() -> None:
    assert all(effect.subject in table([DRAIN.applied], EVERYTHING) for effect in PENDING)


def test_a_detail_that_objects_share_stands_beside_the_action() -> None:
    record = ChangeRecord("scale web 2", (Effect("default/w1", "added", "2 cpu"),))
    assert (
        squeezed(table([record.applied], TERMINAL))[1] == "scale web 2 1 added (2 cpu): default/w1"
    )


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
