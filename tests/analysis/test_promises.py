"""Promises in memory, in the pods' statuses, and back."""

from ksched_cli.analysis.promises import Promises
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.nominator import Nominator
from ksched_cli.testing import cluster, node, pod, simulation

NO_ROOM = "0/2 nodes are available: 2 Insufficient cpu."
TERMINATING = f"{NO_ROOM} preemption: not eligible due to a terminating pod on the nominated node."


def preemptor() -> tuple[PodInfo, Promises, Nominator]:
    (pending,) = simulation(cluster(node("a"), node("b"), pod("p"))).pending()
    nominator = Nominator()
    return pending, Promises(nominator), nominator


def settle(promises: Promises, p: PodInfo) -> None:
    """The pod is promised a, which is written and noticed."""
    promises.refuse(p, "a", NO_ROOM)
    promises.write(p)
    promises.notice(p)


def test_a_promise_is_in_memory_at_once() -> None:
    p, promises, nominator = preemptor()
    promises.refuse(p, "a", NO_ROOM)
    assert nominator.node_of(p) == "a"
    assert not promises.have_changed


def test_what_was_written_first_takes_the_place_of_a_newer_promise_when_it_is_noticed() -> None:
    p, promises, nominator = preemptor()
    promises.refuse(p, "a", NO_ROOM)
    promises.write(p)
    promises.refuse(p, "b", NO_ROOM)
    promises.notice(p)
    assert nominator.node_of(p) == "a"
    promises.write(p)
    promises.notice(p)
    assert nominator.node_of(p) == "b"
    assert promises.have_changed


def test_what_waits_to_be_written_is_written_as_the_last_of_it() -> None:
    p, promises, nominator = preemptor()
    promises.refuse(p, "a", NO_ROOM)
    promises.refuse(p, "b", NO_ROOM)
    promises.write(p)
    promises.notice(p)
    promises.notice(p)
    assert nominator.node_of(p) == "b"


def test_an_attempt_that_may_not_preempt_falls_back_to_the_promise_in_the_status() -> None:
    p, promises, nominator = preemptor()
    promises.refuse(p, "a", NO_ROOM)
    promises.refuse(p, None, TERMINATING)
    assert nominator.node_of(p) == ""
    promises.write(p)
    promises.notice(p)
    assert nominator.node_of(p) == "a"


def test_an_attempt_begins_with_the_promise_in_the_status() -> None:
    p, promises, nominator = preemptor()
    settle(promises, p)
    promises.refuse(p, "b", NO_ROOM)
    promises.begin(p)
    assert nominator.node_of(p) == "a"


def test_a_promise_that_is_taken_back_lapses_when_that_is_noticed() -> None:
    p, promises, nominator = preemptor()
    settle(promises, p)
    promises.take_back(p)
    assert nominator.node_of(p) == "a"
    promises.notice(p)
    assert nominator.node_of(p) == ""


def test_what_changes_nothing_is_not_written() -> None:
    p, promises, nominator = preemptor()
    for _ in range(2):
        promises.refuse(p, "a", NO_ROOM)
        promises.write(p)
    promises.notice(p)
    promises.refuse(p, "b", NO_ROOM)
    promises.notice(p)
    assert nominator.node_of(p) == "b"


def test_what_returns_to_the_status_drops_what_waits_to_be_written() -> None:
    p, promises, nominator = preemptor()
    settle(promises, p)
    promises.refuse(p, "b", NO_ROOM)
    settle(promises, p)
    assert nominator.node_of(p) == "a"


def test_only_what_differs_from_the_status_as_noticed_is_written() -> None:
    """b is written and not yet noticed: a, as noticed before, is no change then."""
    p, promises, nominator = preemptor()
    settle(promises, p)
    promises.refuse(p, "b", NO_ROOM)
    promises.write(p)
    promises.refuse(p, "a", TERMINATING)
    promises.write(p)
    promises.notice(p)
    promises.notice(p)
    assert nominator.node_of(p) == "b"


def test_what_is_noticed_ahead_holds_meanwhile_only() -> None:
    p, promises, nominator = preemptor()
    settle(promises, p)
    promises.take_back(p)
    with promises.noticed_ahead([p, p]):
        assert nominator.node_of(p) == ""
    assert nominator.node_of(p) == "a"
    promises.notice(p)
    assert nominator.node_of(p) == ""
