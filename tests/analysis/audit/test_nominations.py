"""Nominations in memory, in the pods' statuses, and back."""

from ksched_cli.analysis.audit.replayed_cluster import Nominations
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.handle import Nominator
from ksched_cli.testing import cluster, node, pod, simulation

NO_ROOM = "0/2 nodes are available: 2 Insufficient cpu."
TERMINATING = f"{NO_ROOM} preemption: not eligible due to a terminating pod on the nominated node."


def preemptor() -> tuple[PodInfo, Nominations, Nominator]:
    (pending,) = simulation(cluster(node("a"), node("b"), pod("p"))).pending()
    nominator = Nominator()
    return pending, Nominations(nominator), nominator


def settle(nominations: Nominations, p: PodInfo) -> None:
    """The pod is nominated to a, which is written and noticed."""
    nominations.refuse(p, "a", NO_ROOM)
    nominations.write(p)
    nominations.notice(p)


def test_a_nomination_is_in_memory_at_once() -> None:
    p, nominations, nominator = preemptor()
    nominations.refuse(p, "a", NO_ROOM)
    assert nominator.node_of(p) == "a"
    assert not nominations.have_changed


def test_what_was_written_first_takes_the_place_of_a_newer_nomination_when_it_is_noticed() -> None:
    p, nominations, nominator = preemptor()
    nominations.refuse(p, "a", NO_ROOM)
    nominations.write(p)
    nominations.refuse(p, "b", NO_ROOM)
    nominations.notice(p)
    assert nominator.node_of(p) == "a"
    nominations.write(p)
    nominations.notice(p)
    assert nominator.node_of(p) == "b"
    assert nominations.have_changed


def test_what_waits_to_be_written_is_written_as_the_last_of_it() -> None:
    p, nominations, nominator = preemptor()
    nominations.refuse(p, "a", NO_ROOM)
    nominations.refuse(p, "b", NO_ROOM)
    nominations.write(p)
    nominations.notice(p)
    nominations.notice(p)
    assert nominator.node_of(p) == "b"


def test_an_attempt_that_may_not_preempt_falls_back_to_the_nomination_in_the_status() -> None:
    p, nominations, nominator = preemptor()
    nominations.refuse(p, "a", NO_ROOM)
    nominations.refuse(p, None, TERMINATING)
    assert nominator.node_of(p) == ""
    nominations.write(p)
    nominations.notice(p)
    assert nominator.node_of(p) == "a"


def test_an_attempt_begins_with_the_nomination_in_the_status() -> None:
    p, nominations, nominator = preemptor()
    settle(nominations, p)
    nominations.refuse(p, "b", NO_ROOM)
    nominations.begin(p)
    assert nominator.node_of(p) == "a"


def test_a_nomination_that_is_taken_back_lapses_when_that_is_noticed() -> None:
    p, nominations, nominator = preemptor()
    settle(nominations, p)
    nominations.take_back(p)
    assert nominator.node_of(p) == "a"
    nominations.notice(p)
    assert nominator.node_of(p) == ""


def test_what_changes_nothing_is_not_written() -> None:
    p, nominations, nominator = preemptor()
    for _ in range(2):
        nominations.refuse(p, "a", NO_ROOM)
        nominations.write(p)
    nominations.notice(p)
    nominations.refuse(p, "b", NO_ROOM)
    nominations.notice(p)
    assert nominator.node_of(p) == "b"


def test_what_returns_to_the_status_drops_what_waits_to_be_written() -> None:
    p, nominations, nominator = preemptor()
    settle(nominations, p)
    nominations.refuse(p, "b", NO_ROOM)
    settle(nominations, p)
    assert nominator.node_of(p) == "a"


def test_only_what_differs_from_the_status_as_noticed_is_written() -> None:
    """b is written and not yet noticed: a, as noticed before, is no change then."""
    p, nominations, nominator = preemptor()
    settle(nominations, p)
    nominations.refuse(p, "b", NO_ROOM)
    nominations.write(p)
    nominations.refuse(p, "a", TERMINATING)
    nominations.write(p)
    nominations.notice(p)
    nominations.notice(p)
    assert nominator.node_of(p) == "b"


def test_what_is_noticed_ahead_holds_meanwhile_only() -> None:
    p, nominations, nominator = preemptor()
    settle(nominations, p)
    nominations.take_back(p)
    with nominations.noticed_ahead([p, p]):
        assert nominator.node_of(p) == ""
    assert nominator.node_of(p) == "a"
    nominations.notice(p)
    assert nominator.node_of(p) == ""
