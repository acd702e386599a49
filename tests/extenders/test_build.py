"""The extenders of a run are built in calling order, and failures are warned about once."""

from ksched_cli.config.types import Extender
from ksched_cli.extenders.http_extender import Extenders
from ksched_cli.framework.handle import Nominator
from ksched_cli.testing import cluster, node, pod
from tests.extenders.fixtures import Extended
from tests.extenders.servers import unused_port

STATE = cluster(node("a"), node("b"), pod("p"))


def test_ignorable_extenders_come_last_and_the_rest_stays_in_order() -> None:
    configured = [
        Extender(url_prefix="http://1", ignorable=True),
        Extender(url_prefix="http://2"),
        Extender(url_prefix="http://3"),
    ]
    extenders = Extenders.build(configured, Nominator(), warn=lambda line: None)
    assert [extender.name for extender in extenders.all] == ["http://2", "http://3", "http://1"]
    assert extenders.failure is None
    extenders.close()


def test_who_cannot_be_reached_is_named_once_with_the_cause(extended: Extended) -> None:
    port = unused_port()
    state = cluster(node("a"), *(pod(f"p{i}") for i in range(5)))
    run, warnings = extended(
        state, {"urlPrefix": f"http://127.0.0.1:{port}/x", "filterVerb": "filter"}
    )
    record = run.run()
    cause = (
        f'Post "http://127.0.0.1:{port}/x/filter": '
        f"dial tcp 127.0.0.1:{port}: connect: connection refused"
    )
    assert {attempt.error for attempt in record.attempts} == {cause}
    assert warnings == [f"extender http://127.0.0.1:{port}/x cannot be reached: {cause}"]


def test_a_password_is_not_shown(extended: Extended) -> None:
    port = unused_port()
    url = f"http://me:secret@127.0.0.1:{port}"
    run, warnings = extended(STATE, {"urlPrefix": url, "filterVerb": "filter"})
    run.run()
    assert "secret" not in warnings[0]
    assert "me:***@" in warnings[0]
